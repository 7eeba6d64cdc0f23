"""What a user types, picks or gives in a file as a language, to a `Language`: codes, tags, names, with slips."""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from lapestudio.core.errors import UserError
from lapestudio.core.language_tables import RIGHT_TO_LEFT_SCRIPTS, Entry, Language, Registry, fold, registry

__all__ = ["Language", "find_language", "private_language", "same_language", "search_languages"]

_PRIVATE_CODE = re.compile(r"q[a-t][a-z](?![a-z0-9])|x(-[a-z0-9]{1,8})+$")
_SCRIPT = re.compile(r"[a-z]{4}")
_REGION = re.compile(r"[a-z]{2}|[0-9]{3}")
_VARIANT = re.compile(r"[a-z0-9]{5,8}|[0-9][a-z0-9]{3}")
_CODE = re.compile(r"[a-z]{2,3}")
_MIN_CLOSE_LENGTH = 3
_LONG_WORD = 6
_NUM_SUGGESTIONS = 3
_SUBTAG = 8
_MOST_SUBTAGS = 4


def find_language(code_or_name: str, *, name: str | None = None) -> Language:
    """Return the language that a code or a name stands for.

    Takes ISO 639-1, 639-2 (both forms) and 639-3 codes, those of macrolanguages, withdrawn ones with one successor,
    BCP-47 tags (`pt-BR`, `zh-Hant`, also written `mlt_Latn`), English names, names in the language, and the private
    tags `qaa` to `qtz` and `x-...`.

    Args:
        code_or_name: as the user or a file says it; case and accents make no difference.
        name: what to call the language: needed to tell private tags apart.

    Raises:
        UserError: no such language; the sentence suggests the nearest ones.
    """
    text = code_or_name.strip()
    language = _known(text)
    if language is None:
        raise UserError(_unknown(text))
    return replace(language, name=name) if name else language


@lru_cache(maxsize=4096)
def same_language(first: str, second: str) -> bool:
    """Say whether two codes, tags or names stand for one language; script and region make no difference.

    What no table knows is compared as it is written.
    """
    one, other = _known(first.strip()), _known(second.strip())
    if one is None or other is None or _is_private(one) or _is_private(other):
        return first.strip().casefold() == second.strip().casefold()
    return one.iso639_3 == other.iso639_3


def private_language(name: str, *, script: str | None = None, taken: Iterable[str] = ()) -> Language:
    """Return a language or variety that has no code, under a private tag made of its name.

    The tag begins with `qaa`, the first of the codes that ISO 639 keeps free for private use, so that it is a language
    for every program; the name follows after x, as BCP 47 wants it: `qaa-x-siltigo`.

    Args:
        name: what its speakers or its researchers call it.
        script: ISO 15924 code, where it is known.
        taken: tags in use; the new one differs from them.

    Raises:
        UserError: the name has no letter, or the script does not exist.
    """
    words = re.findall(r"[a-z0-9]+", fold(name)) or [f"{ord(letter):x}" for letter in fold(name) if letter.isalnum()]
    subtags = [word[start : start + _SUBTAG] for word in words for start in range(0, len(word), _SUBTAG)][
        :_MOST_SUBTAGS
    ]
    if not subtags:
        raise UserError("The name of the language is missing; write how it is called.")
    if script is not None and script not in registry().scripts:
        raise UserError(f'There is no script "{script}"; give its code, such as Latn or Arab.')
    base = "-".join(["qaa", *([script] if script else []), "x", *subtags[:_MOST_SUBTAGS]])
    used, code, number = set(taken), base, 2
    while code in used:
        code, number = f"{base}-{number}", number + 1
    return find_language(code, name=name.strip())


def _is_private(language: Language) -> bool:
    return language.iso639_3 == "mis" or _PRIVATE_CODE.match(language.iso639_3) is not None


def _known(text: str) -> Language | None:
    """Return the language of a tag or a name; nothing where no table has it."""
    language = _by_tag(text)
    if language is None and (entry := registry().by_name.get(fold(text))) is not None:
        language = entry.language
    return language


def search_languages(text: str, limit: int = 20) -> list[Language]:
    """Return the languages whose codes or names fit, best first.

    Exact matches come first, then those that begin with the text, with a word that does, that contain it, and at last
    those that differ from it by a slip or two. Among equals the widely written ones come first.

    Args:
        text: part of a code or name; nothing lists the widely written languages by name.
        limit: at most so many.
    """
    query = fold(text)
    if not query:
        known = (entry.language for entry in registry().entries if entry.language.endonym)
        return sorted(known, key=lambda language: language.name)[:limit]
    exact = _by_tag(text.strip())
    found = [] if exact is None else [exact]
    found += _matches(registry(), query)
    if len(found) < limit:
        found += _close_matches(registry(), query)
    return list({language.code: language for language in found}.values())[:limit]


