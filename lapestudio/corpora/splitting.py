"""One corpus to text to train on, to validate on and to test with, which have no sentence in common.

The corpus is read twice and never held in memory, as long as it is given as something that can be read again.
"""

import hashlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import compress, islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lapestudio.core.errors import UserError
from lapestudio.corpora.document_groups import group_documents
from lapestudio.corpora.key_set import KeySet
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.text_key import scramble, text_key, text_keys

MIN_DOCUMENTS = 20
"""From so many documents on, whole documents are held out: their sentences resemble each other."""
_MAX_OVERSHOOT = 1.5
_BATCH = 2048


class SegmentView:
    """Some of the segments of a corpus, picked out each time it is gone through.

    Args:
        segments: the corpus.
        keys: text keys, each once.
        inside: whether the segments with these keys are meant, or the others.
        size: how many they are.
    """

    def __init__(self, segments: Iterable[Segment], keys: KeySet, *, inside: bool, size: int) -> None:
        self._segments = segments
        self._keys = keys
        self._inside = inside
        self._size = size

    def __iter__(self) -> Iterator[Segment]:
        stream = iter(self._segments)
        while batch := list(islice(stream, _BATCH)):
            yield from compress(batch, (self._keys.contains(text_keys(batch)) == self._inside).tolist())

    def __len__(self) -> int:
        return self._size


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRecord:
    """What one side of a split holds."""

    num_segments: int
    num_documents: int
    """Documents of which a segment is on this side."""
    num_characters: int
    fingerprint: str
    """16 hex digits that stand for the set of its texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRecord:
    """What a run writes down about its split, so that it can be told whether another one has the same."""

    seed: int
    by: Literal["document", "segment"]
    training: SideRecord
    validation: SideRecord
    test: SideRecord | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Views that together hold every segment of the corpus once, in its order."""

    training: SegmentView
    validation: SegmentView
    test: SegmentView | None
    """Nothing where no share of it was asked for."""
    record: SplitRecord


def split_segments(
    segments: Iterable[Segment], *, validation_share: float, test_share: float = 0.0, seed: int
) -> Split:
    """Hold out shares of a corpus for validation and for a test.

    The same text and seed give the same split, wherever the files lie and in whatever order they come. Segments that
    are equal but for case and spacing stay on one side. Documents stay whole, and together with their near copies,
    where there are `MIN_DOCUMENTS` different ones, except for sentences that occur in other documents too: those are
    trained on.

    Args:
        segments: a list or another collection that can be gone through again; of an iterator a list is made.
        validation_share: wanted share of the characters, in (0, 1).
        test_share: wanted share of the characters, in [0, 1); 0: no test side.
        seed: picks one of the possible splits.

    Raises:
        ValueError: a share is out of range, or the two leave nothing to train on.
        UserError: fewer different segments than sides.
    """
    if not (0 < validation_share < 1 and 0 <= test_share < 1 and validation_share + test_share < 1):
        raise ValueError(f"shares must lie between 0 and 1, not {validation_share} and {test_share}")
    corpus = list(segments) if isinstance(segments, Iterator) else segments
    survey = _survey(corpus)
    num_sides = 3 if test_share else 2
    if len(_distinct(survey.text_keys)) < num_sides:
        raise UserError(
            "The text is too short to hold some of it out for validation: it has fewer than "
            f"{'three' if test_share else 'two'} different segments; add text, or choose separate files for validation."
        )
    by_document = len(_distinct(survey.document_keys)) >= MIN_DOCUMENTS
    test = np.empty(0, dtype=np.uint64)
    if test_share:
        # Another order than that of the validation side, so that asking for a test moves little else.
        test = _hold_out(survey, test_share, seed + 1, by_document=by_document, num_left=2)
    rest = survey.without(test)
    # Of what is left, a larger share makes the same number of characters.
    validation = _hold_out(rest, validation_share / (1 - test_share), seed, by_document=by_document, num_left=1)
    held_out = np.concatenate([test, validation])
    return Split(
        training=_view(corpus, survey, held_out, inside=False),
        validation=_view(corpus, survey, validation, inside=True),
        test=_view(corpus, survey, test, inside=True) if test_share else None,
        record=SplitRecord(
            seed=seed,
            by="document" if by_document else "segment",
            training=_side(survey, held_out, inside=False),
            validation=_side(survey, validation, inside=True),
            test=_side(survey, test, inside=True) if test_share else None,
        ),
    )


def _view(corpus: Iterable[Segment], survey: "_Survey", keys: NDArray[np.uint64], *, inside: bool) -> SegmentView:
    size = int((_key_set(keys).contains(survey.text_keys) == inside).sum())
    return SegmentView(corpus, _key_set(keys), inside=inside, size=size)


