"""Text that was stored twice: UTF-8 that somebody read in a code page and saved as UTF-8 again ("Ä§" for "ħ")."""

import re

# The pages in which it happens; Windows-1252 by far the most often.
_PAGES = ("cp1252", "latin-1", "cp1250", "cp1257", "cp1251")
_IMPLAUSIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]")


def repaired(text: str) -> str | None:
    """Return what the text was before it was stored twice, or nothing where it looks sound.

    Text counts as damaged when all of it can be written in a code page and the bytes are valid UTF-8 with fewer
    characters, none of them control characters: by chance that hardly happens, since sound text has lone letters beyond
    ASCII. It must be asked before the text is normalised, which takes halves of such letters for invisible characters.
    """
    if text.isascii() or not _SUSPICIOUS.search(text):
        return None
    for page in _PAGES:
        try:
            repair = _to_bytes(text, page).decode("utf-8")
        except (UnicodeEncodeError, UnicodeDecodeError):
            continue
        if len(repair) < len(text) and not _IMPLAUSIBLE.search(repair):
            return repair
    return None


def _to_bytes(text: str, page: str) -> bytes:
    try:
        return text.encode(page)
    except UnicodeEncodeError:
        return b"".join(_to_byte(character, page) for character in text)


def _to_byte(character: str, page: str) -> bytes:
    """Encode; the few bytes for which Windows' pages have no letter are read as themselves by most programs."""
    try:
        return character.encode(page)
    except UnicodeEncodeError:
        if "\x80" <= character <= "\xff":
            return bytes([ord(character)])
        raise


def _read_as(start: int, end: int) -> str:
    """Return what the bytes from `start` to before `end` look like in all the pages, for a class of characters."""
    looks = {bytes([byte]).decode(page, "ignore") or chr(byte) for page in _PAGES for byte in range(start, end)}
    return "".join(map(re.escape, sorted(looks)))


# What the first and the second byte of a letter in UTF-8 look like in any of the pages. Quick, and never certain.
_SUSPICIOUS = re.compile(f"[{_read_as(0xC2, 0xF5)}][{_read_as(0x80, 0xC0)}]")
