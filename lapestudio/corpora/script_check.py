"""Text to the scripts that its letters belong to."""

from collections import Counter
from functools import cache

import regex

from lapestudio.core.errors import UserError
from lapestudio.core.language_tables import registry
from lapestudio.core.languages import find_language

# Scripts that are written with several of Unicode's, or with a variant of one.
_WRITTEN_WITH = {
    "Jpan": ("Hira", "Kana", "Hani"), "Hrkt": ("Hira", "Kana"), "Kore": ("Hang", "Hani"), "Hans": ("Hani",),
    "Hant": ("Hani",), "Hanb": ("Hani", "Bopo"), "Latf": ("Latn",), "Latg": ("Latn",), "Cyrs": ("Cyrl",),
    "Aran": ("Arab",), "Geok": ("Geor",),
}  # fmt: skip
_MIN_SHARE = 0.5
_COMMON = "Zyyy"
_LETTER = regex.compile(r"\p{L}")


def script_shares(text: str) -> dict[str, float]:
    """Return the share of each script among the letters of `text`, largest first: Unicode's scripts, as ISO 15924.

    Letters that belong to no script or to many count as none; without letters the result is empty.
    """
    counts = Counter[str]()
    for character, number in Counter(text).items():
        if script := script_of(character):
            counts[script] += number
    total = counts.total()
    return {script: number / total for script, number in counts.most_common()}


def dominant_script(text: str) -> str | None:
    """Return the script of most letters; nothing for text without letters."""
    return next(iter(script_shares(text)), None)


@cache
def script_of(character: str) -> str:
    """Return the script of a letter; empty for what is no letter, or one of many scripts."""
    if character.isascii():
        return "Latn" if character.isalpha() else ""
    if not _LETTER.match(character):
        return ""
    return next((script for script, pattern in _patterns().items() if pattern.match(character)), "")


def unicode_scripts(script: str | None) -> tuple[str, ...]:
    """Return the scripts of Unicode that an ISO 15924 script is written with; none for an unknown one."""
    if script is None:
        return ()
    return _WRITTEN_WITH.get(script, (script,))


@cache
def scripts_of_language(language: str) -> frozenset[str]:
    """Return Unicode's scripts for all usual scripts of a language; empty where they are not known."""
    try:
        found = find_language(language)
    except UserError:
        return frozenset()
    return frozenset(script for one in found.scripts or (found.script,) for script in unicode_scripts(one))


def fits(text: str, language: str) -> bool:
    """Say whether at least half of the letters of `text` are of a script that the language uses.

    What cannot be judged fits: text without letters, a language whose script is not known.
    """
    wanted = scripts_of_language(language)
    if not wanted:
        return True
    if text.isascii() and "Latn" in wanted:
        return True
    shares = script_shares(text)
    return not shares or sum(share for script, share in shares.items() if script in wanted) >= _MIN_SHARE


@cache
def _patterns() -> dict[str, "regex.Pattern[str]"]:
    patterns = {}
    for script in [*sorted(registry().scripts - _WRITTEN_WITH.keys() - {_COMMON}), "Hira", "Kana", "Hani", "Hang"]:
        try:
            patterns[script] = regex.compile(rf"\p{{sc={script}}}")
        except regex.error:
            continue  # A script that Unicode does not encode yet.
    # The frequent ones first.
    order = ("Latn", "Cyrl", "Arab", "Grek", "Hani", "Deva", "Hang")
    return {script: patterns.pop(script) for script in order if script in patterns} | patterns
