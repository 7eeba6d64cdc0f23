"""One corpus to two: text to train on and text to validate on, which have no sentence in common.

The corpus is read twice and never held in memory, as long as it is given as something that can be read again.
"""

import hashlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapestudio.core.errors import UserError
from lapestudio.corpora.segment import Segment

MIN_DOCUMENTS = 20
"""From so many documents on, whole documents are held out: their sentences resemble each other."""
_MAX_OVERSHOOT = 1.5


class SegmentView:
    """The segments on one side of a split, picked out of the whole corpus each time it is gone through."""

    def __init__(self, segments: Iterable[Segment], held_out: frozenset[int], *, validation: bool, size: int) -> None:
        self._segments = segments
        self._held_out = held_out
        self._validation = validation
        self._size = size

    def __iter__(self) -> Iterator[Segment]:
        for segment in self._segments:
            if (_text_key(segment.text) in self._held_out) == self._validation:
                yield segment

    def __len__(self) -> int:
        return self._size


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Two views that together hold every segment of the corpus once, in its order."""

    training: SegmentView
    validation: SegmentView


def split_segments(segments: Iterable[Segment], *, validation_share: float, seed: int) -> Split:
    """Hold out a share of a corpus for validation.

    The same text and seed give the same split, wherever the files lie and in whatever order they come. Segments that
    are equal but for case and spacing stay on one side. Documents stay whole where there are `MIN_DOCUMENTS` of them,
    except for sentences that occur in other documents too: those are trained on.

    Args:
        segments: a list or another collection that can be gone through again; of an iterator a list is made.
        validation_share: wanted share of the characters, in (0, 1).
        seed: picks one of the possible splits.

    Raises:
        ValueError: `validation_share` is out of range.
        UserError: fewer than two different segments.
    """
    if not 0 < validation_share < 1:
        raise ValueError(f"validation_share must lie between 0 and 1, not {validation_share}")
    corpus = list(segments) if isinstance(segments, Iterator) else segments
    survey = _survey(corpus)
    if len(np.unique(survey.text_keys)) < 2:  # noqa: PLR2004 - one for each side
        raise UserError(
            "The text is too short to hold some of it out for validation: it has fewer than two different segments; "
            "add text, or choose separate files for validation."
        )
    held_out = _hold_out_documents(survey, validation_share, seed)
    if not len(held_out):
        held_out = _choose(survey.text_keys, survey.lengths, validation_share, seed)
    size = int(np.isin(survey.text_keys, held_out).sum())
    keys = frozenset(held_out.tolist())
    return Split(
        training=SegmentView(corpus, keys, validation=False, size=len(survey.text_keys) - size),
        validation=SegmentView(corpus, keys, validation=True, size=size),
    )


def leave_out(segments: Iterable[Segment], held_out: Iterable[Segment]) -> tuple[SegmentView, int]:
    """Return the segments whose text does not occur in `held_out`: what is validated on must not be trained on.

    Args:
        segments: as in `split_segments`.
        held_out: read once.

    Returns:
        The other segments, and how many were left out.
    """
    corpus = list(segments) if isinstance(segments, Iterator) else segments
    keys = frozenset(_text_key(segment.text) for segment in held_out)
    is_left_out = [_text_key(segment.text) in keys for segment in corpus]
    num_left_out = sum(is_left_out)
    return SegmentView(corpus, keys, validation=False, size=len(is_left_out) - num_left_out), num_left_out


@dataclass(frozen=True, slots=True, kw_only=True)
class _Survey:
    """What has to be known of each segment to split: (num_segments,) each."""

    text_keys: NDArray[np.uint64]
    document_keys: NDArray[np.uint64]
    lengths: NDArray[np.int64]


def _survey(segments: Iterable[Segment]) -> _Survey:
    text_keys, lengths, document_of, document_keys = array("Q"), array("q"), array("q"), array("Q")
    document, contents = None, hashlib.blake2b(digest_size=8)
    for segment in segments:
        if segment.document != document:
            if document is not None:
                document_keys.append(int.from_bytes(contents.digest(), "little"))
            document, contents = segment.document, hashlib.blake2b(digest_size=8)
        key = _text_key(segment.text)
        contents.update(key.to_bytes(8, "little"))
        text_keys.append(key)
        lengths.append(len(segment.text))
        document_of.append(len(document_keys))
    document_keys.append(int.from_bytes(contents.digest(), "little"))
    return _Survey(
        text_keys=np.array(text_keys, dtype=np.uint64),
        document_keys=np.array(document_keys, dtype=np.uint64)[np.array(document_of, dtype=np.int64)],
        lengths=np.array(lengths, dtype=np.int64),
    )


def _hold_out_documents(survey: _Survey, share: float, seed: int) -> NDArray[np.uint64]:
    """Return the keys of the segments that only held-out documents have; none where there are too few documents."""
    if len(np.unique(survey.document_keys)) < MIN_DOCUMENTS:
        return np.empty(0, dtype=np.uint64)
    documents = _choose(survey.document_keys, survey.lengths, share, seed)
    inside = np.isin(survey.document_keys, documents)
    return np.setdiff1d(survey.text_keys[inside], survey.text_keys[~inside])


def _choose(keys: NDArray[np.uint64], lengths: NDArray[np.int64], share: float, seed: int) -> NDArray[np.uint64]:
    """Choose some of the distinct keys, in a random order, so that about `share` of the characters belong to them.

    Args:
        keys: (num_segments,) what each segment belongs to; at least two different ones.
        lengths: (num_segments,) characters of each segment.
        share: wanted share of the characters.
        seed: picks the order.

    Returns:
        The chosen keys: at least one, and never all.
    """
    units, unit_of = np.unique(keys, return_inverse=True)
    sizes = np.bincount(unit_of, weights=lengths)
    target = share * sizes.sum()
    chosen: list[int] = []
    total = 0.0
    # A unit that overshoots the target by far is passed over for a smaller one.
    for unit in np.argsort(_scramble(units, seed), kind="stable").tolist():
        if total >= target or len(chosen) == len(units) - 1:
            break
        if total + sizes[unit] <= _MAX_OVERSHOOT * target:
            chosen.append(unit)
            total += sizes[unit]
    return units[chosen or [int(sizes.argmin())]]


def _text_key(text: str) -> int:
    """Return 64 bits that equal texts share; case and spacing make no difference."""
    folded = " ".join(text.split()).casefold()
    return int.from_bytes(hashlib.blake2b(folded.encode("utf-8"), digest_size=8).digest(), "little")


def _scramble(keys: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """Return a sort key for each key that depends on it and the seed alone, so that adding text moves little.

    Source: the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
    """
    mixed = keys + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
