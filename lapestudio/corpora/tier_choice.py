"""Which tier of an annotation file holds the running text, by its name, type, language and what is in it.

Linguists name tiers after habits of their tools: tx, ref, utt for the text, ft for a free translation, mb, ge, ps for
morphemes, glosses and parts of speech; others name them after the speaker or the language.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lapestudio.core.errors import UserError
from lapestudio.core.language_tables import fold
from lapestudio.core.languages import find_language, same_language

_TEXT_WORDS = frozenset({
    "tx", "text", "txt", "texte", "texto", "utt", "utterance", "utterances", "phrase", "phrases", "frase", "frases",
    "sentence", "sentences", "satz", "saetze", "oracion", "enonce", "ortho", "orth", "orthography", "orthographic",
    "transcription", "transcript", "transcripcion", "transcricao", "speech", "spch",
})  # fmt: skip
# Where there is a text besides, the reference tier holds names of records.
_REFERENCE_WORDS = frozenset({"ref", "reference"})
_OTHER_WORDS = frozenset({
    "ft", "fe", "fn", "fg", "nt", "free", "trans", "translation", "translations", "trad", "traduction", "traduccion",
    "traducao", "uebersetzung", "ubersetzung", "lit", "literal", "gls", "gloss", "glosses", "ge", "gn", "mb",
    "mp", "mot", "mots", "morph", "morpheme", "morphemes", "msa", "cf", "hn", "ps", "pos", "word", "words", "token",
    "tokens", "lemma", "phone", "phones", "phon", "phoneme", "phonemes", "phonetic", "phonetics", "ipa", "syllable",
    "syllables", "syll", "tone", "tones", "ton", "tobi", "seg", "segnum", "segment", "segments", "note", "notes",
    "comment", "comments", "cmt", "rem", "remark", "remarks", "id", "code", "codes", "gesture", "gestures", "gaze",
    "noise", "topic", "participant",
})  # fmt: skip
# ELAN gives these types to tiers that nobody has given a type.
_GENERIC_KINDS = frozenset({"", "default", "default lt"})
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[^\W\d_]+")
_FULL_LENGTH = 20
_FEW = 0.1
_SHARED_TIME = 0.3
_HALF = 0.5
_LOOKED_AT = 8
_PRIVATE = re.compile(r"q[a-t][a-z]|mis|und|mul|zxx")

Span = tuple[float, float]


@dataclass(slots=True, kw_only=True)
class Tier:
    """What is known of a tier."""

    name: str
    kind: str = ""
    """Its linguistic type, where the format has such."""
    is_top: bool = True
    texts: Sequence[str] = ()
    spans: Sequence[Span] = ()
    """Of `texts`; empty where they have no times."""
    running_text: float = field(init=False)
    """Number of characters, where those in labels of a word or less count little."""

    def __post_init__(self) -> None:
        self.running_text = sum(len(text) * min(1.0, len(text) / _FULL_LENGTH) for text in self.texts)


def text_tiers(tiers: Sequence[Tier], language: str | None = None) -> frozenset[str]:
    """Return the names of the tiers that are read when the user has not chosen.

    Tiers that are named after the wanted language win, then those with a usual name for text, then top-level tiers
    without a usual name for something else; among those that are left the one with most running text, and those of
    other speakers: with the same type or name, or that speak by turns with it.

    Args:
        tiers: all of a file.
        language: BCP-47 tag of the wanted language.
    """
    filled = [tier for tier in tiers if tier.texts]
    filled = [tier for tier in filled if _names_language(tier, language)] or filled
    wishes: tuple[Callable[[Tier], bool], ...] = (
        lambda tier: not _is_other(tier) and bool(_words(tier) & _TEXT_WORDS),
        lambda tier: not _is_other(tier) and bool(_words(tier) & _REFERENCE_WORDS),
        lambda tier: not _is_other(tier) and tier.is_top,
        lambda tier: not _is_other(tier),
        lambda _tier: True,
    )
    for wish in wishes:
        candidates = [tier for tier in filled if wish(tier)]
        if candidates:
            return frozenset(tier.name for tier in _most_text(candidates))
    return frozenset()


def _most_text(tiers: Sequence[Tier]) -> Sequence[Tier]:
    """Return the tier with most running text, or those of several speakers that come near it together.

    A translation of it all, on one tier, may well be longer, and mostly stands after what it translates.
    """
    longest = sorted(tiers, key=lambda tier: tier.running_text, reverse=True)[:_LOOKED_AT]
    most = longest[0].running_text
    groups = [group for group in (_speakers_beside(one, tiers) for one in longest) if len(group) > 1]
    sizes = [sum(tiers[place].running_text for place in group) for group in groups]
    first = [(group[0], -size, group) for group, size in zip(groups, sizes, strict=True) if size > _HALF * most]
    return [tiers[place] for place in min(first)[2]] if first else longest[:1]


def _speakers_beside(one: Tier, tiers: Sequence[Tier]) -> list[int]:
    """Return the places of a tier and of those of other speakers, among which none is the translation of another."""
    group = [one]
    for tier in tiers:
        if tier is not one and all(_is_other_speaker(tier, member) for member in group):
            group.append(tier)
    return [place for place, tier in enumerate(tiers) if any(tier is member for member in group)]


def surely_another(stated: str | None, wanted: str | None) -> bool:
    """Say whether what a file states as a language rules out the wanted one.

    Words that no table knows, and codes for private use on either side, rule out nothing: small languages go by them.
    """
    if not stated or not wanted or same_language(stated, wanted):
        return False
    return _is_public(stated) and _is_public(wanted)


def _is_public(code: str) -> bool:
    try:
        return _PRIVATE.fullmatch(find_language(code).iso639_3) is None
    except UserError:
        return False


def _words(tier: Tier) -> frozenset[str]:
    return frozenset(_WORD.findall(fold(f"{_spaced(tier.name)} {_spaced(tier.kind)}")))


def _spaced(name: str) -> str:
    """Return a name without what follows an @, the speaker, and with its parts asunder."""
    return _HUMP.sub(" ", name.partition("@")[0])


def _is_other(tier: Tier) -> bool:
    return bool(_words(tier) & _OTHER_WORDS)


def _names_language(tier: Tier, language: str | None) -> bool:
    if language is None:
        return False
    words = frozenset(_WORD.findall(fold(_spaced(tier.name)))) - _OTHER_WORDS - _TEXT_WORDS - _REFERENCE_WORDS
    return any(len(word) > 1 and same_language(word, language) for word in words)


def _is_other_speaker(tier: Tier, other: Tier) -> bool:
    if tier.is_top != other.is_top:
        return False
    if fold(_spaced(tier.kind)) not in _GENERIC_KINDS:
        return tier.kind == other.kind
    if tier.kind != other.kind:
        return False
    if tier.name.partition("@")[0] == other.name.partition("@")[0]:
        return True
    if not tier.spans:
        # Without types and times, tiers with different names for text are versions of one text.
        return not (_words(tier) | _words(other)) & (_TEXT_WORDS | _REFERENCE_WORDS)
    less, more = sorted([tier.running_text, other.running_text])
    return less > _FEW * more and _shared_time(tier, other) < _SHARED_TIME


def _shared_time(one: Tier, other: Tier) -> float:
    """Return for how much of the shorter tier's time both have something to say, from 0 to 1."""
    edges = [(edge, step) for start, end in one.spans for edge, step in ((start, 1), (end, -1))]
    edges += [(edge, 2 * step) for start, end in other.spans for edge, step in ((start, 1), (end, -1))]
    shared, now, since = 0.0, 0, 0.0
    for edge, step in sorted(edges):
        shared += edge - since if now == 3 else 0.0  # noqa: PLR2004 - both of 1 and 2
        now, since = now + step, edge
    shorter = min(sum(end - start for start, end in tier.spans) for tier in (one, other))
    return shared / shorter if shorter > 0 else 1.0
