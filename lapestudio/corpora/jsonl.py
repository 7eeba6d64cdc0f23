"""JSON Lines: each line is an object, and a document; the text lies under a key that is found in the first records."""

import json
from collections.abc import Iterator
from typing import Any

from lapestudio.corpora.reader import Head, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_lines

TEXT_KEYS = (
    "text",
    "content",
    "sentence",
    "raw_content",
    "document",
    "body",
    "paragraph",
    "utterance",
    "transcription",
)
"""Keys under which data sets keep running text, the likeliest first."""
_JSON_SPACE = " \t\r\n"


def read_jsonl(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the texts of a JSON Lines file; records with an empty text are left out.

    The key of the first record that has one of `TEXT_KEYS` holds for the whole file.

    Raises:
        UserError: not readable, or no record with text under a known key.
    """
    key: str | None = None
    for number, line in read_lines(file, reading, line_ends="lf", long_lines="drop"):
        if not line.strip(_JSON_SPACE):
            continue
        record = _parse(file, number, line, reading)
        if record is None:
            continue
        key = key or next((name for name in TEXT_KEYS if isinstance(record.get(name), str)), None)
        text = record.get(key) if key else None
        if not isinstance(text, str):
            reading.report(_missing_text(file, number, key, record))
        elif text := _without_surrogates(text).strip():
            yield Segment(text, f"{file}#{number}", f"line {number}", field=key)


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
        f'name the field with the text "{TEXT_KEYS[0]}".'
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
)
