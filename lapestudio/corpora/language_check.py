"""Text to the language that it looks like: a check of what the user has named, never a gate.

Source: py3langid, a naive Bayes model over byte n-grams of 140 languages that comes in its package. It is right for
single sentences in 95 of 100 cases and for ten joined ones nearly always, so ten are judged at a time. Of the
declaration of human rights in the 63 languages that it knows, all are named rightly as a whole, and 609 of 612 pieces
of ten lines; the others are Indonesian taken for Malay. It may have been trained on these texts, so that others will
fare a little worse. Languages that it does not know are taken for relatives with great certainty: of such a language
nothing is said.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Any, Literal

from lapestudio.core.errors import UserError
from lapestudio.core.languages import find_language, same_language
from lapestudio.corpora.script_check import dominant_script, fits, scripts_of_language, unicode_scripts

Outcome = Literal["agrees", "close", "differs", "unsure", "unknown"]
UNDETERMINED = "und"
"""Stands among languages for pieces that look like none."""
_SENTENCES_TOGETHER = 10
_LIKELY = 0.9
_ENOUGH_LETTERS = 100
_CLEAR_SHARE = 0.6
_MIN_LETTERS = 30
_SURE = 0.95
# Written so alike, at least at times, that one must not be called wrong for looking like the other.
_ALIKE = (
    frozenset({"nob", "nno", "dan"}),
    frozenset({"hrv", "bos", "srp", "hbs", "cnr"}),
    frozenset({"ind", "zsm", "zlm"}),
    frozenset({"zul", "xho", "nbl", "ssw"}),
    frozenset({"sot", "nso", "tsn"}),
    frozenset({"cmn", "wuu", "yue", "lzh"}),
    frozenset({"arb", "ary", "arz"}),
    frozenset({"heb", "hbo"}),
    frozenset({"uzn", "uzs"}),
)
_LOCK = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageVerdict:
    """What a text looks like beside what it is said to be."""

    outcome: Outcome
    """agrees; close: a language so alike that the checker cannot tell; differs; unsure: no clear majority or too little
    text; unknown: the checker does not know the language, or not in this script, so that nothing follows from what it
    sees."""
    looks_like: str | None
    """BCP-47 tag of the likeliest language; nothing where the checker does not know the language, or sees none."""
    shares: dict[str, float]
    """Share of the judged pieces by language, the largest first; `UNDETERMINED` for those that look like none."""


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
    if top == UNDETERMINED:
        return LanguageVerdict(outcome="unsure", looks_like=None, shares=shares)
    outcome = _outcome(top, language, "\n".join(sample), is_clear=_share_of_alike(top, shares) >= _CLEAR_SHARE)
    return LanguageVerdict(outcome=outcome, looks_like=None if outcome == "unknown" else top, shares=shares)


def _outcome(found: str, language: str, text: str, *, is_clear: bool) -> Outcome:
    if same_language(found, language):
        return "agrees"
    if _are_alike(found, language):
        return "close"
    if _is_in_another_script(text, language):
        return "unknown"
    is_enough = sum(map(str.isalpha, text)) >= _ENOUGH_LETTERS
    return "differs" if is_clear and is_enough else "unsure"


def _share_of_alike(top: str, shares: Mapping[str, float]) -> float:
    """Return the share of a language and of all that it is easily taken for."""
    return sum(share for code, share in shares.items() if code == top or _are_alike(code, top))


def identify(texts: Sequence[str]) -> dict[str, float]:
    """Return the share of the votes by language, the largest first: each ten segments have one vote.

    A piece that looks like none, or like a language that is not written in its script, votes for `UNDETERMINED`.
    """
    num_pieces = max(1, round(len(texts) / _SENTENCES_TOGETHER))
    bounds = [number * len(texts) // num_pieces for number in range(num_pieces + 1)]
    pieces = ["\n".join(texts[start:end]) for start, end in pairwise(bounds) if end > start]
    votes = Counter(map(_vote, pieces))
    return {code: number / votes.total() for code, number in votes.most_common()}


def _vote(text: str) -> str:
    found, certainty = _classify(text)
    if certainty < _LIKELY:
        # Languages that are alike divide it among them.
        certainty = _share_of_alike(found, dict(_identifier().rank(text)))
    return found if certainty >= _LIKELY and fits(text, found) else UNDETERMINED


def knows(language: str) -> bool:
    """Say whether the checker has a model of a language; most are known in their usual script alone."""
    return _iso(language) in _known()


def is_surely_other(text: str, language: str) -> bool:
    """Say whether a single segment is in another language, as far as that can be said at all.

    Never for a language that the checker does not know or not in this script, for fewer than 30 letters, nor for
    languages much alike.
    """
    if not knows(language) or sum(map(str.isalpha, text)) < _MIN_LETTERS:
        return False
    found, certainty = _classify(text)
    if certainty < _SURE or same_language(found, language) or _are_alike(found, language):
        return False
    return fits(text, found) and not _is_in_another_script(text, language)


def _is_in_another_script(text: str, language: str) -> bool:
    """Say whether a language is written in the script of `text`, but not usually: the checker may not know it so."""
    script = dominant_script(text)
    iso639_3 = _iso(language)
    if script is None or iso639_3 is None:
        return False
    usual = unicode_scripts(find_language(iso639_3).script)
    written = scripts_of_language(iso639_3) | scripts_of_language(language)
    return script in written and script not in usual


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
