"""The tables of ISO 639-3 and of scripts and endonyms to one registry in memory, for `languages.py` to search.

They are read at the first use: about 8,000 languages under 25,000 codes and names.
"""

import importlib.util
import json
import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from lapestudio.core.resources import resources_folder

RIGHT_TO_LEFT_SCRIPTS = frozenset(
    {"Adlm", "Arab", "Hebr", "Mand", "Nkoo", "Rohg", "Samr", "Sogd", "Syrc", "Thaa", "Yezi"}
)
DEFAULT_INDIVIDUALS = {
    "ara": "arb", "aym": "ayr", "aze": "azj", "est": "ekk", "fas": "pes", "grn": "gug", "lav": "lvs", "mlg": "plt",
    "mon": "khk", "msa": "zsm", "nep": "npi", "nor": "nob", "orm": "gaz", "que": "quy", "sqi": "als", "swa": "swh",
    "uzb": "uzn", "yid": "ydd", "zho": "cmn",
}  # fmt: skip
"""Which individual language the code of a macrolanguage means; the other macrolanguages stay what they are."""
_FORMER_TAGS = {"iw": "he", "in": "id", "ji": "yi", "jw": "jv", "mo": "ro"}
_MORE_SCRIPTS = frozenset({"Cyrs", "Hani", "Hans", "Hant", "Hira", "Hrkt", "Jpan", "Kana", "Kore", "Latf", "Latg"})
_QUALIFIER = re.compile(r" \((individual language|macrolanguage)\)$")
_PLAIN = (
    str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "\u0131": "i", "æ": "ae", "œ": "oe"})
    # The apostrophes and letters for glottal stops that stand for each other in practice.
    | str.maketrans("-_,;()/", "       ", "'`!.\u2018\u2019\u02bb\u02bc\u01c3")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language as the program knows it."""

    code: str
    """BCP-47 tag: the shortest code, then script, region and variant where they are not the usual ones."""
    name: str
    """In English."""
    endonym: str | None
    """In the language itself."""
    script: str | None
    """ISO 15924 code of the stated script, else of the usual one where it is known."""
    right_to_left: bool
    iso639_3: str
    """The individual language (`ekk` for Estonian); `mis` for private tags that begin with x."""
    scripts: tuple[str, ...] = ()
    """ISO 15924 codes of all scripts that it is written in, the usual or stated one first; empty where not known."""
    macrolanguage: str | None = None
    """ISO 639-3 code of the macrolanguage that it belongs to (`est` for Estonian)."""

    @property
    def flores_code(self) -> str | None:
        """The code of FLORES+, FineWeb-2 and others: `ekk_Latn`; nothing where the script is not known."""
        return None if self.script is None else f"{self.iso639_3}_{self.script}"


@dataclass(slots=True, kw_only=True, eq=False)
class Entry:
    """A language and all that it can be found by."""

    language: Language
    main_name: str
    keys: dict[str, None] = field(default_factory=dict)
    """Folded codes and names, in the order of their weight."""


@dataclass(slots=True, kw_only=True)
class Registry:
    """All languages."""

    entries: list[Entry]
    by_code: dict[str, Entry]
    by_name: dict[str, Entry]
    scripts: frozenset[str]
    withdrawn: dict[str, str]
    """Withdrawn codes without one successor, with what became of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What ISO 639-3 does not say, by BCP-47 tag."""

    names: dict[str, str]
    further_names: dict[str, list[str]]
    endonyms: dict[str, str]
    scripts: dict[str, str]
    further_scripts: dict[str, str]
    known_scripts: frozenset[str]


def fold(text: str) -> str:
    """Return `text` without case, accents and punctuation, for comparing."""
    text = text.casefold()
    if not text.isascii():
        # Vowel signs of Indic scripts have class 0 and stay.
        text = "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
    return " ".join(text.translate(_PLAIN).split())


@cache
def registry() -> Registry:
    """Return the registry; the first call reads the tables.

    Raises:
        FileNotFoundError: the installation is incomplete.
    """
    facts = _facts()
    rows = {row[0]: row for row in _table("iso-639-3.tab") if row[4] != "S"}
    macro_of = {row[1]: row[0] for row in _table("iso-639-3-macrolanguages.tab")}
    names: dict[str, list[str]] = {}
    for code, printed, inverted in _table("iso-639-3_Name_Index.tab"):
        names.setdefault(code, []).extend((printed, inverted))
    entries: list[Entry] = []
    by_code: dict[str, Entry] = {}
    for code, row in rows.items():
        if code in DEFAULT_INDIVIDUALS:
            continue
        macro = macro_of.get(code, "")
        # A macrolanguage and the individual language that it usually means are one entry.
        merged = [row, rows[macro]] if DEFAULT_INDIVIDUALS.get(macro) == code else [row]
        entry = _entry(merged, macro, rows, facts)
        for part in merged:
            codes = [part[3], *part[:3]]
            by_code.update(dict.fromkeys(filter(None, codes), entry))
            entry.keys.update(dict.fromkeys(filter(None, codes)))
            entry.keys.update(dict.fromkeys(map(fold, names.get(part[0], ()))))
        entries.append(entry)
    by_code.update({old: by_code[new] for old, new in _FORMER_TAGS.items()})
    return Registry(
        entries=entries,
        withdrawn=_add_withdrawn(by_code),
        by_code=by_code,
        by_name=_names(entries),
        scripts=_MORE_SCRIPTS | facts.known_scripts,
    )


def _entry(merged: list[list[str]], macro: str, rows: dict[str, list[str]], facts: _Facts) -> Entry:
    """Return the entry of an individual language, with its macrolanguage second in `merged` where they are one."""
    code = next((row[3] for row in merged if row[3]), merged[0][0])
    # Norwegian Bokmål has a tag and a name of its own, Standard Estonian goes by those of Estonian.
    named_by = merged[0] if merged[0][3] else merged[-1]
    name = facts.names.get(code) or _QUALIFIER.sub("", named_by[6])
    tags = (code, merged[0][0])
    family = (macro, rows[macro][3]) if macro else ()
    script = next((facts.scripts[tag] for tag in (*tags, *family) if tag in facts.scripts), None)
    language = Language(
        code=code,
        name=name,
        endonym=next((facts.endonyms[tag] for tag in tags if tag in facts.endonyms), None),
        script=script,
        right_to_left=script in RIGHT_TO_LEFT_SCRIPTS,
        iso639_3=merged[0][0],
        scripts=_scripts(script, [facts.further_scripts.get(tag, "") for tag in tags]),
        macrolanguage=macro or None,
    )
    names = [name, *filter(None, [language.endonym]), *facts.further_names.get(code, ())]
    return Entry(language=language, main_name=fold(name), keys=dict.fromkeys(map(fold, names)))


def _scripts(usual: str | None, further: list[str]) -> tuple[str, ...]:
    listed = [script for scripts in further for script in scripts.split()]
    return tuple(dict.fromkeys(filter(None, [usual, *listed])))


def _names(entries: list[Entry]) -> dict[str, Entry]:
    """Return what each name means: first the main names, then names in the language, then the others."""
    named: dict[str, Entry] = {}
    for entry in entries:
        known = named.get(entry.main_name)
        if known is None or (entry.language.endonym and not known.language.endonym):
            named[entry.main_name] = entry
    for entry in sorted(entries, key=lambda entry: entry.language.endonym is None):
        for key in entry.keys:
            named.setdefault(key, entry)
    return named


def _add_withdrawn(by_code: dict[str, Entry]) -> dict[str, str]:
    """Let withdrawn codes stand for their successors, and return the others with what became of them."""
    rest = {}
    pending = {row[0]: row for row in _table("iso-639-3_Retirements.tab") if row[0] not in by_code}
    for code, row in pending.items():
        successor = row[3]
        while successor in pending:
            successor = pending[successor][3]
        if successor in by_code:
            by_code[code] = by_code[successor]
        else:
            became = " ".join(row[4].split()).rstrip(".") or "no language of this name is recognised any more"
            rest[code] = f"{row[1]}, withdrawn in {row[5][:4]}: {became[0].lower()}{became[1:]}"
    return rest


def _table(name: str) -> list[list[str]]:
    """Return the rows of a table that `python-iso639` brings along.

    Importing that package would build 8,000 objects that are not needed here, and stall the window for 0.15 s.

    Raises:
        FileNotFoundError: the package is missing or has another layout.
    """
    spec = importlib.util.find_spec("iso639")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("LAPE Studio is not installed completely: the package python-iso639 is missing.")
    lines = (Path(spec.origin).parent / "_data" / name).read_text(encoding="utf-8").split("\n")
    return [line.rstrip("\r").split("\t") for line in lines[1:] if line]


def _facts() -> _Facts:
    table = json.loads((resources_folder() / "languages.json").read_text(encoding="utf-8"))
    scripts = {tag: script for script, tags in table["scripts"].items() for tag in tags.split()}
    return _Facts(
        names=table["names"],
        further_names=table["further_names"],
        endonyms=table["endonyms"],
        scripts=scripts,
        further_scripts=table["further_scripts"],
        known_scripts=frozenset(table["scripts"]),
    )
