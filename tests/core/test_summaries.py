import numpy as np
import pytest

from lapestudio.core.activation_counts import ActivationCounts
from lapestudio.core.neuron_set import NeuronSet
from lapestudio.core.summaries import (
    binned_map,
    language_map,
    layer_activity,
    neurons_per_layer,
    overlap_matrix,
    score_histogram,
)


@pytest.fixture
def neurons() -> NeuronSet:
    lists = [[[0, 2], [1]], [[2, 3], []], [[2], []]]
    return NeuronSet(
        languages=("mt", "cy", "ka"),
        neurons=tuple(tuple(np.array(layer, dtype=np.int64) for layer in language) for language in lists),
        num_layers=2,
        intermediate_size=4,
    )


def test_neurons_per_layer(neurons: NeuronSet) -> None:
    assert neurons_per_layer(neurons).tolist() == [[2, 1], [2, 0], [1, 0]]


def test_overlap_matrix(neurons: NeuronSet) -> None:
    third = 1 / 3
    np.testing.assert_allclose(overlap_matrix(neurons), [[1, 0.25, third], [0.25, 1, 0.5], [third, 0.5, 1]])


def test_language_map(neurons: NeuronSet) -> None:
    owners = language_map(neurons)
    assert owners.tolist() == [[0, -1, 3, 1], [-1, 0, -1, -1]]
    assert owners.dtype == np.int16


def test_layer_activity() -> None:
    over_zero = np.array([[[4, 0], [2, 0]], [[1, 0], [0, 0]]])
    counts = ActivationCounts(over_zero=over_zero, num_tokens=np.array([4, 0]), languages=("mt", "cy"))
    np.testing.assert_array_equal(layer_activity(counts), [[0.75, np.nan], [0.125, np.nan]])


def test_score_histogram_leaves_silent_neurons_out() -> None:
    numbers, edges = score_histogram(np.array([[0.0, 0.1, np.inf], [1.0, 2.0, np.inf]]), bins=2)
    assert numbers.tolist() == [2, 2]
    assert edges.tolist() == [0.0, 1.0, 2.0]
    assert score_histogram(np.full((2, 2), np.inf), bins=3)[0].tolist() == [0, 0, 0]


def test_binned_map() -> None:
    values = np.array([[1.0, 3.0, 5.0, np.inf, 7.0], [np.nan, np.inf, 0.0, 0.0, 1.0]])
    np.testing.assert_allclose(binned_map(values, 2), [[2.0, 6.0], [np.nan, 1 / 3]])
    np.testing.assert_array_equal(binned_map(values[:, :2], 9), [[1.0, 3.0], [np.nan, np.nan]])


@pytest.mark.parametrize("columns", [1, 3, 7, 10])
def test_binned_map_keeps_each_neuron_once(columns: int) -> None:
    places = np.arange(10.0)[None]
    binned = binned_map(places, columns)
    assert binned.shape == (1, columns)
    assert (np.diff(binned) > 0).all()
    assert binned_map(np.ones((1, 10)), columns).tolist() == [[1.0] * columns]
