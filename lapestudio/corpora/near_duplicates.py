"""Segments that are nearly the same as an earlier one, found by MinHash with banding.

Source: Broder 1997; Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, chapter 3. The parameters are ours: eight
bands of eight values notice 99 % of the pairs with a Jaccard similarity of 0.9, 77 % at 0.8 and 3 % at 0.5.
A segment costs the same however many came before it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lapestudio.corpora.key_set import KeySet

_GRAM = 5
_BANDS = 8
_ROWS = 8
_MAX_CHARACTERS = 20_000
_PRIME = np.uint64(0x9E3779B97F4A7C15)


class NearDuplicates:
    """Remembers segments, 64 bytes each."""

    def __init__(self) -> None:
        generator = np.random.default_rng(7)
        # Odd multipliers permute the 64-bit numbers.
        self._multipliers = generator.integers(1, 2**63, size=_BANDS * _ROWS, dtype=np.uint64) | np.uint64(1)
        self._band_multipliers = generator.integers(1, 2**63, size=_ROWS, dtype=np.uint64) | np.uint64(1)
        self._seen = [KeySet() for _band in range(_BANDS)]

    def are_new(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Remember segments and return (num_texts,) whether each resembles none before it, earlier ones here included.

        Those under five characters resemble none.
        """
        folded = [" ".join(text.split()).casefold()[:_MAX_CHARACTERS] for text in texts]
        places = [place for place, text in enumerate(folded) if len(text) >= _GRAM]
        is_new = np.ones(len(texts), dtype=bool)
        if places:
            keys = np.stack([self._band_keys(folded[place]) for place in places])  # (texts, bands)
            is_new[places] = np.all([seen.add(keys[:, band]) for band, seen in enumerate(self._seen)], axis=0)
        return is_new

    def _band_keys(self, text: str) -> NDArray[np.uint64]:
        """Return (bands,) uint64."""
        grams = np.unique(_gram_hashes(text))
        with np.errstate(over="ignore"):
            mixed = grams[:, None] * self._multipliers[None, :]  # (grams, bands * rows)
            mixed ^= mixed >> np.uint64(31)
            signature = (mixed * _PRIME).min(axis=0).reshape(_BANDS, _ROWS)
            keys: NDArray[np.uint64] = (signature * self._band_multipliers).sum(axis=1, dtype=np.uint64)
        return keys


def _gram_hashes(text: str) -> NDArray[np.uint64]:
    """Return a number for each run of five characters."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    hashes = np.zeros(len(codes) - _GRAM + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for offset in range(_GRAM):
            hashes = hashes * np.uint64(1_000_003) + codes[offset : len(codes) - _GRAM + 1 + offset]
            hashes ^= hashes >> np.uint64(29)
    return hashes
