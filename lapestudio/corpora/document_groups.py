"""Documents to groups of near copies: editions, mirrors, the same page fetched twice.

Source: MinHash with banding as in `near_duplicates`, over the sentences of a document instead of runs of characters.
Six bands of six values bring together 99 % of the pairs with nine tenths of their sentences in common, 84 % with eight
tenths, 9 % with half.
"""

import numpy as np
from numpy.typing import NDArray

from lapestudio.corpora.text_key import scramble

_BANDS = 6
_ROWS = 6
_MIN_SEGMENTS = 4
"""Shorter documents have too little in common unless they are equal."""


def group_documents(text_keys: NDArray[np.uint64], document_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (num_documents,) for each document the first one of its group.

    Args:
        text_keys: (num_segments,).
        document_of: (num_segments,) number of the document that each segment belongs to, counted from 0 without gaps;
            never decreasing.
    """
    sizes = np.bincount(document_of)
    groups = np.arange(len(sizes))
    long = np.flatnonzero(sizes >= _MIN_SEGMENTS)
    if len(long) < 2:  # noqa: PLR2004
        return groups
    keys = text_keys[sizes[document_of] >= _MIN_SEGMENTS]
    starts = np.concatenate([[0], np.cumsum(sizes[long])[:-1]])
    bands = [_band(keys, starts, band) for band in range(_BANDS)]
    groups[long] = long[_joined(bands)]
    return groups


def _band(keys: NDArray[np.uint64], starts: NDArray[np.int64], band: int) -> NDArray[np.int64]:
    """Return (num_documents,) numbers that are equal for documents which agree in all values of a band."""
    combined = np.zeros(len(starts), dtype=np.uint64)
    for row in range(_ROWS):
        smallest = np.minimum.reduceat(scramble(keys, band * _ROWS + row), starts)
        combined = scramble(combined ^ smallest, row)
    return np.unique(combined, return_inverse=True)[1].astype(np.int64)


def _joined(bands: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return (num_documents,) the smallest number among all that are linked by any chain of equal band values."""
    smallest = np.arange(len(bands[0]))
    while True:
        before = smallest
        for band in bands:
            of_value = np.full(len(smallest), len(smallest))
            np.minimum.at(of_value, band, smallest)
            smallest = of_value[band]
        # Long chains get short.
        smallest = smallest[smallest]
        if np.array_equal(smallest, before):
            return smallest
