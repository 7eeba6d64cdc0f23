"""JSON Lines: each line is an object, and a document; the text lies under a key that is found in the first records."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from lapestudio.core.errors import UserError
from lapestudio.corpora.columns import LANGUAGE_NAMES, TEXT_NAMES
from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_lines
from lapestudio.corpora.tmx import language_parts, main_language

_JSON_SPACE = " \t\r\n"
_PAIR_KEY = "translation"
_LOOKED_AT = 200


def read_jsonl(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the texts of a JSON Lines file; records with an empty text are left out.

    The key of the first record that has a usual one for text holds for the whole file. A text by language under
    `translation` gives the wanted languages.

    Raises:
        UserError: not readable, or records in other languages only.
    """
    key: str | None = None
    others: set[str] = set()
    found = False
    for number, record in _records(file, reading):
        stated = next((str(record[name]) for name in LANGUAGE_NAMES if isinstance(record.get(name), str)), None)
        if stated is not None and not reading.wants_language(stated):
            others.add(stated)
            continue
        key = key or _text_key(record, reading)
        texts = _texts(record, key, reading)
        if texts is None:
            reading.report(_missing_text(file, number, key, record))
            continue
        for name, language, text in texts:
            if plain := _without_surrogates(text).strip():
                found = True
                place = f"line {number}"
                yield Segment(plain, f"{file}#{number}", place, field=name, language=language or stated, unit=place)
    if others and not found:
        listed = ", ".join(sorted(others)[:12])
        raise UserError(f"{file} has records in {listed}, but none in {reading.language}; choose another file.")


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List the keys of the first records that hold text, or the languages of a translation."""
    # Faults are told when the file is read.
    quiet = replace(reading, report=lambda _fault: None)
    found: dict[str, tuple[int, str]] = {}
    records = [record for _number, record in islice(_records(file, quiet), _LOOKED_AT)]
    if any(isinstance(record.get(_PAIR_KEY), dict) for record in records):
        for record in records:
            for language, text in _sides(record):
                number, example = found.get(main_language(language), (0, text))
                found[main_language(language)] = number + bool(text), example
        return language_parts(found, reading)
    default = next((key for record in records if (key := _text_key(record, replace(reading, parts=None)))), None)
    for record in records:
        for name, value in record.items():
            if isinstance(value, str) and value.strip():
                found.setdefault(name, (0, value))
    return [
        Part(name=name, kind="field", is_default=name == default, example=example)
        for name, (_number, example) in found.items()
    ]


def _records(file: SourceFile, reading: Reading) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in read_lines(file, reading, line_ends="lf", long_lines="drop"):
        if line.strip(_JSON_SPACE):
            record = _parse(file, number, line, reading)
            if record is not None:
                yield number, record


def _text_key(record: dict[str, Any], reading: Reading) -> str | None:
    """Return the key under which a record has its text: a chosen one, a usual one."""
    if reading.parts is not None:
        return next(
            (name for name, value in record.items() if isinstance(value, str) and reading.takes(name, False)), None
        )
    return next((name for name in TEXT_NAMES if isinstance(record.get(name), str)), None)


def _texts(record: dict[str, Any], key: str | None, reading: Reading) -> list[tuple[str, str | None, str]] | None:
    """Return (field, language, text) of a record; nothing where it has no text."""
    if isinstance(record.get(_PAIR_KEY), dict):
        sides = [(main_language(language), language, text) for language, text in _sides(record)]
        return [side for side in sides if reading.takes(side[0], reading.wants_language(side[1]))]
    if reading.parts is not None:
        chosen = [(name, None, value) for name, value in record.items() if isinstance(value, str)]
        return [text for text in chosen if reading.takes(text[0], default=False)] or None
    text = record.get(key) if key else None
    return [(key, None, text)] if key is not None and isinstance(text, str) else None


def _sides(record: dict[str, Any]) -> list[tuple[str, str]]:
    sides = record.get(_PAIR_KEY)
    return (
        [(str(name), text) for name, text in sides.items() if isinstance(text, str)] if isinstance(sides, dict) else []
    )


def _parse(file: SourceFile, number: int, line: str, reading: Reading) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        reason = (
            f"{error.msg} at character {error.colno}" if isinstance(error, json.JSONDecodeError) else "nested too deep"
        )
        reading.report(f"{file}, line {number}: not valid JSON ({reason}); correct the line or delete it.")
        return None
    if not isinstance(record, dict):
        reading.report(f'{file}, line {number}: not a JSON object; each line must look like {{"text": "..."}}.')
        return None
    return record


def _missing_text(file: SourceFile, number: int, key: str | None, record: dict[str, Any]) -> str:
    if key is not None:
        return f'{file}, line {number}: no text under "{key}"; correct the record or delete the line.'
    found = ", ".join(f'"{name}"' for name in list(record)[:8]) or "none"
    return (
        f"{file}, line {number}: no field with text (fields here: {found}); "
        f'name the field with the text "{TEXT_NAMES[0]}".'
    )


def _without_surrogates(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON can escape but no encoding can store, by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _looks_like_jsonl(head: Head) -> bool:
    first, newline, _rest = (head.text or "").lstrip(_JSON_SPACE).partition("\n")
    if not newline and not first.rstrip().endswith("}"):
        # The first record is longer than the part that is looked at.
        return first.startswith('{"')
    try:
        return isinstance(json.loads(first), dict)
    except (json.JSONDecodeError, RecursionError):
        return False


READER = Reader(
    name="JSON Lines",
    suffixes=frozenset({".jsonl", ".ndjson", ".jsonlines"}),
    recognises=_looks_like_jsonl,
    read=read_jsonl,
    find_parts=find_parts,
)
