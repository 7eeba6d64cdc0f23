r"""Bibles in USFM (Paratext), and the same in XML (USX): verse by verse, without notes.

A note ends at the latest where the next verse or chapter begins: real files have notes that nobody closed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_lines
from lapestudio.corpora.xml_stream import xml_events

_VERSES, _HEADINGS = "verses", "headings"
_BOOK = re.compile(r"\\id\s+([A-Z0-9]{3})\b")
# A marker with its closing star, a milestone, an optional break, a no-break space, or text.
_TOKEN = re.compile(r"\\(\+?[a-z]+\d*)(?:-[se])?(\*?)(\\\*)?|(//|~)|([^\\~/]+|/|\\)")
_NOTES = frozenset({"f", "fe", "ef", "x", "ex", "rq", "fig", "fm"})
_HEADING_MARKERS = re.compile(r"(?:mt|mte|ms|s|is|imt|sr|r|mr|d|sp|qa|cl|cd)\d*$")
# Paragraphs of the front matter and the apparatus: no text of the book.
_LEFT_OUT = re.compile(r"(?:ide|h|toc|toca|rem|sts|usfm|restore|id|cp|ca|va|vp|xt|lit|periph)\d*$")
_PARAGRAPHS = re.compile(r"(?:p|m|po|pr|cls|pmo|pm|pmc|pmr|pi|mi|nb|pc|ph|b|q|qr|qc|qm|qd|lh|li|lf|lim|tr|ip|im)\d*$")
_NOTE_ELEMENTS = frozenset({"note", "figure", "sidebar"})
_NUMBER = re.compile(r"\s*(\d+[a-z]?(?:[-\u2013,]\d+[a-z]?)*)")
_ATTRIBUTES = re.compile(r"\|[^|\\]*(?:\"[^\"]*\"[^|\\]*)*$")


@dataclass(slots=True)
class _State:
    """Where in the book the reader is, and the text so far."""

    book: str = ""
    chapter: str = ""
    verse: str = ""
    text: list[str] = field(default_factory=list)
    heading: list[str] = field(default_factory=list)
    target: str = ""


class _Book:
    """Collects verses; both readers feed it."""

    def __init__(self, file: SourceFile, reading: Reading) -> None:
        self._file = file
        self._reading = reading
        self.state = _State()

    def begin_verse(self, number: str) -> Iterator[Segment]:
        yield from self.end()
        self.state.verse, self.state.target = number, _VERSES

    def begin_chapter(self, number: str) -> Iterator[Segment]:
        yield from self.end()
        self.state.chapter, self.state.verse, self.state.target = number, "", ""

    def begin_heading(self) -> Iterator[Segment]:
        yield from self._end_heading()
        self.state.target = _HEADINGS

    def begin_paragraph(self) -> Iterator[Segment]:
        yield from self._end_heading()
        self.state.target = _VERSES if self.state.verse else ""
        self.add(" ")

    def add(self, text: str) -> None:
        if self.state.target == _VERSES:
            self.state.text.append(text)
        elif self.state.target == _HEADINGS:
            self.state.heading.append(text)

    def end(self) -> Iterator[Segment]:
        yield from self._end_heading()
        state = self.state
        if state.verse:
            text = " ".join("".join(state.text).split())
            if text:
                if self._reading.takes(_VERSES, default=True):
                    place = f"{state.chapter}:{state.verse}"
                    yield self._segment(text, place, _VERSES, f"{state.book} {place}")
            else:
                self._reading.skip("empty verse")
        state.text, state.verse = [], ""

    def _end_heading(self) -> Iterator[Segment]:
        text = " ".join("".join(self.state.heading).split())
        self.state.heading = []
        if text and self._reading.takes(_HEADINGS, default=False):
            yield self._segment(text, self.state.chapter or self.state.book, _HEADINGS, None)

    def _segment(self, text: str, place: str, part: str, unit: str | None) -> Segment:
        return Segment(text, f"{self._file}#{self.state.book}", place, field=part, unit=unit)


def read_usfm(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the verses of a book.

    Raises:
        UserError: not readable.
    """
    book = _Book(file, reading)
    markup = _Markup(file, reading, book)
    for number, line in read_lines(file, reading):
        if match := _BOOK.match(line.strip()):
            yield from book.end()
            book.state = _State(book=match[1])
        else:
            yield from markup.read(number, f"{line} ")
    yield from book.end()


