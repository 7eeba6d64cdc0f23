"""Which tier of an annotation file holds the running text, by its name, its type and what is in it.

Linguists name tiers after habits of their tools: tx, ref, utt for the text, ft for a free translation, mb, ge, ps for
morphemes, glosses and parts of speech.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_TEXT_NAMES = ("tx", "text", "txt", "utt", "utterance", "ref", "phrase", "sentence", "ortho", "orth", "transcription")
_OTHER_NAMES = (
    "ft", "fe", "fn", "fg", "nt", "free", "trans", "translation", "trad", "gls", "gloss", "ge", "gn", "mb", "mp", "mot",
    "morph", "morpheme", "ps", "pos", "phone", "phones", "phon", "note", "notes", "comment", "cmt", "rem", "id", "seg",
    "tone", "ton",
)  # fmt: skip
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """What is known of a tier."""

    name: str
    kind: str = ""
    """Its linguistic type, where the format has such."""
    is_top: bool = True
    texts: Sequence[str] = ()


def text_tiers(tiers: Sequence[Tier]) -> frozenset[str]:
    """Return the names of the tiers that are read when the user has not chosen.

    Tiers with a usual name for text win; then top-level tiers with another name; among those that are left the one with
    most running text, and all with the same type as it (one a speaker).
    """
    filled = [tier for tier in tiers if tier.texts]
    for candidates in (
        [tier for tier in filled if _is_named(tier, _TEXT_NAMES)],
        [tier for tier in filled if tier.is_top and not _is_named(tier, _OTHER_NAMES)],
        [tier for tier in filled if not _is_named(tier, _OTHER_NAMES)],
        filled,
    ):
        if candidates:
            best = max(candidates, key=_running_text)
            return frozenset(
                tier.name
                for tier in candidates
                if tier is best or (_stem(tier) == _stem(best) and tier.is_top == best.is_top)
            )
    return frozenset()


def _stem(tier: Tier) -> str:
    """Return what the tiers of several speakers have in common: the type, or the name before the @."""
    return tier.kind or tier.name.partition("@")[0]


def _is_named(tier: Tier, names: Sequence[str]) -> bool:
    words = _WORD.findall(f"{tier.name.partition('@')[0]} {tier.kind}".casefold())
    return any(word in names for word in words)


def _running_text(tier: Tier) -> int:
    """Return the number of words in the tier's texts of several words; tiers of single words count little."""
    lengths = [len(text.split()) for text in tier.texts]
    return sum(length for length in lengths if length > 1) * 1000 + sum(lengths)
