"""Dumps of Wikipedia and other wikis (MediaWiki XML): articles as paragraphs, without markup."""

import re
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from lapestudio.core.errors import UserError
from lapestudio.corpora.reader import Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.xml_stream import xml_elements

_MAX_PAGE_CHARACTERS = 2_000_000
_LEFT_OUT_TAGS = frozenset({"ref", "table", "gallery", "math", "timeline", "score", "syntaxhighlight", "references"})
# Namespaces of files and categories: their links show no running text.
_FILE_NAMESPACES = ("6", "14")
_TABLE = re.compile(r"\{\|.*?\|\}", re.DOTALL)
_MAGIC = re.compile(r"__[A-Z]+__")
# Links to categories stand on lines of their own, and their prefix is in the wiki's language.
_LONE_LINK = re.compile(r"^[ \t]*\[\[[^\W\d_][\w ]*:[^\[\]|]*(?:\|[^\[\]|]*)?\]\][ \t]*$", re.MULTILINE)
_FILE = re.compile(r"\.(?:jpe?g|png|svg|gif|webp|tiff?|ogg|oga|ogv|webm|mid|pdf|djvu)$", re.IGNORECASE)


def read_wikipedia(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the paragraphs and headings of the articles, page by page.

    Raises:
        UserError: not well-formed, or no page in it.
    """
    language: str | None = None
    prefixes = {"file", "image", "category"}
    num_pages = 0
    for element in xml_elements(file, reading, ("siteinfo", "page")):
        language = element.get("inherited-lang") or language
        if element.tag == "siteinfo":
            prefixes |= {
                (space.text or "").casefold()
                for space in element.iter("namespace")
                if space.get("key") in _FILE_NAMESPACES
            }
            continue
        num_pages += 1
        title = (element.findtext("title") or f"page {num_pages}").strip()
        if reason := _reason_to_skip(element):
            reading.skip(reason)
            continue
        for number, text in enumerate(_paragraphs(file, title, element, prefixes, reading), start=1):
            yield Segment(text, f"{file}#{title}", f"{title}, paragraph {number}", language=language)
    if num_pages == 0:
        raise UserError(f"{file} holds no page of a wiki; download the dump with articles (pages-articles).")


def _reason_to_skip(page: Element) -> str | None:
    if page.findtext("ns", "0").strip() != "0":
        return "not an article"
    if page.find("redirect") is not None:
        return "redirect"
    if not (page.findtext("revision/text") or "").strip():
        return "empty page"
    return None


def _paragraphs(file: SourceFile, title: str, page: Element, prefixes: set[str], reading: Reading) -> Iterator[str]:
    wikitext = page.findtext("revision/text") or ""
    if len(wikitext) > _MAX_PAGE_CHARACTERS:
        reading.report(f'{file}: the page "{title}" has {len(wikitext):,} characters, too many; it is left out.')
        return
    try:
        plain = _stripped(wikitext, prefixes)
    except Exception as error:  # noqa: BLE001 - a page that the parser cannot take must not stop a dump
        reading.report(f'{file}: the page "{title}" cannot be read ({type(error).__name__}); it is left out.')
        return
    for line in plain.split("\n"):
        if text := line.strip(" *#:;="):
            yield text


def _stripped(wikitext: str, prefixes: set[str]) -> str:
    """Return what a reader sees: no notes, tables, pictures, categories, templates nor comments."""
    import mwparserfromhell

    code: Any = mwparserfromhell.parse(_LONE_LINK.sub("", _TABLE.sub("", wikitext)))
    for node in code.filter_tags(matches=lambda tag: str(tag.tag).casefold() in _LEFT_OUT_TAGS):
        _remove(code, node)
    for node in code.filter_wikilinks():
        prefix, colon, name = str(node.title).strip().partition(":")
        if colon and (prefix.strip().casefold() in prefixes or _FILE.search(name)):
            _remove(code, node)
    stripped: str = code.strip_code(normalize=True, collapse=True)
    return _MAGIC.sub("", stripped)


def _remove(code: Any, node: Any) -> None:
    try:
        code.remove(node)
    except ValueError:
        return  # It went with what it lay in.


READER = Reader(
    name="Wikipedia dump",
    suffixes=frozenset(),
    recognises=lambda head: head.text is not None and "<mediawiki" in head.text[:4096],
    read=read_wikipedia,
)