class _Markup:
    """Reads lines of USFM; an open note outlasts its line."""

    def __init__(self, file: SourceFile, reading: Reading, book: _Book) -> None:
        self._file = file
        self._reading = reading
        self._book = book
        self._note = ""
        self._skips = False

    def read(self, number: int, line: str) -> Iterator[Segment]:
        self._skips = False
        position = 0
        while position < len(line):
            token = _TOKEN.match(line, position)
            assert token is not None, "the last alternative takes any character"
            position = token.end()
            marker, is_end = (token[1] or "").removeprefix("+"), bool(token[2] or token[3])
            if not token[1]:
                self._take_text(" " if token[4] else token[5])
            elif marker in ("v", "c"):
                found = _NUMBER.match(line, position)
                position = found.end() if found is not None else position
                yield from self._begin(marker, found[1] if found is not None else "", number)
            else:
                yield from self._take_marker(marker, is_end=is_end)
            if marker and not is_end and line[position : position + 1] == " ":
                position += 1

    def _take_text(self, text: str) -> None:
        if not (self._note or self._skips):
            self._book.add(_ATTRIBUTES.sub("", text) if "|" in text else text)

    def _begin(self, marker: str, name: str, number: int) -> Iterator[Segment]:
        if self._note:
            self._reading.warn(f"{self._file}, line {number}: a note is not closed; it ends at the next verse.")
        self._note, self._skips = "", False
        yield from self._book.begin_verse(name) if marker == "v" else self._book.begin_chapter(name)

    def _take_marker(self, marker: str, *, is_end: bool) -> Iterator[Segment]:
        if marker in _NOTES:
            self._note = "" if is_end else (self._note or marker)
        elif self._note:
            # What ends a note of another kind ends this one too.
            ends = is_end and marker.startswith(self._note[0]) and len(marker) <= len(self._note)
            self._note = "" if ends else self._note
        elif is_end:
            return
        elif _HEADING_MARKERS.match(marker):
            yield from self._book.begin_heading()
        elif _LEFT_OUT.match(marker):
            self._skips = True
        elif _PARAGRAPHS.match(marker):
            yield from self._book.begin_paragraph()
        elif marker.startswith(("th", "tc")):
            self._book.add(" ")


def read_usx(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the verses of a book in XML.

    Raises:
        UserError: not well-formed.
    """
    book = _Book(file, reading)
    num_notes = 0
    for kind, name, content in xml_events(file, reading):
        if kind == "text":
            if not num_notes:
                book.add(str(content))
        elif name in _NOTE_ELEMENTS:
            num_notes += 1 if kind == "start" else -1
        elif kind == "end":
            if name == "para":
                book.add(" ")
        elif not num_notes and isinstance(content, dict):
            yield from _open_element(book, name, content)
    yield from book.end()


def _open_element(book: _Book, name: str, attributes: dict[str, str]) -> Iterator[Segment]:
    style = attributes.get("style", "")
    if name == "book":
        book.state = _State(book=attributes.get("code", ""))
    elif name == "chapter" and "eid" not in attributes:
        yield from book.begin_chapter(attributes.get("number", ""))
    elif name == "verse":
        yield from book.end() if "eid" in attributes else book.begin_verse(attributes.get("number", ""))
    elif name in ("optbreak", "cell"):
        book.add(" ")
    elif name == "para" and _HEADING_MARKERS.match(style):
        yield from book.begin_heading()
    elif name == "para" and _LEFT_OUT.match(style):
        book.state.target = ""
    elif name == "para":
        yield from book.begin_paragraph()


def find_parts(_file: SourceFile, _reading: Reading) -> list[Part]:
    """List verses and headings."""
    return [
        Part(name=_VERSES, kind="field", is_default=True),
        Part(name=_HEADINGS, kind="field", is_default=False),
    ]


def _recognises(head: Head) -> bool:
    return head.text is not None and _BOOK.match(head.text.lstrip()) is not None


READER = Reader(
    name="USFM",
    suffixes=frozenset({".usfm", ".ptx"}),
    recognises=_recognises,
    read=read_usfm,
    find_parts=find_parts,
)
USX_READER = Reader(
    name="USX",
    suffixes=frozenset({".usx"}),
    recognises=lambda head: head.text is not None and "<usx" in head.text[:4096],
    read=read_usx,
    find_parts=find_parts,
)
