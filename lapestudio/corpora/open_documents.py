"""OpenDocument texts (.odt): paragraph by paragraph, without what was deleted."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from lapestudio.corpora.packaged_xml import open_package
from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.xml_stream import xml_elements

_CONTENT = "content.xml"
_BODY, _NOTES = "text", "notes"
_SPACES = frozenset({"s", "tab"})
_LEFT_OUT = frozenset({"note", "annotation", "tracked-changes", "ruby-text"})


def read_odt(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream paragraphs and headings; notes are a part of their own.

    Raises:
        UserError: damaged, or protected by a password.
    """
    with open_package(file) as package:
        blocks = xml_elements(package.member(_CONTENT), Reading(language=reading.language), ("p", "h"))
        for number, block in enumerate(blocks, start=1):
            if "tracked-changes" in block.get("path", "").split("/"):
                continue
            text = _text(block).strip()
            if text and reading.takes(_BODY, default=True):
                yield Segment(text, str(file), f"paragraph {number}", field=_BODY)
            for note in block.iter("note-body"):
                content = _text(note).strip()
                if content and reading.takes(_NOTES, default=False):
                    yield Segment(content, str(file), f"note in paragraph {number}", field=_NOTES)


def find_parts(_file: SourceFile, _reading: Reading) -> list[Part]:
    """List text and notes."""
    return [
        Part(name=_BODY, kind="field", is_default=True),
        Part(name=_NOTES, kind="field", is_default=False),
    ]


def _text(element: Element) -> str:
    """Return the text; white space in the XML is one space, as the format says."""
    parts = [_collapsed(element.text)]
    for child in element:
        if child.tag in _SPACES:
            parts.append(" ")
        elif child.tag == "line-break":
            parts.append("\n")
        elif child.tag not in _LEFT_OUT:
            parts.append(_text(child))
        parts.append(_collapsed(child.tail))
    return "".join(parts)


def _collapsed(text: str | None) -> str:
    if not text:
        return ""
    inner = " ".join(text.split())
    return (" " if text[0].isspace() else "") + inner + (" " if inner and text[-1].isspace() else "")


def _recognises(head: Head) -> bool:
    return head.data.startswith(b"PK\x03\x04") and b"application/vnd.oasis.opendocument.text" in head.data[:200]


READER = Reader(
    name="OpenDocument",
    suffixes=frozenset({".odt", ".ott"}),
    recognises=_recognises,
    read=read_odt,
    find_parts=find_parts,
)
