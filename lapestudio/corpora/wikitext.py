"""Wikitext to the headings and paragraphs that a reader of the page sees; what wiki dumps stand on.

What spans lines (templates, tables, notes, pictures) is cut out in one pass before the parser sees anything: its time
grows with the square of what is not closed, so it gets one paragraph at a time, and a page has a time limit.
"""

# ruff: noqa: RUF001 - brackets and stops of many scripts

import html
import re
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

MAX_PARAGRAPH_CHARACTERS: Final = 10_000
MAX_PAGE_S: Final = 5.0
DEFAULT_PREFIXES: Final = frozenset({"file", "image", "category", "media"})
# Stands where a template or a formula was; a noncharacter, which no text holds.
_HOLE = "\ufdd0"
_CUT_TAGS = (
    "ref|references|gallery|math|chem|ce|timeline|score|syntaxhighlight|source|pre|table|hiero|graph|mapframe|maplink|"
    "imagemap|inputbox|templatestyles|templatedata|categorytree|indicator|section|includeonly|style|script|rt|rp"
)
_LEAVES_HOLE = frozenset({"math", "chem", "ce", "hiero", "score"})
_TOKEN = re.compile(
    rf"<!--|\{{\{{|\}}\}}|^[ \t:]*\{{\||^[ \t:]*\|\}}(?!\}})|\[\[|\]\]|<({_CUT_TAGS}|nowiki)\b[^<>]*?(/?)>",
    re.MULTILINE | re.IGNORECASE,
)
_CLOSES = {"}}": "{{", "|}": "{|", "]]": "[["}
_PREFIX = re.compile(r"\s*+([^\[\]|{}<>:\n]{1,80}):([^\[\]|\n]{0,300})")
_FILE = re.compile(r"\.(?:jpe?g|png|svg|gif|webp|tiff?|ogg|oga|ogv|webm|mid|pdf|djvu)\s*$", re.IGNORECASE)
_LINK_LINE = re.compile(r"\s*(?:\[\[([^\W\d_][\w-]*):(?! )[^\[\]|\n]*(?:\|[^\[\]\n]*)?\]\]\s*)+$")
_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*$")
_LIST = re.compile(r"[*#:;]+")
_MAGIC = re.compile(r"__[^\W\d_a-z]+(?:_[^\W\d_a-z]+)*__")
_QUOTES = re.compile("'{2,}")
_BREAK = re.compile(r"<br\b[^<>]*>", re.IGNORECASE)
_LOOSE_ANGLE = re.compile(r"<(?!/?[a-zA-Z][^<>]*>)")
_STRAY_TAG = re.compile(
    rf"</?(?:{_CUT_TAGS}|nowiki|br|hr|p|div|span|small|big|center|font|b|i|u|s|sub|sup|tt|code|blockquote|poem|t[rdh]|"
    r"onlyinclude|noinclude|cite|abbr|li|[uod]l|d[td])\b[^<>]*>",
    re.IGNORECASE,
)
_EMPTY_BRACKETS = re.compile(rf" ?[(（][\s,;:/·–-]*(?:{_HOLE}[\s,;:/·–-]*)+[)）]")
_OPENING_HOLE = re.compile(rf"([(（])[\s,;:]*(?:{_HOLE}[\s,;:]*)+")
_CLOSING_HOLE = re.compile(rf" ?{_HOLE}+ ?(?=[,.;:!?)）、。，؛،।])")
_INNER_HOLE = re.compile(rf"(?<=\w){_HOLE}+(?=\w)")
# A template after a word is mostly a note; one that stands like a word has left a hole in the sentence.
_LOST_WORD = re.compile(rf"(?<=\s){_HOLE}+(?=[\s,.;:!?)）])")
_BARE = re.compile(rf"[\s{_HOLE}\W_]*$")


class TooSlowError(Exception):
    """A page is written so that reading it takes too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What a wiki calls its files and categories."""

    prefixes: frozenset[str] = DEFAULT_PREFIXES
    """Of links that show no running text, in small letters."""
    knows_categories: bool = False
    """Whether the wiki has said how it calls its categories; else any line of nothing but such links is one."""


