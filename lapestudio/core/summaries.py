"""Arrays for pictures: what the window draws of counts, scores and neuron sets.

In: `ActivationCounts`, scores, `NeuronSet`. Out: small numpy arrays. Everything is vectorised: the largest models and a
hundred languages are summed up between two movements of a slider.
"""

import numpy as np
import numpy.typing as npt

from lapestudio.core.activation_counts import ActivationCounts, shares
from lapestudio.core.neuron_set import NeuronSet


def neurons_per_layer(neurons: NeuronSet) -> npt.NDArray[np.int64]:
    """Return how many neurons each language has in each layer: (num_languages, num_layers) int64."""
    return neurons.counts()


def overlap_matrix(neurons: NeuronSet) -> npt.NDArray[np.float64]:
    """Return the Jaccard index of each two languages: (num_languages, num_languages) float64, in [0, 1]."""
    return neurons.jaccard()


def language_map(neurons: NeuronSet) -> npt.NDArray[np.int16]:
    """Return whose each neuron is.

    Returns:
        (num_layers, intermediate_size) int16; -1: no language's, k: the k-th language's alone, num_languages: several
        languages'.
    """
    flat, languages = neurons.flat()
    owners = np.full(neurons.num_layers * neurons.intermediate_size, -1, dtype=np.int16)
    owners[flat] = languages
    owners[np.bincount(flat, minlength=len(owners)) > 1] = len(neurons.languages)
    return owners.reshape(neurons.num_layers, neurons.intermediate_size)


def layer_activity(counts: ActivationCounts) -> npt.NDArray[np.float64]:
    """Return the mean activation probability of each layer's neurons.

    Returns:
        (num_layers, num_languages) float64, in [0, 1]; NaN where no token of the language was counted.
    """
    sums = counts.over_zero.sum(axis=1)
    return shares(sums, np.broadcast_to(counts.num_tokens * counts.intermediate_size, sums.shape))


def score_histogram(
    scores: npt.NDArray[np.floating], bins: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return how many neurons have which score; those that never fire (+inf) are left out.

    Args:
        scores: float, nats, of any shape.
        bins: number of equally wide bins from the lowest to the highest score.

    Returns:
        (bins,) int64 numbers of neurons, and (bins + 1,) float64 edges in nats.
    """
    counts, edges = np.histogram(scores[np.isfinite(scores)], bins=bins)
    return counts.astype(np.int64), edges.astype(np.float64)


def binned_map(values: npt.NDArray[np.floating], columns: int) -> npt.NDArray[np.float64]:
    """Shrink a map to the columns that a screen has.

    Args:
        values: (num_layers, intermediate_size) float.
        columns: at most so many are returned; neighbours share a column, as evenly as can be.

    Returns:
        (num_layers, min(columns, intermediate_size)) float64: the mean of the finite values of a column, NaN where none
        is finite.
    """
    width = values.shape[1]
    starts = np.arange(min(columns, width)) * width // min(columns, width)
    is_finite = np.isfinite(values)
    sums = np.add.reduceat(np.where(is_finite, values, 0.0), starts, axis=1, dtype=np.float64)
    numbers = np.add.reduceat(is_finite, starts, axis=1, dtype=np.int64)
    binned: npt.NDArray[np.float64] = np.divide(sums, numbers, out=np.full(sums.shape, np.nan), where=numbers > 0)
    return binned
