"""Words and punctuation that an interlinear text keeps apart, to running text: spaces where print has them."""

# ruff: noqa: RUF001, RUF003 - marks that look like others are what is told apart here

import re
from collections.abc import Sequence
from typing import NamedTuple

_OPENING = frozenset("([{<¿¡「『（《〈【")
_CLOSING = frozenset(")]}>.,;:!?…%、。，；：！？」』）》〉】،؛؟۔।॥።፣፤፥፦፧՞՜՝")
_JOINING = frozenset("-‐‑/־፡")
_APOSTROPHES = frozenset("'’ʼ")
# What ends a quotation, by what begins it: languages differ, and » or “ do either.
_ENDS = {
    "«": "»",
    "»": "«»",
    "‹": "›",
    "›": "‹›",
    "„": '“”"',
    "“": "”",
    "”": "”",
    "‚": "‘’",
    "‘": "’",
    '"': '"',
    "'": "'",
}
# Thai, Lao, Tibetan, Myanmar, Khmer, kana and Han do without spaces between words.
_UNSPACED = re.compile(r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")

# Marks that bring their own space with them.
_FULL_WIDTH = re.compile(r"[\u3000-\u303f\uff00-\uffef]")


class Item(NamedTuple):
    """A word or a group of marks, as the file keeps it."""

    content: str
    is_punctuation: bool


def join_words(items: Sequence[Item]) -> str:
    """Return the running text of items, of which none is empty."""
    joined = ""
    quotes: list[str] = []
    is_glued = True
    for place, item in enumerate(items):
        after_word = place > 0 and not items[place - 1].is_punctuation
        before_word = place + 1 < len(items) and not items[place + 1].is_punctuation
        glues_next = False
        if item.is_punctuation:
            sides = [_sides(mark, quotes, after_word, before_word) for mark in item.content if not mark.isspace()]
            is_glued = is_glued or sides[0][0]
            glues_next = sides[-1][1]
        elif after_word:
            is_glued = bool(_UNSPACED.match(joined[-1]) and _UNSPACED.match(item.content))
        if joined:
            is_glued = is_glued or any(_FULL_WIDTH.match(side) for side in (joined[-1], item.content))
        joined += item.content if is_glued else f" {item.content}"
        is_glued = glues_next
    return joined


def _sides(mark: str, quotes: list[str], after_word: bool, before_word: bool) -> tuple[bool, bool]:
    """Say whether a mark stands close to what is before it and to what is after it; note quotations in `quotes`."""
    if quotes and mark in _ENDS[quotes[-1]]:
        quotes.pop()
        return True, False
    if mark in _APOSTROPHES and (after_word or mark != "'"):
        # As in l’enfant, dogs’ and ’twas.
        return after_word, before_word
    if mark in _ENDS:
        if after_word and not before_word:
            return True, False
        quotes.append(mark)
        return False, True
    is_joining = mark in _JOINING and after_word and before_word
    return is_joining or mark in _CLOSING, is_joining or mark in _OPENING