@dataclass(slots=True, kw_only=True)
class Page:
    """A page while it is read."""

    names: Names = field(default_factory=Names)
    num_holes: int = 0
    """Templates and formulas that stood in the middle of sentences, which now lack something."""
    num_long: int = 0
    """Paragraphs of more than `MAX_PARAGRAPH_CHARACTERS`, which are left out."""

    def paragraphs(self, wikitext: str) -> Iterator[str]:
        """Yield headings, paragraphs and entries of lists, without markup.

        Raises:
            TooSlowError: it takes longer than `MAX_PAGE_S`.
        """
        deadline = time.monotonic() + MAX_PAGE_S
        for block in _blocks(_cut(wikitext, self.names.prefixes), self.names):
            if time.monotonic() > deadline:
                raise TooSlowError
            if len(block) > MAX_PARAGRAPH_CHARACTERS:
                self.num_long += 1
                continue
            plain = _plain(block)
            if _HOLE in plain:
                if _BARE.match(plain):
                    continue
                plain = self._without_holes(plain)
            lines = (" ".join(line.split()) for line in plain.split("\n"))
            if text := "\n".join(line for line in lines if line):
                yield text

    def _without_holes(self, plain: str) -> str:
        """Close the gaps that templates leave, with the brackets and stops around them; count the lost words."""
        plain = re.sub(r"[ \t]+", " ", re.sub(rf"[{{}}]*{_HOLE}[{{}}]*", _HOLE, plain))
        plain = _OPENING_HOLE.sub(r"\1", _EMPTY_BRACKETS.sub("", plain))
        self.num_holes += len(_LOST_WORD.findall(plain))
        plain = _INNER_HOLE.sub(" ", _CLOSING_HOLE.sub("", plain))
        return plain.replace(_HOLE, "")


def _cut(wikitext: str, prefixes: Collection[str]) -> str:
    """Return the text without templates, tables, notes, pictures, categories and comments.

    One pass with a stack; what is never closed stays as text, as MediaWiki shows it.
    """
    out: list[str] = []
    opened: list[tuple[str, int, bool]] = []
    num_opened = dict.fromkeys(_CLOSES.values(), 0)
    unclosed: set[str] = set()
    position = 0
    for token in _TOKEN.finditer(wikitext):
        if token.start() < position:
            continue  # Inside of a comment or a note.
        out.append(wikitext[position : token.start()])
        position = token.end()
        mark = token[0].strip(" \t:")
        if mark == "<!--" or token[1]:
            position = _cut_region(wikitext, token, out, unclosed)
        elif mark in num_opened:
            opened.append((mark, len(out), mark != "[[" or _shows_nothing(wikitext, position, prefixes)))
            num_opened[mark] += 1
            out.append(token[0])
        elif num_opened[_CLOSES[mark]]:
            _close(_CLOSES[mark], out, opened, num_opened)
        else:
            out.append(token[0])
    out.append(wikitext[position:])
    return "".join(out)


def _close(kind: str, out: list[str], opened: list[tuple[str, int, bool]], num_opened: dict[str, int]) -> None:
    """Cut back to where the nearest `kind` was opened; what was opened since then is text."""
    while True:
        found, start, is_cut = opened.pop()
        num_opened[found] -= 1
        if found == kind:
            break
    if is_cut:
        del out[start:]
        out.append(_HOLE if kind == "{{" else "")
    else:
        out.append("]]")


def _cut_region(wikitext: str, token: re.Match[str], out: list[str], unclosed: set[str]) -> int:
    """Cut a comment, or a tag with all that it holds; return where to go on."""
    name = (token[1] or "").lower()
    if token[2]:
        return token.end()
    closer = f"</{name}" if name else "-->"
    end = -1 if closer in unclosed else _find(wikitext, closer, token.end())
    if end < 0:
        # Once it was not found, it need not be looked for again: a page may have a hundred thousand of them.
        unclosed.add(closer)
        return len(wikitext) if not name else token.end()
    end = wikitext.find(">", end) + 1 or len(wikitext)
    if name == "nowiki":
        out.append(_literal(wikitext[token.end() : end].rpartition("<")[0]))
    elif name in _LEAVES_HOLE:
        out.append(_HOLE)
    return end


