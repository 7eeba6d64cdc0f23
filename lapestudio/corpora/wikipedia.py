"""Dumps of Wikipedia and other wikis (MediaWiki XML): articles as paragraphs, without markup."""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from lapestudio.core.errors import UserError
from lapestudio.corpora.reader import Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.wikitext import DEFAULT_PREFIXES, MAX_PARAGRAPH_CHARACTERS, Names, Page, TooSlowError
from lapestudio.corpora.xml_stream import has_root, xml_elements

_MAX_PAGE_CHARACTERS = 2_000_000
# Namespaces whose links show no running text: media, files, categories.
_SILENT_NAMESPACES = ("-2", "6", "14")
_REDIRECT = re.compile(r"#[^\W\d_][\w-]{0,40}\s{0,9}:?\s{0,9}\[\[[^\[\]\n]+\]\]")


def read_wikipedia(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the paragraphs and headings of the articles, page by page.

    Raises:
        UserError: not well-formed, or no page in it.
    """
    language: str | None = None
    names = Names()
    num_pages = 0
    for element in xml_elements(file, reading, ("siteinfo", "page")):
        language = element.get("inherited-lang") or language
        if element.tag == "siteinfo":
            names = _names_of(element)
            continue
        num_pages += 1
        title = (element.findtext("title") or f"page {num_pages}").strip()
        wikitext = _latest_text(element)
        if reason := _reason_to_skip(element, wikitext):
            reading.skip(reason)
            continue
        for number, text in enumerate(_paragraphs(file, title, wikitext, names, reading), start=1):
            yield Segment(text, f"{file}#{title}", f"{title}, paragraph {number}", language=language)
    if num_pages == 0:
        raise UserError(f"{file} holds no page of a wiki; download the dump with articles (pages-articles).")


def _names_of(siteinfo: Element) -> Names:
    spaces = {space.get("key"): (space.text or "").strip().casefold() for space in siteinfo.iter("namespace")}
    silent = {name for key, name in spaces.items() if key in _SILENT_NAMESPACES and name}
    return Names(prefixes=DEFAULT_PREFIXES | silent, knows_categories=bool(spaces.get("14")))


def _latest_text(page: Element) -> str:
    """Return the wikitext of the last revision: dumps with the whole history begin with the first."""
    revisions = page.findall("revision")
    return (revisions[-1].findtext("text") or "") if revisions else ""


def _reason_to_skip(page: Element, wikitext: str) -> str | None:
    if page.findtext("ns", "0").strip() != "0":
        return "not an article"
    if page.find("redirect") is not None or _REDIRECT.match(wikitext.lstrip()):
        return "redirect"
    if not wikitext.strip():
        return "empty page"
    if page.findtext("revision/model", "wikitext").strip() != "wikitext":
        return "page that is no wikitext"
    return None


def _paragraphs(file: SourceFile, title: str, wikitext: str, names: Names, reading: Reading) -> Iterator[str]:
    place = f'{file}: the page "{" ".join(title.split())}"'
    if len(wikitext) > _MAX_PAGE_CHARACTERS:
        reading.report(f"{place} has {len(wikitext):,} characters, too many; it is left out.")
        return
    page = Page(names=names)
    try:
        paragraphs = [*page.paragraphs(wikitext)]
    except TooSlowError:
        reading.report(f"{place} takes too long, since much of its markup is never closed; it is left out.")
        return
    except Exception as error:  # noqa: BLE001 - a page that the parser cannot take must not stop a dump
        reading.report(f"{place} cannot be read ({type(error).__name__}); it is left out.")
        return
    if page.num_holes:
        reading.skip("template inside a sentence", page.num_holes)
    if page.num_long:
        reading.skip(f"paragraph of more than {MAX_PARAGRAPH_CHARACTERS:,} characters", page.num_long)
    yield from paragraphs


READER = Reader(
    name="Wikipedia dump",
    suffixes=frozenset(),
    recognises=lambda head: has_root(head, "mediawiki"),
    read=read_wikipedia,
)
