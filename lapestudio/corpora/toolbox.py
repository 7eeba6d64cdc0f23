r"""Toolbox and other SFM files: records of fields that begin with a marker such as \tx; interlinear lines are wrapped.

Also MDF dictionaries (\lx): their example sentences are the running text.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from lapestudio.core.errors import UserError
from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_lines
from lapestudio.corpora.tier_choice import Tier, text_tiers

MAX_RECORD_CHARACTERS = 1 << 20
_MARKER = re.compile(r"\\([A-Za-z0-9_][\w.+-]*)(?:\s+(.*)|\s*)$")
_HEADWORD, _REFERENCE, _DOCUMENT = "lx", "ref", "id"
_EXAMPLE = "xv"
_TEXT_MARKERS = ("tx", "t", "txt", "utt", "xv")
_TELLING_MARKERS = frozenset({"lx", "ref", "tx", "utt", "xv"})
_USFM_MARKERS = frozenset({"c", "v"})
_LOOKED_AT = 5000
_MAX_MARKERS = 1000
_NUM_EXAMPLES = 200
_EXAMPLE_CHARACTERS = 500


@dataclass(slots=True)
class _Field:
    marker: str
    line: int
    unit: str
    words: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(self.words)


@dataclass(slots=True)
class _Record:
    number: int
    line: int
    title: str
    """Of the text that it belongs to; empty where the file is one."""
    fields: list[_Field] = field(default_factory=list)
    by_marker: dict[str, _Field] = field(default_factory=dict)
    """The last one of each marker."""
    num_examples: int = 0
    size: int = 0

    def name(self, opener: str) -> str:
        """Return what the record is called, for people."""
        own = next((one.text for one in self.fields if one.marker == opener), "")
        return own or f"record {self.number}"


@dataclass(slots=True)
class _Found:
    """What the file has under one marker."""

    num_segments: int = 0
    texts: list[str] = field(default_factory=list)
    """The first ones."""


def read_toolbox(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the wanted fields of each record.

    Raises:
        UserError: not readable, or no field for text.
    """
    defaults: frozenset[str] = frozenset()
    if reading.parts is None:
        found = _survey(file, reading)
        defaults = _defaults(found)
        if found and not defaults:
            listed = ", ".join(sorted(found)[:12])
            raise UserError(
                f"{file} has no field with running text, such as tx or xv (fields here: {listed}); choose one."
            )
    opener = _opener(file, reading)
    for record in _records(file, reading, opener):
        if not record.fields:
            reading.skip("empty record")
        document = f"{file}#{record.title}" if record.title else str(file)
        name = record.name(opener)
        for one in record.fields:
            if reading.takes(one.marker, one.marker in defaults):
                yield Segment(one.text, document, f"line {one.line}, {name}", field=one.marker, unit=one.unit)


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List the markers.

    Raises:
        UserError: not readable.
    """
    found = _survey(file, reading)
    defaults = _defaults(found)
    return [
        Part(
            name=marker,
            kind="field",
            is_default=marker in defaults,
            num_segments=one.num_segments,
            example=one.texts[0],
        )
        for marker, one in found.items()
    ]


def _survey(file: SourceFile, reading: Reading) -> dict[str, _Found]:
    quiet = _quiet(reading)
    found: dict[str, _Found] = {}
    for record in _records(file, quiet, _opener(file, quiet)):
        for one in record.fields:
            if one.marker not in found and len(found) >= _MAX_MARKERS:
                continue
            here = found.setdefault(one.marker, _Found())
            here.num_segments += 1
            if len(here.texts) < _NUM_EXAMPLES:
                here.texts.append(one.text[:_EXAMPLE_CHARACTERS])
    return found


def _defaults(found: dict[str, _Found]) -> frozenset[str]:
    r"""Return the marker of the text: a usual one, else the one with most running text; \lx and its like are none."""
    usual = next((marker for marker in _TEXT_MARKERS if marker in found), None)
    if usual is not None:
        return frozenset({usual})
    if _HEADWORD in found:
        return frozenset()
    tiers = [
        Tier(name=marker, texts=one.texts) for marker, one in found.items() if marker not in (_REFERENCE, _DOCUMENT)
    ]
    return frozenset(sorted(text_tiers(tiers))[:1])


def _records(file: SourceFile, reading: Reading, opener: str) -> Iterator[_Record]:
    """Yield the records; those that are longer than `MAX_RECORD_CHARACTERS` are reported and left out."""
    for record in _grouped(_fields_by_line(file, reading), opener):
        if record.size > MAX_RECORD_CHARACTERS:
            reading.report(
                f"{file}, line {record.line}: a record of more than {MAX_RECORD_CHARACTERS >> 20} million characters; "
                f"begin each record with \\{opener}."
            )
        else:
            yield record


def _fields_by_line(file: SourceFile, reading: Reading) -> Iterator[tuple[int, str | None, str]]:
    """Yield line number, marker and content of each line with text; a line without a marker goes on with the last."""
    for number, line in read_lines(file, reading):
        match = _MARKER.match(line.strip())
        if match is not None:
            yield number, match[1], match[2] or ""
        elif line.strip():
            yield number, None, line


def _grouped(lines: Iterable[tuple[int, str | None, str]], opener: str) -> Iterator[_Record]:
    """Put fields to records; what stands before the first one describes the text."""
    record: _Record | None = None
    number, title, marker = 0, "", ""
    for line, stated, content in lines:
        marker = marker if stated is None else stated
        is_title = stated == _DOCUMENT and opener == _REFERENCE
        if stated is not None and (stated == opener or is_title):
            if record is not None:
                yield _finished(record)
            record = None
            if is_title:
                title = " ".join(content.split())
            else:
                number += 1
                record = _Record(number, line, title)
        if record is not None and marker and not marker.startswith("_"):
            _add(record, line, marker, content, is_new=stated is not None, is_dictionary=opener == _HEADWORD)
    if record is not None:
        yield _finished(record)


def _add(record: _Record, line: int, marker: str, content: str, *, is_new: bool, is_dictionary: bool) -> None:
    """Add a line to a record: to the field before it, or, in a text, to one with its marker: that is a wrapped block.

    In a dictionary a marker that comes again is another field, and each example is a unit with its translations.
    """
    record.size += len(marker) + len(content)
    if record.size > MAX_RECORD_CHARACTERS:
        record.fields.clear()
        record.by_marker.clear()
        return
    found = record.by_marker.get(marker)
    if found is None or (is_dictionary and is_new):
        unit = record.fields[-1].unit if record.fields else f"record {record.number}"
        if is_dictionary and marker == _EXAMPLE:
            record.num_examples += 1
            unit = f"record {record.number}, example {record.num_examples}"
        found = record.by_marker[marker] = _Field(marker, line, unit)
        record.fields.append(found)
    found.words += content.split()


def _finished(record: _Record) -> _Record:
    record.fields = [one for one in record.fields if one.words]
    return record


def _opener(file: SourceFile, reading: Reading) -> str:
    """Return the marker that begins a record: a usual one, else the first that comes again."""
    quiet = _quiet(reading)
    lines = islice(_fields_by_line(file, quiet), _LOOKED_AT)
    markers = Counter(marker for _number, marker, _content in lines if marker and not marker.startswith("_"))
    usual = [marker for marker in markers if marker in (_HEADWORD, _REFERENCE)]
    again = [marker for marker, number in markers.items() if number > 1]
    return next(iter([*usual, *([_DOCUMENT] if _DOCUMENT in markers else []), *again, *markers]), "")


def _quiet(reading: Reading) -> Reading:
    """Return a reading for a first look: faults are told once, when the text is read."""
    return replace(reading, report=lambda _fault: None, skipped=Counter(), warnings=[])


def _recognises(head: Head) -> bool:
    if head.text is None:
        return False
    start = head.text.lstrip()
    if start.startswith("\\_sh "):
        return True
    if not start.startswith("\\"):
        return False
    markers = {match[1] for line in start.splitlines() if (match := _MARKER.match(line.strip())) is not None}
    return len(markers) > 1 and bool(markers & _TELLING_MARKERS) and not markers >= _USFM_MARKERS


READER = Reader(
    name="Toolbox",
    suffixes=frozenset({".sfm", ".db", ".tbx", ".mdf", ".lex"}),
    recognises=_recognises,
    read=read_toolbox,
    find_parts=find_parts,
)
