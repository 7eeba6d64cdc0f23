"""A text to 64 bits that equal texts share: what duplicates are found by."""

from collections.abc import Sequence

import numpy as np
import xxhash
from numpy.typing import NDArray

from lapestudio.corpora.segment import Segment


def text_key(text: str) -> int:
    """Return 64 bits; case and spacing make no difference, and the same text gives the same key everywhere."""
    # Clean text has single spaces already, and this is asked of every segment of a corpus.
    if "  " in text or not text.isprintable() or text[:1] == " " or text[-1:] == " ":
        text = " ".join(text.split())
    folded = text.lower() if text.isascii() else text.casefold()
    return xxhash.xxh3_64_intdigest(folded.encode("utf-8", "surrogatepass"))


def text_keys(segments: Sequence[Segment]) -> NDArray[np.uint64]:
    """Return (num_segments,) the keys of their texts."""
    return np.fromiter((text_key(segment.text) for segment in segments), dtype=np.uint64, count=len(segments))


def scramble(keys: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """Return a sort key for each key that depends on it and the seed alone, so that adding text moves little.

    Source: the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
    """
    mixed = keys + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