def _by_tag(text: str) -> Language | None:
    """Return the language of a code or tag; a locale's encoding (`mt_MT.UTF-8`) makes no difference."""
    tag = re.split(r"[.@]", text.replace("_", "-").lower())[0]
    if _PRIVATE_CODE.match(tag):
        base = tag if tag.startswith("x") else tag[:3]
        iso639_3 = "mis" if base.startswith("x") else base
        private = Language(
            code=base, name=f"Private {base}", endonym=None, script=None, right_to_left=False, iso639_3=iso639_3
        )
        found = _with_subtags(private, tag[len(base) + 1 :].split("-"))
        called = tag.partition("-x-")[2]
        # A variety that was given a tag of its name goes by that name.
        return replace(found, name=called.replace("-", " ").title()) if found is not None and called else found
    code, *rest = tag.split("-")
    if rest and _CODE.fullmatch(rest[0]) and len(rest[0]) == 3 and rest[0] in registry().by_code:  # noqa: PLR2004
        # An extended language subtag: zh-yue is yue.
        code, *rest = rest
    entry = registry().by_code.get(code)
    return _with_subtags(entry.language, rest) if entry is not None else None


def _with_subtags(language: Language, subtags: Iterable[str]) -> Language | None:
    """Return `language` narrowed down by script, region and variants, or nothing where the tag is malformed."""
    script, kept = language.script, [language.code]
    listed = [subtag for subtag in subtags if subtag]
    for place, subtag in enumerate(listed):
        if subtag == "x":
            # What follows is private: the name of a variety.
            kept += listed[place:]
            break
        if _SCRIPT.fullmatch(subtag) and subtag.title() in registry().scripts and len(kept) == 1:
            script = subtag.title()
            if script != language.script:
                kept.append(script)
        elif _REGION.fullmatch(subtag):
            kept.append(subtag.upper())
        elif _VARIANT.fullmatch(subtag):
            kept.append(subtag)
        else:
            return None
    if kept == [language.code] and script == language.script:
        return language
    return replace(
        language,
        code="-".join(kept),
        name=f"{language.name} ({', '.join(kept[1:])})",
        endonym=language.endonym if script == language.script else None,
        script=script,
        right_to_left=script in RIGHT_TO_LEFT_SCRIPTS,
        # A script that is stated is the only one.
        scripts=language.scripts if script == language.script or script is None else (script,),
    )


def _matches(languages: Registry, query: str) -> list[Language]:
    """Return the languages with `query` in a code or name, in order."""
    word = f" {query}"
    ranked: list[tuple[tuple[int, bool, bool, int, str], Language]] = []
    for entry in languages.entries:
        best = 4
        main = False
        for key in entry.keys:
            if query not in key:
                continue
            rank = 0 if key == query else 1 if key.startswith(query) else 2 if word in key else 3
            if rank < best:
                best, main = rank, key == entry.main_name
        if best < 4:  # noqa: PLR2004 - no match
            language = entry.language
            ranked.append(((best, language.endonym is None, not main, len(language.name), language.name), language))
    ranked.sort(key=lambda pair: pair[0])
    return [language for _rank, language in ranked]


def _close_matches(languages: Registry, query: str) -> list[Language]:
    """Return the languages with a code or name one slip (two in a long word) away from `query`, nearest first."""
    if len(query) < _MIN_CLOSE_LENGTH:
        return []
    slips = 1 if len(query) < _LONG_WORD else 2
    nearest: dict[Entry, tuple[int, bool, bool, str]] = {}
    for entry, key in _candidates(languages, query, slips):
        distance = _slips_between(query, key, slips)
        if distance <= slips:
            language = entry.language
            rank = (distance, language.endonym is None, sorted(key) != sorted(query), language.name)
            nearest[entry] = min(rank, nearest.get(entry, rank))
    return [entry.language for entry in sorted(nearest, key=nearest.__getitem__)]


def _candidates(languages: Registry, query: str, slips: int) -> Iterable[tuple[Entry, str]]:
    """Yield the keys that may be close: similar in length and letters, which is cheap to see."""
    letters = set(query)
    shortest, longest = len(query) - slips, len(query) + slips
    for entry in languages.entries:
        for key in entry.keys:
            if shortest <= len(key) <= longest and len(letters.symmetric_difference(key)) <= 2 * slips:
                yield entry, key


def _slips_between(first: str, second: str, most: int) -> int:
    """Return how many letters must be changed, dropped, added or swapped with the next; `most` + 1 for any more.

    Source: optimal string alignment distance, row by row.
    """
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, start=1):
        previous, row = row, [i]
        for j, other in enumerate(second, start=1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before = previous
    return row[-1]


def _unknown(text: str) -> str:
    if not text:
        return "The language is missing; give a code such as mt or a name such as Maltese."
    tag = text.lower()
    if tag in registry().withdrawn:
        return f"The language code {tag} is no longer valid ({registry().withdrawn[tag]}); choose another code."
    close = [*_matches(registry(), fold(text)), *_close_matches(registry(), fold(text))]
    suggestions = [f"{language.name} ({language.code})" for language in close[:_NUM_SUGGESTIONS]]
    if not suggestions:
        return f'"{text}" is no known language; give an ISO 639 code such as mt, or an English name such as Maltese.'
    return f'"{text}" is no known language; did you mean {" or ".join(suggestions)}?'
