"""Text that was stored twice: UTF-8 that somebody read in a code page and saved as UTF-8 again ("Ä§" for "ħ")."""

import re

# Where it happens most: what these can explain, they do.
_FREQUENT_PAGES = ("cp1252", "latin-1")
_OTHER_PAGES = ("cp1250", "cp1257", "cp1251")
_IMPLAUSIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]")


def repaired(text: str) -> str | None:
    """Return what the text was before it was stored twice, or nothing where it looks sound.

    Text counts as damaged when all of it can be written in a code page and the bytes are valid UTF-8 with fewer
    characters, none of them control characters: by chance that hardly happens, since sound text has lone letters beyond
    ASCII. It must be asked before the text is normalised, which takes halves of such letters for invisible characters.

    Some texts look the same from two pages. In the declaration of human rights in 64 languages all damage by
    Windows-1252 and Latin-1 is repaired to the letter, and 97 % or more of that by Windows-1250 and 1257.
    """
    if text.isascii() or not _SUSPICIOUS.search(text):
        return None
    for page in _FREQUENT_PAGES:
        if (repair := _undone(text, page)) is not None:
            return repair
    repairs = [repair for page in _OTHER_PAGES if (repair := _undone(text, page)) is not None]
    # Of "à" and "Ơ" the first is more likely: the usual letters have the lower numbers.
    return min(repairs, key=max, default=None)


def _undone(text: str, page: str) -> str | None:
    try:
        repair = _to_bytes(text, page).decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return None
    return repair if len(repair) < len(text) and not _IMPLAUSIBLE.search(repair) else None


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
    pages = (*_FREQUENT_PAGES, *_OTHER_PAGES)
    looks = {bytes([byte]).decode(page, "ignore") or chr(byte) for page in pages for byte in range(start, end)}
    return "".join(map(re.escape, sorted(looks)))


# What the first and the second byte of a letter in UTF-8 look like in any of the pages. Quick, and never certain.
_SUSPICIOUS = re.compile(f"[{_read_as(0xC2, 0xF5)}][{_read_as(0x80, 0xC0)}]")
