"""Saved web pages (HTML): the text of each block, without scripts, navigation and what is hidden."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from lapestudio.corpora.encodings import MARKS
from lapestudio.corpora.reader import Head, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_bytes, read_text

_LEFT_OUT = frozenset({
    "script", "style", "noscript", "template", "nav", "head", "svg", "math", "select", "button", "iframe", "object",
    "rt", "rp",
})  # fmt: skip
_INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "q", "ruby", "rb", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time",
    "tt", "u", "var", "wbr",
})  # fmt: skip
_VOID = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
})  # fmt: skip
_CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?\s*([A-Za-z0-9._:-]+)""", re.IGNORECASE)
_ASIDES = frozenset({"footnote", "endnote", "rearnote", "toc", "landmarks", "page-list", "noteref", "doc-noteref"})
_MAX_DEPTH = 2000


class HtmlBlocks(HTMLParser):
    """Collects the blocks of a page: (text, language).

    Args:
        leaves_out_asides: also leaves out notes, their references and tables of contents, as e-books mark them.
    """

    def __init__(self, *, leaves_out_asides: bool = False) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[tuple[str, str | None]] = []
        self._leaves_out_asides = leaves_out_asides
        self._text: list[str] = []
        self._open: list[tuple[str, bool, str | None]] = []
        self._num_hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        attributes = dict(attrs)
        if tag == "br":
            self._text.append("\n")
        if tag not in _INLINE and tag != "br":
            self._end_block()
        if tag in _VOID or len(self._open) > _MAX_DEPTH:
            return
        hides = tag in _LEFT_OUT or self._is_hidden(attributes)
        language = attributes.get("lang") or attributes.get("xml:lang") or (self._open[-1][2] if self._open else None)
        self._open.append((tag, hides, language))
        self._num_hidden += hides

    def handle_endtag(self, tag: str) -> None:
        """End an element, and those that were left open in it."""
        if tag not in _INLINE:
            self._end_block()
        if not any(name == tag for name, _hides, _language in self._open):
            return
        while self._open:
            name, hides, _language = self._open.pop()
            self._num_hidden -= hides
            if name == tag:
                break

    def handle_data(self, data: str) -> None:
        """Take text."""
        if not self._num_hidden:
            self._text.append(re.sub(r"\s+", " ", data))

    def close(self) -> None:
        """Take what is left."""
        super().close()
        self._end_block()

    def _is_hidden(self, attributes: dict[str, str | None]) -> bool:
        style = (attributes.get("style") or "").replace(" ", "").casefold()
        if "hidden" in attributes or attributes.get("aria-hidden") == "true" or "display:none" in style:
            return True
        kinds = f"{attributes.get('epub:type') or ''} {attributes.get('role') or ''}".casefold().split()
        return self._leaves_out_asides and any(kind.removeprefix("doc-") in _ASIDES for kind in kinds)

    def _end_block(self) -> None:
        lines = ("".join(self._text)).split("\n")
        text = "\n".join(" ".join(line.split()) for line in lines).strip()
        self._text = []
        if text:
            self.blocks.append((text, self._open[-1][2] if self._open else None))


def read_html(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Yield the blocks of a page.

    Raises:
        UserError: not readable.
    """
    parser = HtmlBlocks()
    parser.feed(_decoded(file, reading))
    parser.close()
    for number, (text, language) in enumerate(parser.blocks, start=1):
        yield Segment(text, str(file), f"block {number}", language=language)


def _decoded(file: SourceFile, reading: Reading) -> str:
    """Return the page as text: by a mark, by what was chosen, by what the page says, else by what it looks like."""
    data = read_bytes(file)
    stated = _CHARSET.search(data[:8192])
    has_mark = any(data.startswith(mark) for mark, _name in MARKS)
    if stated is not None and reading.encoding is None and not has_mark:
        try:
            name = stated[1].decode("ascii")
            text = data.decode(name, "replace")
        except LookupError:
            return read_text(file, reading)
        reading.found_encoding = name.casefold()
        return text
    return read_text(file, reading)


_START = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*(?:<!doctype html|<html[\s>])", re.IGNORECASE | re.DOTALL
)


def _recognises(head: Head) -> bool:
    return (
        head.text is not None
        and re.match(
            r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*(?:<!doctype html|<html[\s>])",
            head.text[:4096],
            re.IGNORECASE | re.DOTALL,
        )
        is not None
    )


READER = Reader(
    name="web page", suffixes=frozenset({".html", ".htm", ".xhtml"}), recognises=_recognises, read=read_html
)
