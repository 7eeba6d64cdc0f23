"""Make `resources/languages.json`: usual scripts, names in the languages themselves, and everyday English names.

A maintainer's command, needed only when Unicode CLDR has news: `pip install babel gflanguages`, then run it without
arguments.
The codes and the names of ISO 639-3 come from `python-iso639` at run time and are not in the table.
"""

import importlib.util
import json
from pathlib import Path

from babel import Locale, localedata
from babel.core import get_global
from iso639 import ALL_LANGUAGES

TABLE = Path(__file__).resolve().parent.parent / "resources" / "languages.json"
SCRIPT_LENGTH = 4
# CLDR drops the word for "language" where speakers would not.
ENDONYMS = {"id": "Bahasa Indonesia", "jv": "Basa Jawa", "ms": "Bahasa Melayu", "ny": "Chichewa", "nb": "norsk bokmål"}
# Names in everyday use that neither ISO 639-3 nor CLDR gives.
EVERYDAY_NAMES = {
    "az": ["Azeri"],
    "ckb": ["Sorani"],
    "fa": ["Farsi"],
    "ff": ["Fula", "Fulfulde"],
    "fy": ["Frisian"],
    "hak": ["Hakka"],
    "ilo": ["Ilocano"],
    "kmr": ["Kurmanji"],
    "nan": ["Hokkien"],
    "nb": ["Bokmål"],
    "nds": ["Plattdeutsch"],
    "nn": ["Nynorsk"],
    "pms": ["Piedmontese"],
    "rom": ["Romani"],
    "se": ["Northern Saami", "Saami, North", "Sami", "Saami"],
    "sl": ["Slovene"],
    "ti": ["Tigrigna"],
    "yue": ["Cantonese"],
    "zh": ["Mandarin"],
}


def scripts() -> dict[str, str]:
    """Return for each script the tags of the languages usually written in it, separated by spaces; may be none."""
    by_script: dict[str, list[str]] = {}
    for tag, likely in get_global("likely_subtags").items():
        by_script.update({part: [] for part in tag.split("_") if len(part) == SCRIPT_LENGTH and part not in by_script})
        if "_" not in tag and tag != "und":
            by_script.setdefault(likely.split("_")[1], []).append(tag)
    return {script: " ".join(sorted(tags)) for script, tags in sorted(by_script.items())}


def further_scripts() -> dict[str, str]:
    """Return by tag the scripts besides the usual one that a language is written in, separated by spaces."""
    # Importing it would need more packages; only its files are wanted.
    spec = importlib.util.find_spec("gflanguages")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install gflanguages")
    folder = Path(spec.origin).parent / "data" / "languages"
    found: dict[str, set[str]] = {}
    for file in folder.glob("*_*.textproto"):
        tag, _underscore, script = file.stem.partition("_")
        if len(script) == SCRIPT_LENGTH:
            found.setdefault(tag, set()).add(script)
    usual = {tag: script for script, tags in scripts().items() for tag in tags.split()}
    further = {tag: " ".join(sorted(all_of_it - {usual.get(tag)})) for tag, all_of_it in sorted(found.items())}
    return {tag: listed for tag, listed in further.items() if listed}


def endonyms() -> dict[str, str]:
    """Return the languages' names in themselves by tag."""
    names = {}
    for tag in localedata.locale_identifiers():
        if "_" not in tag and (name := Locale(tag).languages.get(tag)):
            names[tag] = name
    return dict(sorted({**names, **ENDONYMS}.items()))


def english_names() -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return by tag the names to show for those with a bracket in ISO 639-3, and names to be found by."""
    shown: dict[str, str] = {}
    further = {tag: list(names) for tag, names in EVERYDAY_NAMES.items()}
    cldr = Locale("en").languages
    for language in ALL_LANGUAGES:
        tag = language.part1 or language.part3
        name = cldr.get(tag)
        if language.status != "A" or name is None:
            continue
        iso_names = {language.name, *(other.print for other in language.other_names or ())}
        if "(" in language.name:
            shown[tag] = name
        elif name not in iso_names:
            further.setdefault(tag, []).append(name)
    return dict(sorted(shown.items())), dict(sorted(further.items()))


def main() -> None:
    """Write the table."""
    names, further_names = english_names()
    table = {
        "source": "Facts from Unicode CLDR (Unicode License v3), gflanguages (Apache-2.0) and everyday use.",
        "names": names,
        "further_names": further_names,
        "endonyms": endonyms(),
        "scripts": scripts(),
        "further_scripts": further_scripts(),
    }
    TABLE.write_text(json.dumps(table, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")
    print(f"{TABLE}: {', '.join(f'{len(part)} {name}' for name, part in table.items() if name != 'source')}")


if __name__ == "__main__":
    main()
