"""One piece of text to its plain form: composed characters, no invisible ones but those that scripts need.

It looks at a segment alone and never empties the meaning: what removes whole segments is in `cleaning`.
"""

import re
import unicodedata

# White space of every kind, U+2028, U+0085 and no-break spaces among it; but a line break is the author's own.
_SPACE = re.compile(r"[^\S\n]+")
_BREAKS = re.compile(r" *\n[ \n]*")
# NUL and its like, soft hyphen, zero-width space, word joiner, byte order mark, interlinear and object marks.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffc]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_DIRECTION = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# A joiner joins or separates the letters beside it: at the edge of a word it says nothing.
_LOOSE_JOINER = re.compile("(?<![^\\s])[\u200c\u200d]+|[\u200c\u200d]+(?![^\\s])")


def normalise(text: str, *, composes: bool = True, removes_invisible: bool = True) -> str:
    """Return `text` with white space made plain, in Unicode NFC, without invisible characters.

    Zero-width joiners and non-joiners inside words stay: Sinhala, Persian and many other scripts need them. Direction
    marks go at the ends alone. Typographic quotes and apostrophes stay as they are. Line breaks stay.

    Args:
        text: any text.
        composes: whether to apply NFC.
        removes_invisible: whether to remove control and zero-width characters.
    """
    # Most text is plain already, and this is done to every segment of a corpus.
    if text.isprintable() and "  " not in text and (not composes or unicodedata.is_normalized("NFC", text)):
        return text.strip(" ")
    text = _SURROGATE.sub("\ufffd", text)
    if removes_invisible:
        text = _INVISIBLE.sub("", text)
    text = _SPACE.sub(" ", text)
    if "\n" in text:
        text = _BREAKS.sub("\n", text)
    if removes_invisible:
        text = text.strip(_DIRECTION + " \n")
        if "\u200c" in text or "\u200d" in text:
            text = _LOOSE_JOINER.sub("", text)
    if composes:
        text = unicodedata.normalize("NFC", text)
    return text.strip()
