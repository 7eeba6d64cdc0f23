"""Data sets of the Hugging Face hub that have text in very many languages, ready to be chosen for a language.

In: a language. Out: the data sets with their names for it. Forms, licences and the exceptions below are as the data
sets' cards and their users have them; the names in FLORES+ of Filipino, Kurmanji and Konkani are assumed. Which of a
thousand languages a crawl has is not listed here: where one is missing, fetching says which there are.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from lapestudio.core.languages import Language, find_language

_LABELS = {
    "pes_Arab": "fas_Arab", "kor_Kore": "kor_Hang", "tgl_Latn": "fil_Latn", "ori_Orya": "ory_Orya",
    "kur_Latn": "kmr_Latn", "kok_Deva": "gom_Deva", "pus_Arab": "pbt_Arab", "nan_Hans": "nan_Latn",
}  # fmt: skip
"""What the language identification GlotLID calls a language otherwise than ISO 639-3 and ISO 15924 would."""
_FLORES_CODES = {code: label for code, label in _LABELS.items() if code != "pes_Arab"}
_PRIVATE = re.compile("mis|q[a-t]")
_HAN_SCRIPTS = ("_Hans", "_Hant")
_WIKIPEDIAS = {
    "nb": "no", "gsw": "als", "vro": "fiu-vro", "sgs": "bat-smg", "rup": "roa-rup", "yue": "zh-yue",
    "nan": "zh-min-nan", "lzh": "zh-classical", "cbk": "cbk-zam", "nrf": "nrm", "kok": "gom", "fil": "tl",
    "bho": "bh", "egl": "eml", "rgn": "eml",
}  # fmt: skip
"""Editions under other codes than the language's."""
_OPUS_CODES = (
    "af am an ar as az be bg bn br bs ca cs cy da de dz el eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id ig "
    "is it ja ka kk km kn ko ku ky li lt lv mg mk ml mn mr ms mt my nb ne nl nn no oc or pa pl ps pt ro ru rw se sh si "
    "sk sl sq sr sv ta te tg th tk tr tt ug uk ur uz vi wa xh yi yo zh zu"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HubChoice:
    """A data set with the settings for one language."""

    name: str
    """As people call it."""
    about: str
    """What kind of text it has, in one sentence."""
    licence: str
    """As the data set's card states it."""
    dataset: str
    config: str
    split: str
    column: str
    needs_access: bool
    """Whether its conditions have to be accepted on the hub, and a token given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _DataSet:
    name: str
    about: str
    licence: str
    dataset: str
    config: Callable[[Language], str | None]
    column: str
    split: str = "train"
    needs_access: bool = False


def choices_for(language: str) -> list[HubChoice]:
    """Return the data sets that may have text in a language, with their settings for it.

    Args:
        language: BCP-47 tag or name.

    Raises:
        UserError: no such language.
    """
    found = find_language(language)
    if _PRIVATE.match(found.iso639_3):
        return []
    return [
        HubChoice(
            name=one.name,
            about=one.about,
            licence=one.licence,
            dataset=one.dataset,
            config=config,
            split=one.split,
            column=one.column,
            needs_access=one.needs_access,
        )
        for one in _DATA_SETS
        if (config := one.config(found)) is not None
    ]


def _code_with_script(language: Language) -> str:
    return language.flores_code or f"{language.iso639_3}_Latn"


def _glotlid_label(language: Language) -> str:
    code = _code_with_script(language)
    label = _LABELS.get(code, code)
    # One label for Chinese in traditional and in simplified characters.
    return f"{label[:3]}_Hani" if label.endswith(_HAN_SCRIPTS) else label


def _fineweb_config(language: Language) -> str | None:
    # English has a data set of its own.
    return None if language.iso639_3 == "eng" else _glotlid_label(language)


def _flores_config(language: Language) -> str:
    code = _code_with_script(language)
    return _FLORES_CODES.get(code, code)


def _wikipedia_config(language: Language) -> str:
    # Belarusian in the older orthography has an edition of its own.
    code = "be-x-old" if language.code == "be-tarask" else _short_code(language)
    return f"20231101.{_WIKIPEDIAS.get(code, code)}"


def _opus_config(language: Language) -> str | None:
    code = _short_code(language)
    return "-".join(sorted((code, "en"))) if code in _OPUS_CODES.split() else None


def _short_code(language: Language) -> str:
    """Return the two-letter code where there is one."""
    return language.code.partition("-")[0]


_DATA_SETS = (
    _DataSet(
        name="FineWeb-2",
        about="Web pages in more than a thousand languages, cleaned.",
        licence="ODC-By 1.0",
        dataset="HuggingFaceFW/fineweb-2",
        config=_fineweb_config,
        column="text",
    ),
    _DataSet(
        name="GlotCC",
        about="Web pages in more than a thousand languages, many of them small.",
        licence="CC0 1.0",
        dataset="cis-lmu/GlotCC-V1",
        config=lambda language: _glotlid_label(language).replace("_", "-"),
        column="content",
    ),
    _DataSet(
        name="Wikipedia",
        about="All articles of the language's Wikipedia.",
        licence="CC BY-SA 3.0 and GFDL",
        dataset="wikimedia/wikipedia",
        config=_wikipedia_config,
        column="text",
    ),
    _DataSet(
        name="FLORES+",
        about="About two thousand sentences in more than two hundred languages, for testing rather than training.",
        licence="CC BY-SA 4.0",
        dataset="openlanguagedata/flores_plus",
        config=_flores_config,
        column="text",
        split="dev",
        needs_access=True,
    ),
    _DataSet(
        name="OPUS-100",
        about="Sentences with English translations, for a hundred languages.",
        licence="not known; see the data set's card",
        dataset="Helsinki-NLP/opus-100",
        config=_opus_config,
        column="translation",
    ),
)
