"""Word documents (.docx): paragraph by paragraph, as they would be printed with all changes accepted."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from lapestudio.corpora.legacy_fonts import warn_of_fonts
from lapestudio.corpora.packaged_xml import open_package
from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.xml_stream import xml_elements

_DOCUMENT = "word/document.xml"
_NOTE_FILES = ("word/footnotes.xml", "word/endnotes.xml")
_BODY, _NOTES = "text", "notes"
# Deleted text, fields' instructions, and the fallback of what was said already.
_LEFT_OUT = frozenset({"del", "delText", "instrText", "moveFrom", "Fallback", "pPr", "sectPr", "txbxContent"})


def read_docx(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the paragraphs; notes are a part of their own.

    Raises:
        UserError: damaged, or protected by a password.
    """
    fonts: set[str] = set()
    with open_package(file) as package:
        sources = [(_DOCUMENT, _BODY), *((name, _NOTES) for name in _NOTE_FILES if name in package.names)]
        for name, part in sources:
            if not reading.takes(part, part == _BODY):
                continue
            member = package.member(name)
            for number, paragraph in enumerate(
                xml_elements(member, Reading(language=reading.language), ("p",)), start=1
            ):
                if "separator" in paragraph.get("path", ""):
                    continue
                fonts.update(font.get("ascii", "") for font in paragraph.iter("rFonts"))
                text = _text(paragraph).strip()
                if text:
                    label = "note" if part == _NOTES else "paragraph"
                    yield Segment(text, str(file), f"{label} {number}", field=part)
    warn_of_fonts(file, fonts, reading)


def find_parts(_file: SourceFile, _reading: Reading) -> list[Part]:
    """List text and notes."""
    return [
        Part(name=_BODY, kind="field", is_default=True),
        Part(name=_NOTES, kind="field", is_default=False),
    ]


def _text(element: Element) -> str:
    parts: list[str] = []
    for child in element:
        if child.tag in _LEFT_OUT or (child.tag == "r" and _is_hidden(child)):
            continue
        if child.tag == "t":
            parts.append(child.text or "")
        elif child.tag in ("br", "cr"):
            parts.append("\n" if child.get("type") in (None, "textWrapping") else " ")
        elif child.tag in ("tab", "ptab"):
            parts.append(" ")
        elif child.tag == "noBreakHyphen":
            parts.append("\u2011")
        else:
            parts.append(_text(child))
    return "".join(parts)


def _is_hidden(run: Element) -> bool:
    vanish = run.find("rPr/vanish")
    return vanish is not None and vanish.get("val", "true") not in ("0", "false", "off")


def _recognises(head: Head) -> bool:
    return head.data.startswith(b"PK\x03\x04") and (head.suffix in (".docx", ".docm") or b"word/" in head.data[:4096])


READER = Reader(
    name="Word", suffixes=frozenset({".docx", ".docm"}), recognises=_recognises, read=read_docx, find_parts=find_parts
)