def _literal(text: str) -> str:
    """Write text that is no markup so that nothing takes it for such."""
    return html.escape(text, quote=False).replace("[", "&#91;").replace("{", "&#123;").replace("'", "&#39;")


def _find(wikitext: str, closer: str, start: int) -> int:
    exact = wikitext.find(closer, start)
    return exact if exact >= 0 else wikitext.find(closer.upper(), start)


def _shows_nothing(wikitext: str, position: int, prefixes: Collection[str]) -> bool:
    """Say whether the link that begins here is a picture or a category."""
    match = _PREFIX.match(wikitext, position)
    if match is None:
        return False
    return match[1].strip().replace("_", " ").casefold() in prefixes or _FILE.search(match[2]) is not None


def _blocks(text: str, names: Names) -> Iterator[str]:
    """Yield what stands on its own: headings, entries of lists, and lines joined until a blank one."""
    has_table = re.search(r"^[ \t:]*\{\|", text, re.MULTILINE) is not None
    lines: list[str] = []
    for raw in text.split("\n"):
        line = _MAGIC.sub("", raw).rstrip() if "__" in raw else raw.rstrip()
        is_heading = line.startswith("=") and line.endswith("=")
        is_row = line.lstrip(" \t:").startswith(("|", "{|")) or (has_table and line.startswith("!"))
        is_alone = is_heading or line[:1] in ("*", "#", ":", ";", " ", "")
        if (is_alone or is_row or line.startswith("----")) and lines:
            yield " ".join(lines)
            lines = []
        if is_row or not line.strip(" -") or _is_link_line(line, names):
            continue
        if is_heading:
            yield line.strip("= \t")
        elif is_alone:
            yield _LIST.sub("", line, count=1) if line[0] != " " else line
        else:
            lines.append(line)
    if lines:
        yield " ".join(lines)


def _is_link_line(line: str, names: Names) -> bool:
    """Say whether a line holds nothing but links to categories, or to the page in other languages."""
    match = _LINK_LINE.match(line)
    if match is None:
        return False
    return not names.knows_categories or _LANGUAGE_CODE.match(match[1]) is not None


def _plain(block: str) -> str:
    """Return a paragraph without styles, links, tags and entities."""
    block = _without_quotes(block) if "''" in block else block
    if not any(mark in block for mark in "[<&"):
        return block
    import mwparserfromhell

    block = _LOOSE_ANGLE.sub("&lt;", _BREAK.sub("\n", block))
    code = mwparserfromhell.parse(block, skip_style_tags=True)
    for link in code.ifilter_wikilinks(recursive=True):
        if link.text is None and str(link.title).startswith(":"):
            link.title = str(link.title).lstrip(":")
    plain = str(code.strip_code(normalize=True, collapse=False))
    return _STRAY_TAG.sub("", plain) if "<" in plain else plain


def _without_quotes(block: str) -> str:
    """Take off the marks of bold and italic; apostrophes beside them stay: l'''Odyssée'' is l' and an italic word."""
    runs = [len(run) for run in _QUOTES.findall(block)]
    num_italic = sum(run in (2, 5) or run > 5 for run in runs)  # noqa: PLR2004
    num_bold = sum(run > 2 for run in runs)  # noqa: PLR2004
    if num_italic % 2 and num_bold % 2:
        block = re.sub(r"(?<![^\W_])(\w)'''(?!')", r"\1'", block, count=1)
    # Of four the first is an apostrophe, as are all beyond five.
    return _QUOTES.sub(lambda run: "'" * (1 if len(run[0]) == 4 else max(0, len(run[0]) - 5)), block)  # noqa: PLR2004
