"""E-books (.epub): the chapters in their reading order, without contents and notes."""

import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from lapestudio.core.errors import UserError
from lapestudio.corpora.packaged_xml import Package, open_package
from lapestudio.corpora.reader import Head, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.web_pages import HtmlBlocks
from lapestudio.corpora.xml_stream import xml_document

_CONTAINER = "META-INF/container.xml"


def read_epub(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the blocks of text, chapter by chapter.

    Raises:
        UserError: damaged, or chapters are missing.
    """
    with open_package(file) as package:
        chapters, language = _spine(file, package)
        for number, name in enumerate(chapters, start=1):
            if name not in package.names:
                reading.report(f"{file}: the chapter {name} is missing in the book; get the book again.")
                continue
            parser = HtmlBlocks(leaves_out_asides=True)
            parser.feed(package.bytes_of(name).decode("utf-8", "replace").removeprefix("\ufeff"))
            parser.close()
            for block, (text, stated) in enumerate(parser.blocks, start=1):
                place = f"chapter {number}, block {block}"
                yield Segment(text, f"{file}#{name}", place, language=stated or language)


def _spine(file: SourceFile, package: Package) -> tuple[list[str], str | None]:
    """Return the names of the chapters in reading order, and the language that the book states."""
    container = xml_document(package.member(_CONTAINER), Reading())
    root_file = next((one.get("full-path", "") for one in container.iter("rootfile")), "")
    if not root_file:
        raise UserError(f"{file} is no whole e-book: it does not say where its contents lie.")
    root = xml_document(package.member(root_file), Reading())
    base = posixpath.dirname(root_file)
    hrefs = {
        item.get("id"): posixpath.normpath(posixpath.join(base, unquote(item.get("href", ""))))
        for item in root.iter("item")
        if "nav" not in (item.get("properties") or "").split()
    }
    language = next(((one.text or "").strip() for one in root.iter("language")), None)
    return [hrefs[one.get("idref")] for one in root.iter("itemref") if one.get("idref") in hrefs], language


def _recognises(head: Head) -> bool:
    return head.data.startswith(b"PK\x03\x04") and (
        b"application/epub+zip" in head.data[:200] or head.suffix == ".epub"
    )


READER = Reader(name="e-book", suffixes=frozenset({".epub"}), recognises=_recognises, read=read_epub)
