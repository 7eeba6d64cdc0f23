"""Text to the language that it looks like: a check of what the user has named, never a gate.

Source: py3langid, a naive Bayes model over byte n-grams of 140 languages that comes in its package. It is right for
single sentences in 95 of 100 cases and for ten joined ones nearly always, so ten are judged at a time.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any, Literal

from lapestudio.core.errors import UserError
from lapestudio.core.languages import find_language, same_language

Outcome = Literal["agrees", "close", "differs", "unsure", "unknown"]
_SENTENCES_TOGETHER = 10
_CLEAR_SHARE = 0.6
_MIN_LETTERS = 30
_SURE = 0.95
# Written so alike that the checker takes one for the other.
_ALIKE = (
    frozenset({"nob", "nno", "dan"}),
    frozenset({"hrv", "bos", "srp", "hbs", "cnr"}),
    frozenset({"ind", "zsm", "zlm"}),
    frozenset({"zul", "xho", "nbl", "ssw"}),
)
_LOCK = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageVerdict:
    """What a text looks like beside what it is said to be."""

    outcome: Outcome
    """agrees; close: a language so alike that the checker cannot tell; differs; unsure: no clear majority; unknown: the
    checker does not know the language, so that nothing follows from what it sees."""
    looks_like: str | None
    """BCP-47 tag of the likeliest language; nothing where the checker does not know the language."""
    shares: dict[str, float]
    """Share of the judged pieces by language, the largest first."""


def check(sample: Sequence[str], language: str) -> LanguageVerdict:
    """Compare a sample of segments with the language that they are said to be in.

    Args:
        sample: segments from all over the text.
        language: BCP-47 tag.
    """
    shares = identify(sample)
    top = next(iter(shares), None)
    if not knows(language) or top is None:
        return LanguageVerdict(outcome="unknown", looks_like=None, shares=shares)
    if same_language(top, language):
        outcome: Outcome = "agrees"
    elif _are_alike(top, language):
        outcome = "close"
    else:
        outcome = "differs" if shares[top] >= _CLEAR_SHARE else "unsure"
    return LanguageVerdict(outcome=outcome, looks_like=top, shares=shares)


def identify(texts: Sequence[str]) -> dict[str, float]:
    """Return the share of the votes by language, the largest first: each ten segments have one vote."""
    votes = Counter(
        _classify("\n".join(texts[start : start + _SENTENCES_TOGETHER]))[0]
        for start in range(0, len(texts), _SENTENCES_TOGETHER)
    )
    return {code: number / votes.total() for code, number in votes.most_common()}


def knows(language: str) -> bool:
    """Say whether the checker has a model of a language."""
    return _iso(language) in _known()


def is_surely_other(text: str, language: str) -> bool:
    """Say whether a single segment is in another language, as far as that can be said at all.

    Never for a language that the checker does not know, for fewer than 30 letters, nor for languages much alike.
    """
    if not knows(language) or sum(map(str.isalpha, text)) < _MIN_LETTERS:
        return False
    found, certainty = _classify(text)
    return certainty >= _SURE and not same_language(found, language) and not _are_alike(found, language)


def _classify(text: str) -> tuple[str, float]:
    """Return the likeliest language and how sure that is."""
    code, certainty = _identifier().classify(text)
    return str(code), float(certainty)


@cache
def _identifier_unlocked() -> Any:
    # A model of numpy arrays, read without pickle.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _identifier() -> Any:
    # Loading takes most of a second; two threads must not do it at once.
    with _LOCK:
        return _identifier_unlocked()


@cache
def _known() -> frozenset[str]:
    return frozenset(filter(None, (_iso(str(code)) for code in _identifier().nb_classes)))


@cache
def _iso(language: str) -> str | None:
    try:
        return find_language(language).iso639_3
    except UserError:
        return None


def _are_alike(first: str, second: str) -> bool:
    pair = {_iso(first), _iso(second)}
    return any(pair <= group for group in _ALIKE)
