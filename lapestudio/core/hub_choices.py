"""Data sets of the Hugging Face hub that have text in very many languages, ready to be chosen for a language.

The names of configurations are those that the data sets use for their languages; where one does not exist for a
language, fetching says which do.
"""

from collections.abc import Callable
from dataclasses import dataclass

from lapestudio.core.language_tables import registry
from lapestudio.core.languages import Language, find_language


@dataclass(frozen=True, slots=True, kw_only=True)
class HubChoice:
    """A data set with the settings for one language."""

    name: str
    """As people call it."""
    about: str
    """What kind of text it has, in one sentence."""
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
    dataset: str
    config: Callable[[Language], str | None]
    column: str
    split: str = "train"
    needs_access: bool = False


def choices_for(language: str) -> list[HubChoice]:
    """Return the data sets that may have text in a language, with their settings for it.

    Args:
        language: BCP-47 tag.

    Raises:
        UserError: no such language.
    """
    found = find_language(language)
    choices = []
    for one in _DATA_SETS:
        config = one.config(found)
        if config is not None:
            choices.append(
                HubChoice(
                    name=one.name,
                    about=one.about,
                    dataset=one.dataset,
                    config=config,
                    split=one.split,
                    column=one.column,
                    needs_access=one.needs_access,
                )
            )
    return choices


def _script(language: Language) -> str:
    return language.script or "Latn"


def _short_code(language: Language) -> str:
    """Return the two-letter code where there is one."""
    return language.code.partition("-")[0]


def _opus_pair(language: Language) -> str | None:
    code = _short_code(language)
    return None if code == "en" else "-".join(sorted((code, "en")))


def _macro_code(language: Language) -> str:
    """Return the three-letter code that GlotCC uses: that of the individual language."""
    return language.iso639_3 if language.iso639_3 in registry().by_code else language.code


_DATA_SETS = (
    _DataSet(
        name="FineWeb-2",
        about="Web pages in more than a thousand languages, cleaned.",
        dataset="HuggingFaceFW/fineweb-2",
        config=lambda language: f"{language.iso639_3}_{_script(language)}",
        column="text",
    ),
    _DataSet(
        name="GlotCC",
        about="Web pages in more than a thousand languages, many of them small.",
        dataset="cis-lmu/GlotCC-V1",
        config=lambda language: f"{_macro_code(language)}-{_script(language)}",
        column="content",
    ),
    _DataSet(
        name="Wikipedia",
        about="All articles of the language's Wikipedia.",
        dataset="wikimedia/wikipedia",
        config=lambda language: f"20231101.{_short_code(language)}",
        column="text",
    ),
    _DataSet(
        name="FLORES+",
        about="About two thousand sentences in more than two hundred languages, for testing rather than training.",
        dataset="openlanguagedata/flores_plus",
        config=lambda language: f"{language.iso639_3}_{_script(language)}",
        column="text",
        split="dev",
        needs_access=True,
    ),
    _DataSet(
        name="OPUS-100",
        about="Sentences with English translations, for a hundred languages.",
        dataset="Helsinki-NLP/opus-100",
        config=_opus_pair,
        column="translation",
    ),
)
