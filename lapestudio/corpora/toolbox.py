r"""Toolbox and other SFM files: records of fields that begin with a marker such as \tx; interlinear lines are wrapped.

Also MDF dictionaries (\lx): their example sentences are the running text.
"""

import re
from collections.abc import Iterator
from itertools import chain, islice

from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_lines

Fields = dict[str, str]
_MARKER = re.compile(r"\\([A-Za-z][A-Za-z0-9_-]*)(?:\s+(.*)|\s*)$")
_RECORD_MARKERS = ("ref", "lx", "id")
_TEXT_MARKERS = ("tx", "t", "utt", "unt", "xv", "rf")
_LOOKED_AT = 5000


def read_toolbox(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the wanted fields of each record.

    Raises:
        UserError: not readable.
    """
    defaults = _defaults(_counts(file, reading)) if reading.parts is None else frozenset()
    for number, line, fields in _records(file, reading):
        if not fields:
            reading.skip("empty record")
            continue
        name = fields.get("ref") or fields.get("lx") or f"record {number}"
        for marker, text in fields.items():
            if text and reading.takes(marker, marker in defaults):
                yield Segment(text, str(file), f"line {line}, {name}", field=marker, unit=f"record {number}")


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List the markers."""
    counts = _counts(file, reading)
    defaults = _defaults(counts)
    return [
        Part(name=marker, kind="field", is_default=marker in defaults, num_segments=number, example=example)
        for marker, (number, example) in counts.items()
    ]


def _counts(file: SourceFile, reading: Reading) -> dict[str, tuple[int, str]]:
    counts: dict[str, tuple[int, str]] = {}
    for _number, _line, fields in _records(file, reading):
        for marker, text in fields.items():
            if text:
                number, example = counts.get(marker, (0, text))
                counts[marker] = number + 1, example
    return counts


def _defaults(counts: dict[str, tuple[int, str]]) -> frozenset[str]:
    return frozenset([next((marker for marker in _TEXT_MARKERS if marker in counts), "")])


def _records(file: SourceFile, reading: Reading) -> Iterator[tuple[int, int, Fields]]:
    """Yield number, first line and fields of each record; lines of one marker are joined, and so are wrapped ones."""
    fields: Fields = {}
    number, first, marker = 0, 1, ""
    opener = _opener(file, reading)
    for line_number, line in chain(read_lines(file, reading), [(0, "\\")]):
        match = _MARKER.match(line.strip())
        if line_number and match is None:
            if marker and line.strip():
                fields[marker] = f"{fields.get(marker, '')} {line.strip()}".strip()
            continue
        marker = match[1] if match is not None else ""
        if marker.startswith("_"):
            marker = ""
            continue
        if marker == opener or not line_number:
            # What stands before the first record describes the text.
            if number:
                yield number, first, {name: " ".join(text.split()) for name, text in fields.items()}
            if not line_number:
                return
            fields, number, first = {}, number + 1, line_number
        content = (match[2] or "").strip() if match is not None else ""
        if marker and content:
            fields[marker] = f"{fields.get(marker, '')} {content}".strip()


def _opener(file: SourceFile, reading: Reading) -> str:
    """Return the marker that begins a record: the first of the usual ones that the file has, else its first one."""
    lines = islice(read_lines(file, reading), _LOOKED_AT)
    markers = [match[1] for _number, line in lines if (match := _MARKER.match(line.strip())) is not None]
    markers = [marker for marker in markers if not marker.startswith("_")]
    return next((marker for marker in _RECORD_MARKERS if marker in markers), markers[0] if markers else "")


def _recognises(head: Head) -> bool:
    if head.text is None:
        return False
    start = head.text.lstrip()
    if re.match(r"\\id [A-Z0-9]{3}\b", start):
        return False  # USFM.
    if start.startswith("\\_sh "):
        return True
    markers = re.findall(r"^\\([A-Za-z][A-Za-z0-9_-]*)", start[:20_000], re.MULTILINE)
    return start.startswith("\\") and any(marker in ("ref", "lx") for marker in markers) and len(set(markers)) > 1


READER = Reader(
    name="Toolbox",
    suffixes=frozenset({".sfm", ".db", ".tbx", ".mdf", ".lex"}),
    recognises=_recognises,
    read=read_toolbox,
    find_parts=find_parts,
)
