"""TEI documents: the paragraphs, headings and verse lines of the text, as its editors meant it to be read."""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.xml_stream import xml_elements

_TEXT, _NOTES = "text", "notes"
_BLOCKS = (
    "p",
    "head",
    "l",
    "ab",
    "u",
    "item",
    "cell",
    "speaker",
    "stage",
    "titlePart",
    "trailer",
    "salute",
    "signed",
    "dateline",
)
_LEFT_OUT = frozenset({"fw", "del", "gap", "note", "abbr", "sic", "orig", "graphic", "figDesc", "teiHeader", "index"})
_PREFERRED = {"sic": "corr", "abbr": "expan", "orig": "reg"}
_NO_SPACE_BEFORE = ".,;:!?)]}»”…"


def read_tei(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the blocks of the text; notes are a part of their own.

    Raises:
        UserError: not well-formed.
    """
    number = 0
    for block in xml_elements(file, reading, _BLOCKS):
        path = block.get("path", "").split("/")
        if "teiHeader" in path or "text" not in path:
            continue
        number += 1
        language = block.get("lang") or block.get("inherited-lang")
        place = f"{block.tag} {number}"
        text = " ".join(_content(block).split())
        if text and reading.takes(_TEXT, default=True):
            yield Segment(text, str(file), place, field=_TEXT, language=language, unit=block.get("id"))
        for note in block.iter("note"):
            content = " ".join(_content(note).split())
            if content and reading.takes(_NOTES, default=False):
                yield Segment(content, str(file), f"note in {place}", field=_NOTES, language=note.get("lang"))


def find_parts(_file: SourceFile, _reading: Reading) -> list[Part]:
    """List text and notes."""
    return [
        Part(name=_TEXT, kind="field", is_default=True),
        Part(name=_NOTES, kind="field", is_default=False),
    ]


def _content(element: Element) -> str:
    """Return the text of an element as it is to be read."""
    parts = [element.text or ""]
    for child in element:
        if child.tag in ("lb", "pb", "cb"):
            # A break inside a word joins what it parts.
            if child.get("break") == "no":
                parts = ["".join(parts).rstrip()]
                parts.append((child.tail or "").lstrip())
                continue
            parts.append(" ")
        elif not _is_left_out(child, element):
            parts.append(_token(child, parts))
        parts.append(child.tail or "")
    return "".join(parts)


def _token(child: Element, before: list[str]) -> str:
    """Return an element's text; words and marks of a tokenised text get the spaces that were between them."""
    content = _content(child)
    if child.tag not in ("w", "pc"):
        return content
    text = "".join(before).rstrip()
    glued = child.get("join") in ("left", "both") or (child.tag == "pc" and content[:1] in _NO_SPACE_BEFORE)
    if glued:
        before[:] = [text]
        return content
    return content if not text or (before[-1:] and before[-1][-1:].isspace()) else f" {content}"


def _is_left_out(child: Element, parent: Element) -> bool:
    if child.tag in _PREFERRED:
        # Outside a choice, the only reading there is stays.
        return parent.find(_PREFERRED[child.tag]) is not None
    return child.tag in _LEFT_OUT


def _recognises(head: Head) -> bool:
    return head.text is not None and re.search(r"<(?:\w+:)?TEI(?:\.2|Corpus)?[\s>]", head.text[:8192]) is not None


READER = Reader(
    name="TEI", suffixes=frozenset({".tei", ".xml"}), recognises=_recognises, read=read_tei, find_parts=find_parts
)
