"""Text with what is left of HTML and wiki markup to text without it; angle brackets that are no tags stay."""

import html
import re

# What cannot be markup is told from the rest by these, since nearly all segments have none of them.
_SIGN = re.compile(r"[<&]|\{\{|\{\||\[\[|\[http|''|^==")
_TAG = re.compile(r"(?<!<)<(/?)([a-zA-Z][a-zA-Z0-9:-]*)((?:\s[^<>]*)?)(/?)>(?!>)")
_ATTRIBUTE = re.compile(r"\s+[a-zA-Z_:][\w:.-]*\s*=")
_INLINE = frozenset(
    {"a", "b", "i", "u", "s", "q", "em", "strong", "span", "sub", "sup", "font", "small", "big", "tt", "mark", "wbr"}
)
_ELEMENTS = _INLINE | {
    "html", "head", "body", "script", "style", "div", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li",
    "dl", "dt", "dd", "table", "thead", "tbody", "tr", "td", "th", "blockquote", "center", "pre", "code", "del", "ins",
    "img", "ref", "nowiki", "p",
}  # fmt: skip
# Comments do not nest.
_SPANS = (("<!--", "-->", False), ("{{", "}}", True), ("{|", "|}", True))
_LINK = re.compile(r"\[\[([^\[\]]*)\]\]")
_NO_TEXT = re.compile(r"\s*:?(?:File|Image|Category)\s*:", re.IGNORECASE)
_WEB_LINK = re.compile(r"\[https?://[^\s\[\]]+ ([^\[\]]*)\]")
_HEADING = re.compile(r"^(={2,6})(?!=)(.*[^=])\1$")
_EMPHASIS = re.compile(r"'{2,5}")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_MOST_LINKS_INSIDE = 5


def without_markup(text: str) -> str:
    """Return text without what is left of HTML and wiki markup; entities become the characters that they stand for.

    What stays: comparisons ("a < b"), <<quotes>>, letters and placeholders in angle brackets ("the letter <b>",
    "<name>"), unless they are closed like a tag, and braces and brackets that are not closed. Takes time in proportion
    to the length.
    """
    if not _SIGN.search(text):
        return text
    for opening, closing, nests in _SPANS:
        if opening in text:
            text = _without_spans(text, opening, closing, nests=nests)
    if "<" in text:
        closed = {match[2].lower() for match in _TAG.finditer(text) if match[1]}
        text = _TAG.sub(lambda match: _without_tag(match, closed), text)
    for _depth in range(_MOST_LINKS_INSIDE):
        text, num_links = _LINK.subn(_text_of_link, text)
        if not num_links:
            break
    text = _WEB_LINK.sub(r"\1", text)
    text = _HEADING.sub(r"\2", _EMPHASIS.sub("", text))
    text = _ENTITY.sub(lambda match: html.unescape(match.group()), text)
    return re.sub(" +", " ", text).strip()


def _without_tag(match: re.Match[str], closed: set[str]) -> str:
    name = match[2].lower()
    if not _is_tag(match, name, closed):
        return match[0]
    return "" if name in _INLINE else " "


def _is_tag(match: re.Match[str], name: str, closed: set[str]) -> bool:
    """Tell a tag from a letter, a comparison or a placeholder in angle brackets."""
    closes, attributes, closes_itself = match[1], match[3], match[4] or match[3].endswith("/")
    if closes or closes_itself or name in closed or ":" in name or _ATTRIBUTE.match(attributes):
        return True
    if name not in _ELEMENTS:
        return False
    if len(name) > 1:
        return len(attributes.split()) <= 1
    # Of one letter alone it is a tag where it stands right before a word: linguists write <b> for letters.
    return not attributes.strip() and match.string[match.end() : match.end() + 1].isalpha()


def _text_of_link(match: re.Match[str]) -> str:
    """Return what a reader of the wiki sees of a link."""
    return " " if _NO_TEXT.match(match[1]) else match[1].rpartition("|")[2]


def _without_spans(text: str, opening: str, closing: str, *, nests: bool) -> str:
    """Replace all from an opening token to its closing one by a space; tokens without a partner stay."""
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    for match in re.finditer(f"{re.escape(opening)}|{re.escape(closing)}", text):
        if match[0] == opening:
            if nests or not opened:
                opened.append(match.start())
        elif opened:
            start = opened.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, match.end()))
    kept, last = [], 0
    for start, end in spans:
        kept.append(text[last:start])
        last = end
    return " ".join([*kept, text[last:]]) if spans else text
