"""JSON Lines: each line is an object, and a document; the text lies under a key that is found in the first records."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lapestudio.core.errors import UserError
from lapestudio.corpora.reader import Reader, Report
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.text_lines import MAX_LINE_CHARACTERS, read_lines

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


def read_jsonl(path: Path, report: Report) -> Iterator[Segment]:
    """Stream the texts of a JSON Lines file; records with an empty text are left out.

    The key of the first record that has one of `TEXT_KEYS` holds for the whole file.

    Raises:
        UserError: not readable, not in UTF-8, or no record with text under a known key.
    """
    key: str | None = None
    for number, line in read_lines(path, line_ends="lf"):
        if not line.strip(_JSON_SPACE):
            continue
        record = _parse(path, number, line, report)
        if record is None:
            continue
        key = key or next((name for name in TEXT_KEYS if isinstance(record.get(name), str)), None)
        text = record.get(key) if key else None
        if not isinstance(text, str):
            report(_missing_text(path, number, key, record))
        elif text := _without_surrogates(text).strip():
            location = f"line {number}"
            yield Segment(text=text, document=f"{path}#{number}", location=location, field=key)


def _parse(path: Path, number: int, line: str, report: Report) -> dict[str, Any] | None:
    if len(line) >= MAX_LINE_CHARACTERS:
        raise UserError(
            f"{path}, line {number}: longer than {MAX_LINE_CHARACTERS:,} characters; "
            "split the record, one document or paragraph a line."
        )
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        reason = (
            f"{error.msg} at character {error.colno}" if isinstance(error, json.JSONDecodeError) else "nested too deep"
        )
        report(f"{path}, line {number}: not valid JSON ({reason}); correct the line or delete it.")
        return None
    if not isinstance(record, dict):
        report(f'{path}, line {number}: not a JSON object; each line must look like {{"text": "..."}}.')
        return None
    return record


def _missing_text(path: Path, number: int, key: str | None, record: dict[str, Any]) -> str:
    if key is not None:
        return f'{path}, line {number}: no text under "{key}"; correct the record or delete the line.'
    found = ", ".join(f'"{name}"' for name in list(record)[:8]) or "none"
    return (
        f"{path}, line {number}: no field with text (fields here: {found}); "
        f'name the field with the text "{TEXT_KEYS[0]}".'
    )


def _without_surrogates(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON can escape but no encoding can store, by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _looks_like_jsonl(head: str) -> bool:
    first, newline, _rest = head.lstrip(_JSON_SPACE).partition("\n")
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
