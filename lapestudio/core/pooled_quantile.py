"""Order statistics over all activation probabilities at once, for the selection's bar.

In: activation counts and token numbers. Out: the k-th smallest of the pooled probabilities, exactly as sorting all of
them in float64 would give it. It stands between the counts and the selection, and makes the sliders quick.
"""

import numpy as np
import numpy.typing as npt

# So many values are gathered and partitioned; more are halved further first.
_FEW = 200_000


class PooledProbabilities:
    """Every language's counts, sorted once; a rank is then found by bisection over the languages together.

    Counts of one language divide by the same number of tokens, so their order is the order of the probabilities; no
    probability is stored. int32 suffices for any corpus below two billion tokens: 184 MB for 45.9 million values, where
    one sorted float64 array takes 367 MB and a sorted float32 array cannot give the exact value.

    Args:
        over_zero: (num_layers, intermediate_size, num_languages) int, not negative.
        num_tokens: (num_languages,) int, positive.
    """

    def __init__(self, over_zero: npt.NDArray[np.integer], num_tokens: npt.NDArray[np.integer]) -> None:
        num_layers, intermediate_size, num_languages = over_zero.shape
        fits = int(num_tokens.max()) <= np.iinfo(np.int32).max
        self._sorted = np.empty((num_languages, num_layers * intermediate_size), dtype=np.int32 if fits else np.int64)
        self._num_tokens = num_tokens.astype(np.int64)
        for layer in range(num_layers):
            self._sorted[:, layer * intermediate_size : (layer + 1) * intermediate_size] = over_zero[layer].T
        for counts in self._sorted:
            counts.sort()

    @property
    def size(self) -> int:
        """How many probabilities there are."""
        return self._sorted.size

    @property
    def lowest_counts(self) -> npt.NDArray[np.int64]:
        """(num_languages,) int64: each language's smallest count."""
        return self._sorted[:, 0].astype(np.int64)

    @property
    def highest_counts(self) -> npt.NDArray[np.int64]:
        """(num_languages,) int64: each language's largest count."""
        return self._sorted[:, -1].astype(np.int64)

    def kth_smallest(self, k: int) -> float:
        """Return the k-th smallest probability, k from 1 to `size`."""
        low, high = 0.0, float((self.highest_counts / self._num_tokens).max())
        below, upto = self._ranks(low), self._ranks(high)
        if below.sum() >= k:
            return low
        # Always: rank(low) < k <= rank(high).
        while (upto - below).sum() > _FEW:
            middle = low + (high - low) / 2
            if middle in (low, high):
                return high
            ranks = self._ranks(middle)
            if ranks.sum() < k:
                low, below = middle, ranks
            else:
                high, upto = middle, ranks
        parts = zip(self._sorted, below, upto, self._num_tokens, strict=True)
        values = np.concatenate([counts[start:stop] / tokens for counts, start, stop, tokens in parts])
        place = k - 1 - int(below.sum())
        return float(np.partition(values, place)[place])

    def num_at_most(self, value: float) -> int:
        """Return how many probabilities are not above `value` (>= 0)."""
        return int(self._ranks(value).sum())

    def highest_counts_at_most(self, value: float) -> npt.NDArray[np.int64]:
        """Return the (num_languages,) largest counts whose float64 probability is not above `value` (>= 0).

        A count above it has a probability above `value`: membership needs no division.
        """
        tokens = self._num_tokens
        counts: npt.NDArray[np.int64] = np.minimum(np.floor(value * tokens).astype(np.int64), tokens)
        # The product is rounded, and so is the quotient that it must agree with: each moves the count by one at most.
        counts += (counts < tokens) & ((counts + 1) / tokens <= value)
        counts -= counts / tokens > value
        return counts

    def _ranks(self, value: float) -> npt.NDArray[np.int64]:
        # A key of another dtype would make numpy convert the whole sorted array at each call.
        keys = self.highest_counts_at_most(value).astype(self._sorted.dtype)
        pairs = zip(self._sorted, keys, strict=True)
        return np.array([counts.searchsorted(key, side="right") for counts, key in pairs], dtype=np.int64)