def _distinct(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the keys sorted, each once; of millions of numbers numpy's own `unique` takes several times as long."""
    ordered = np.sort(keys)
    is_first = np.ones(len(ordered), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


def _key_set(keys: NDArray[np.uint64]) -> KeySet:
    found = KeySet()
    found.add(keys)
    return found


def _side(survey: "_Survey", keys: NDArray[np.uint64], *, inside: bool) -> SideRecord:
    chosen = _key_set(keys).contains(survey.text_keys) == inside
    distinct = _distinct(survey.text_keys[chosen])
    return SideRecord(
        num_segments=int(chosen.sum()),
        num_documents=int(np.count_nonzero(np.bincount(survey.documents[chosen]))),
        num_characters=int(survey.lengths[chosen].sum()),
        fingerprint=hashlib.blake2b(distinct.tobytes(), digest_size=8).hexdigest(),
    )


def _hold_out(survey: "_Survey", share: float, seed: int, *, by_document: bool, num_left: int) -> NDArray[np.uint64]:
    """Return the keys of the segments to hold out; at least `num_left` other ones remain."""
    if by_document:
        held_out = _hold_out_documents(survey, share, seed)
        if len(held_out) and len(_distinct(survey.without(held_out).text_keys)) >= num_left:
            return held_out
    return _choose(survey.text_keys, survey.lengths, share, seed, num_left=num_left)


def leave_out(segments: Iterable[Segment], held_out: Iterable[Segment]) -> tuple[SegmentView, int]:
    """Return the segments whose text does not occur in `held_out`: what is validated on must not be trained on.

    Args:
        segments: as in `split_segments`.
        held_out: read once.

    Returns:
        The other segments, and how many were left out.
    """
    corpus = list(segments) if isinstance(segments, Iterator) else segments
    keys = _key_set(np.array(array("Q", (text_key(segment.text) for segment in held_out)), dtype=np.uint64))
    num_segments = num_left_out = 0
    stream = iter(corpus)
    while batch := list(islice(stream, _BATCH)):
        num_segments += len(batch)
        num_left_out += int(keys.contains(text_keys(batch)).sum())
    return SegmentView(corpus, keys, inside=False, size=num_segments - num_left_out), num_left_out


@dataclass(frozen=True, slots=True, kw_only=True)
class _Survey:
    """What has to be known of each segment to split: (num_segments,) each."""

    text_keys: NDArray[np.uint64]
    documents: NDArray[np.int64]
    document_keys: NDArray[np.uint64]
    """Equal for documents that are equal or near copies of one another."""
    lengths: NDArray[np.int64]

    def without(self, keys: NDArray[np.uint64]) -> "_Survey":
        """Return the survey of the segments with other keys."""
        left = ~_key_set(keys).contains(self.text_keys)
        return _Survey(
            text_keys=self.text_keys[left],
            documents=self.documents[left],
            document_keys=self.document_keys[left],
            lengths=self.lengths[left],
        )


def _survey(segments: Iterable[Segment]) -> _Survey:
    keys_of_texts, lengths, document_of, document_keys = array("Q"), array("q"), array("q"), array("Q")
    document, contents = None, hashlib.blake2b(digest_size=8)
    for segment in segments:
        if segment.document != document:
            if document is not None:
                document_keys.append(int.from_bytes(contents.digest(), "little"))
            document, contents = segment.document, hashlib.blake2b(digest_size=8)
        key = text_key(segment.text)
        contents.update(key.to_bytes(8, "little"))
        keys_of_texts.append(key)
        lengths.append(len(segment.text))
        document_of.append(len(document_keys))
    document_keys.append(int.from_bytes(contents.digest(), "little"))
    texts, documents = np.array(keys_of_texts, dtype=np.uint64), np.array(document_of, dtype=np.int64)
    return _Survey(
        text_keys=texts,
        documents=documents,
        document_keys=_keys_of_groups(texts, documents, np.array(document_keys, dtype=np.uint64))[documents],
        lengths=np.array(lengths, dtype=np.int64),
    )


def _keys_of_groups(
    texts: NDArray[np.uint64], documents: NDArray[np.int64], document_keys: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Return (num_documents,) a key that does not depend on the order of the documents."""
    if not len(documents):
        return document_keys
    groups = group_documents(texts, documents)
    smallest = document_keys.copy()
    np.minimum.at(smallest, groups, document_keys)
    return smallest[groups]


def _hold_out_documents(survey: _Survey, share: float, seed: int) -> NDArray[np.uint64]:
    """Return the keys of the segments that only held-out documents have; none where all occur elsewhere too."""
    documents = _choose(survey.document_keys, survey.lengths, share, seed, num_left=1)
    inside = _key_set(documents).contains(survey.document_keys)
    held_out = _distinct(survey.text_keys[inside])
    return held_out[~_key_set(survey.text_keys[~inside]).contains(held_out)]


def _choose(
    keys: NDArray[np.uint64], lengths: NDArray[np.int64], share: float, seed: int, *, num_left: int
) -> NDArray[np.uint64]:
    """Choose some of the distinct keys, in a random order, so that about `share` of the characters belong to them.

    Args:
        keys: (num_segments,) what each segment belongs to.
        lengths: (num_segments,) characters of each segment.
        share: wanted share of the characters.
        seed: picks the order.
        num_left: so many keys are not chosen.

    Returns:
        The chosen keys: at least one, but for where there are no more than `num_left`.
    """
    units, unit_of = np.unique(keys, return_inverse=True)
    if len(units) <= num_left:
        return units[:0]
    sizes = np.bincount(unit_of, weights=lengths)
    target = share * sizes.sum()
    chosen: list[int] = []
    total = 0.0
    # A unit that overshoots the target by far is passed over for a smaller one.
    for unit in np.argsort(scramble(units, seed), kind="stable").tolist():
        if total >= target or len(chosen) == len(units) - num_left:
            break
        if total + sizes[unit] <= _MAX_OVERSHOOT * target:
            chosen.append(unit)
            total += sizes[unit]
    return units[chosen or [int(sizes.argmin())]]
