"""Neuron indices by language and layer: put together, taken apart, and checked.

In and out: nested tuples of int64 arrays, [language][layer] -> ascending indices. `neuron_set` keeps them.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from lapestudio.core.errors import UserError

LayerIndices = tuple[npt.NDArray[np.int64], ...]


def split_by_layer(flat: npt.NDArray[np.int64], num_layers: int, intermediate_size: int) -> LayerIndices:
    """Return the neuron indices of each layer, from ascending flat indices (layer * intermediate_size + neuron)."""
    bounds = np.searchsorted(flat, np.arange(num_layers + 1) * intermediate_size).tolist()
    return tuple(flat[bounds[layer] : bounds[layer + 1]] - layer * intermediate_size for layer in range(num_layers))


def split_by_length(indices: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> tuple[LayerIndices, ...]:
    """Cut joined indices into [language][layer] views.

    Args:
        indices: (total,) int64.
        lengths: (num_languages, num_layers) int64, their sum is `total`.
    """
    bounds = [0, *np.cumsum(lengths).tolist()]
    parts = [indices[start:stop] for start, stop in pairwise(bounds)]
    num_layers = lengths.shape[1]
    return tuple(tuple(parts[first : first + num_layers]) for first in range(0, len(parts), num_layers))


def join(neurons: Sequence[LayerIndices]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return all indices in one new int64 array, and their (num_languages, num_layers) int64 lengths.

    Raises:
        ValueError: an array has more than one axis, or other things than whole numbers in it.
    """
    parts = [np.asarray(layer) for language in neurons for layer in language]
    for place, part in enumerate(parts):
        if part.ndim != 1 or (part.size and not np.issubdtype(part.dtype, np.integer)):
            language, layer = divmod(place, len(neurons[0]))
            raise ValueError(f"language number {language + 1}, layer {layer} is no list of whole numbers")
    lengths = np.array([len(part) for part in parts], dtype=np.int64)
    # An empty array of the right format: without neurons there would be nothing to join.
    joined = np.concatenate([np.zeros(0, dtype=np.int64), *parts]).astype(np.int64)
    return joined, lengths.reshape(len(neurons), -1)


def check_ascending(
    indices: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    intermediate_size: int,
    languages: Sequence[str],
) -> None:
    """Make sure that joined indices are in range, and ascending and distinct within each language and layer.

    Raises:
        ValueError: they are not; the message names the first offending language and layer.
    """
    places = np.repeat(np.arange(lengths.size), lengths.ravel())
    outside = (indices < 0) | (indices >= intermediate_size)
    if outside.any():
        first = int(outside.argmax())
        where = _where(int(places[first]), lengths.shape[1], languages)
        raise ValueError(f"{where}: neuron {indices[first]} is not one of 0 to {intermediate_size - 1}")
    falling = (np.diff(indices) <= 0) & (np.diff(places) == 0)
    if falling.any():
        first = int(falling.argmax())
        where = _where(int(places[first]), lengths.shape[1], languages)
        raise ValueError(f"{where}: neuron {indices[first + 1]} follows {indices[first]}, but indices must ascend")


def draw_anywhere(own: LayerIndices, intermediate_size: int, generator: np.random.Generator) -> LayerIndices:
    """Draw as many distinct neurons as `own` has, uniformly from all layers; those of `own` may be among them."""
    total = sum(len(layer) for layer in own)
    flat = generator.choice(len(own) * intermediate_size, size=total, replace=False)
    return split_by_layer(np.sort(flat).astype(np.int64), len(own), intermediate_size)


def draw_layer_matched(own: LayerIndices, intermediate_size: int, generator: np.random.Generator) -> LayerIndices:
    """Draw in each layer as many distinct neurons as `own` has there, none of its own.

    Raises:
        UserError: a layer has too few others.
    """
    drawn = []
    for layer, neurons in enumerate(own):
        others = np.setdiff1d(np.arange(intermediate_size), neurons, assume_unique=True)
        if len(others) < len(neurons):
            raise UserError(
                f"Layer {layer} has {len(others)} neurons outside the set, too few for a control of {len(neurons)}: "
                "draw from the whole model instead, or select fewer neurons."
            )
        drawn.append(np.sort(generator.choice(others, size=len(neurons), replace=False)).astype(np.int64))
    return tuple(drawn)


def _where(place: int, num_layers: int, languages: Sequence[str]) -> str:
    language, layer = divmod(place, num_layers)
    return f"language {languages[language]}, layer {layer}"
