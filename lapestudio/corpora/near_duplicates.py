"""Segments that are nearly the same as an earlier one, found by MinHash with banding.

Source: Broder 1997; Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, chapter 3. The parameters are ours: eight
bands of eight values notice 99 % of the pairs with a Jaccard similarity of 0.9, 77 % at 0.8 and 3 % at 0.5.
"""

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

    def is_new(self, text: str) -> bool:
        """Remember a segment and say whether it resembles none before it; those under five characters never do."""
        folded = " ".join(text.split()).casefold()[:_MAX_CHARACTERS]
        if len(folded) < _GRAM:
            return True
        keys = self._band_keys(folded)
        known = [not seen.add(keys[band : band + 1])[0] for band, seen in enumerate(self._seen)]
        return not any(known)

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
