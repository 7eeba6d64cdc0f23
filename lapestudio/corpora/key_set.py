"""Which of a stream of keys came before: a set of 64-bit numbers at eight bytes each, looked up in batches."""

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
_LONGEST_MERGED = 1 << 21
"""Longer runs stay as they are: merging them would need their memory once more."""


class KeySet:
    """Sorted runs of keys, the long ones first; so few runs are searched and little is copied.

    Ten million keys take 80 MB and a little more while two runs are merged; a Python set takes ten times as much.
    """

    def __init__(self) -> None:
        self._runs: list[Keys] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def contains(self, keys: Keys) -> NDArray[np.bool_]:
        """Return (num_keys,) whether each key is in the set."""
        found = np.zeros(len(keys), dtype=bool)
        for run in self._runs:
            places = np.searchsorted(run, keys)
            places[places == len(run)] = 0
            found |= run[places] == keys
        return found

    def add(self, keys: Keys) -> NDArray[np.bool_]:
        """Add keys and return (num_keys,) whether each is new: not in the set, nor earlier among `keys`."""
        if not len(keys):
            return np.zeros(0, dtype=bool)
        distinct, first = np.unique(keys, return_index=True)
        is_new = np.zeros(len(keys), dtype=bool)
        is_new[first] = True
        known = self.contains(distinct)
        is_new[first[known]] = False
        fresh = distinct[~known]
        if len(fresh):
            self._runs.append(fresh)
            while len(self._runs) > 1 and self._are_to_be_merged(len(self._runs[-2]), len(self._runs[-1])):
                last, before = self._runs.pop(), self._runs.pop()
                merged = np.concatenate([before, last])
                merged.sort()
                self._runs.append(merged)
        return is_new

    @staticmethod
    def _are_to_be_merged(before: int, last: int) -> bool:
        return 2 * last > before and before <= _LONGEST_MERGED
