"""Text that was stored twice: UTF-8 that somebody read in a code page and saved as UTF-8 again ("Ä§" for "ħ")."""

import re

# The pages in which it happens; Windows-1252 by far the most often.
_PAGES = ("cp1252", "latin-1", "cp1250", "cp1257", "cp1251")
# What the first and second byte of a two-byte letter look like in any of these pages. Quick, and never certain.
_SUSPICIOUS = re.compile(
    "[\u00c2-\u00df\u0102-\u0178\u0410-\u042f][\u0080-\u00bf\u0152-\u0192\u02c6-\u02dd\u0402-\u045f\u2013-\u2122]"
)


def repaired(text: str) -> str | None:
    """Return what the text was before it was stored twice, or nothing where it looks sound.

    Text counts as damaged when all of it can be written in a code page and the bytes are valid UTF-8 with fewer
    characters: by chance that hardly happens, since sound text has lone letters beyond ASCII.
    """
    if text.isascii() or not _SUSPICIOUS.search(text):
        return None
    for page in _PAGES:
        try:
            repair = _to_bytes(text, page).decode("utf-8")
        except (UnicodeEncodeError, UnicodeDecodeError):
            continue
        if len(repair) < len(text) and repair.isprintable():
            return repair
    return None


def _to_bytes(text: str, page: str) -> bytes:
    """Encode; the few bytes without a letter in Windows' pages come out as themselves, as most programs read them."""
    try:
        return text.encode(page)
    except UnicodeEncodeError:
        return b"".join(
            bytes([ord(character)]) if "\x80" <= character <= "\x9f" else character.encode(page) for character in text
        )
