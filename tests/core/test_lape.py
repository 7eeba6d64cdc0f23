import json
import math
import time
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lapestudio.core.errors import UserError
from lapestudio.core.lape import Selection, Selector, activation_probabilities, lape_scores, select_neurons
from tests.core import naive_lape

Counted = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


@st.composite
def counted(draw: st.DrawFn) -> Counted:
    """Small counts with many ties, silent neurons and languages of different sizes."""
    num_layers, width, num_languages = draw(st.tuples(st.integers(1, 3), st.integers(1, 8), st.integers(2, 5)))
    num_tokens = draw(hnp.arrays(np.int64, num_languages, elements=st.integers(1, 12)))
    raw = draw(hnp.arrays(np.int64, (num_layers, width, num_languages), elements=st.integers(0, 12)))
    return np.minimum(raw, num_tokens), num_tokens


rates = st.floats(0.01, 1.0)
quantiles = st.floats(0.01, 0.99)


def places(selection: Selection) -> dict[tuple[int, int], list[int]]:
    rows = zip(selection.neurons.tolist(), selection.members, strict=True)
    return {divmod(flat, selection.intermediate_size): np.flatnonzero(row).tolist() for flat, row in rows}


def same(first: Selection, second: Selection) -> bool:
    return (
        np.array_equal(first.neurons, second.neurons)
        and np.array_equal(first.members, second.members)
        and (first.threshold, first.highest_score, first.notices)
        == (second.threshold, second.highest_score, second.notices)
    )


def test_scores_of_known_neurons() -> None:
    probabilities = np.array([[[0.5, 0.0], [0.2, 0.2], [0.0, 0.0], [0.3, 0.1]]])
    scores = lape_scores(probabilities)
    expected = [0.0, math.log(2), math.inf, -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))]
    np.testing.assert_allclose(scores, [expected], rtol=0, atol=1e-15)
    assert scores.dtype == np.float64


def test_selection_by_hand() -> None:
    # Ten of twelve probabilities are at or under 0.5 (k = round(0.8 * 12) = 10): only 0.8 and 0.9 exceed the bar.
    over_zero = np.array([[[8, 0, 0], [1, 1, 1]], [[5, 5, 9], [0, 0, 5]]])
    selection = Selector(over_zero, np.array([10, 10, 10])).select(top_rate=0.5, activity_quantile=0.8)
    assert selection.threshold == 0.5
    assert places(selection) == {(0, 0): [0], (1, 0): [2]}
    assert [[layer.tolist() for layer in language] for language in selection.by_language()] == [
        [[0], []],
        [[], []],
        [[], [0]],
    ]
    assert selection.dense_members().sum() == 2
    assert selection.dense_members()[1, 0, 2]
    assert selection.highest_score == pytest.approx(naive_lape.entropy([0.5, 0.5, 0.9]))


@given(counted(), rates, quantiles)
@settings(deadline=None)
def test_equals_the_naive_rule(data: Counted, top_rate: float, quantile: float) -> None:
    over_zero, num_tokens = data
    bar, expected = naive_lape.select(over_zero.tolist(), num_tokens.tolist(), top_rate, quantile)
    selection = Selector(over_zero, num_tokens).select(top_rate, quantile)
    assert selection.threshold == bar
    assert places(selection) == expected


@given(counted(), rates, quantiles)
@settings(deadline=None)
def test_both_ways_select_alike(data: Counted, top_rate: float, quantile: float) -> None:
    over_zero, num_tokens = data
    probabilities = activation_probabilities(over_zero, num_tokens)
    once = select_neurons(probabilities, top_rate=top_rate, activity_quantile=quantile)
    selector = Selector(over_zero, num_tokens)
    assert same(once, selector.select(top_rate, quantile))
    np.testing.assert_array_equal(selector.scores, lape_scores(probabilities))


@given(counted(), rates, rates, quantiles)
@settings(deadline=None)
def test_sets_are_nested_and_everyone_has_a_language(
    data: Counted, first: float, second: float, quantile: float
) -> None:
    selector = Selector(*data)
    small, large = (selector.select(rate, quantile) for rate in sorted((first, second)))
    assert places(small).items() <= places(large).items()
    assert small.members.any(axis=1).all()
    assert large.members.any(axis=1).all()
    num_active = int((activation_probabilities(*data) > small.threshold).any(axis=2).sum())
    assert small.num_selected == min(num_active, round(min(first, second) * data[0][..., 0].size))


@given(counted(), rates, quantiles, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_languages_does_not_matter(
    data: Counted, top_rate: float, quantile: float, random: Random
) -> None:
    over_zero, num_tokens = data
    order = list(range(len(num_tokens)))
    random.shuffle(order)
    plain = Selector(over_zero, num_tokens).select(top_rate, quantile)
    shuffled = Selector(over_zero[..., order], num_tokens[order]).select(top_rate, quantile)
    np.testing.assert_array_equal(shuffled.neurons, plain.neurons)
    np.testing.assert_array_equal(shuffled.members, plain.members[:, order])


@pytest.mark.parametrize("percent", [1, 5])
def test_equals_the_published_selection(shared_dir: Path, percent: int) -> None:
    reference = shared_dir / "reference"
    with np.load(reference / "mistral7b_mgsm_full_counts.npz") as arrays:
        over_zero, num_tokens, languages = arrays["over_zero"], arrays["tokens"], arrays["languages"].tolist()
    published = json.loads((reference / f"mistral7b_mgsm_full_selection_{percent}pct.json").read_text("utf-8"))
    selection = Selector(over_zero, num_tokens, languages).select(top_rate=percent / 100)
    ours = [[layer.tolist() for layer in language] for language in selection.by_language()]
    assert dict(zip(languages, ours, strict=True)) == published["neurons"]
    assert selection.num_selected == round(percent / 100 * 32 * 14_336)
    # The published arithmetic is float32.
    assert selection.threshold == pytest.approx(published["threshold"], abs=1e-7)
    assert selection.highest_score == pytest.approx(published["boundary_entropy"], abs=1e-6)
    assert same(selection, select_neurons(over_zero / num_tokens, top_rate=percent / 100))


def test_equals_go_to_the_lower_index_whatever_rounding_says() -> None:
    # The same three shares in each order: rounding gives their entropies different last bits.
    orders = [(7, 3, 1), (1, 3, 7), (3, 7, 1), (7, 1, 3), (1, 7, 3), (3, 1, 7)]
    over_zero = np.array([orders])
    for kept in range(1, 7):
        selection = Selector(over_zero, np.array([11, 11, 11])).select(kept / 6, 0.3)
        assert selection.neurons.tolist() == list(range(kept))


def test_a_silent_neuron_is_never_selected() -> None:
    over_zero = np.array([[[0, 0], [3, 1], [2, 2]]])
    selection = Selector(over_zero, np.array([4, 4])).select(top_rate=1.0, activity_quantile=0.01)
    assert selection.neurons.tolist() == [1, 2]
    assert any("1 of 3 neurons never fired" in notice for notice in selection.notices)


def test_no_tokens_name_the_language() -> None:
    over_zero, num_tokens = np.zeros((1, 2, 3), dtype=np.int64), np.array([5, 0, 5])
    with pytest.raises(UserError, match="No tokens were counted for cy"):
        Selector(over_zero, num_tokens, ["mt", "cy", "is"])
    with pytest.raises(UserError, match="No tokens were counted for language number 2"):
        activation_probabilities(over_zero, num_tokens)
    with np.errstate(invalid="ignore"):
        undefined = over_zero / num_tokens
    with pytest.raises(UserError, match="probabilities of cy are not numbers"):
        select_neurons(undefined, languages=["mt", "cy", "is"])
    with pytest.raises(UserError, match="language number 2"):
        lape_scores(undefined)


@pytest.mark.parametrize("count", [-1, 6])
def test_impossible_counts_name_the_language(count: int) -> None:
    over_zero = np.array([[[1, 1], [1, count]]])
    for function in (Selector, activation_probabilities):
        with pytest.raises(UserError, match="counts of cy are damaged"):
            function(over_zero, np.array([5, 5]), ["mt", "cy"])


def test_one_language_is_too_few() -> None:
    with pytest.raises(UserError, match="at least two"):
        Selector(np.ones((1, 2, 1), dtype=np.int64), np.array([5]))
    with pytest.raises(UserError, match="at least two"):
        select_neurons(np.full((1, 2, 1), 0.5))


@pytest.mark.parametrize(("rate", "quantile"), [(0.0, 0.5), (1.5, 0.5), (0.5, 0.0), (0.5, 1.0), (math.nan, 0.5)])
def test_settings_out_of_range(rate: float, quantile: float) -> None:
    probabilities = np.full((1, 2, 2), 0.5)
    with pytest.raises(UserError, match="must lie"):
        select_neurons(probabilities, top_rate=rate, activity_quantile=quantile)
    with pytest.raises(UserError, match="must lie"):
        Selector(np.ones((1, 2, 2), dtype=np.int64), np.array([2, 2])).select(rate, quantile)


def test_wrong_shapes_and_values_are_faults_of_the_program() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        lape_scores(np.full((1, 2, 2), 1.5))
    with pytest.raises(ValueError, match="num_layers"):
        lape_scores(np.full((2, 2), 0.5))
    with pytest.raises(ValueError, match="token numbers"):
        Selector(np.ones((1, 2, 2), dtype=np.int64), np.array([2, 2, 2]))
    with pytest.raises(ValueError, match="3 names for 2"):
        Selector(np.ones((1, 2, 2), dtype=np.int64), np.array([2, 2]), ["a", "b", "c"])


def test_notices() -> None:
    over_zero = np.array([[[4, 1], [2, 1], [1, 1], [1, 1]]])
    selector = Selector(over_zero, np.array([10, 10]), ["mt", "cy"])
    few, ties, without = selector.select(top_rate=0.75, activity_quantile=0.3).notices
    assert few.startswith("Only 2 of the 3 wanted neurons")
    assert ties.startswith("4 activation probabilities tie with the bar of 0.1")
    assert without.startswith("No neuron was selected for cy;")
    assert selector.select(top_rate=0.01, activity_quantile=0.8).notices[0].startswith("The share to keep is less than")


def test_no_notice_where_all_is_well() -> None:
    over_zero = np.array([[[9, 1], [2, 8], [3, 4], [5, 6]]])
    assert Selector(over_zero, np.array([10, 11])).select(0.5, 0.6).notices == ()


@pytest.mark.slow
def test_the_sliders_are_quick() -> None:
    num_layers, width, num_languages = 32, 14_336, 100
    generator = np.random.default_rng(0)
    num_tokens = generator.integers(1_000_000, 13_000_000, num_languages)
    over_zero = np.empty((num_layers, width, num_languages), dtype=np.int64)
    for layer in over_zero:
        activity = generator.beta(0.5, 3, (width, 1)) * generator.random((width, num_languages), dtype=np.float32)
        layer[:] = activity * num_tokens
    selector = Selector(over_zero, num_tokens)
    times = []
    for rate, quantile in [(0.05, 0.95), (0.01, 0.99), (0.2, 0.8), (0.05, 0.5), (0.5, 0.5)]:
        start = time.perf_counter()
        selection = selector.select(rate, quantile)
        times.append(time.perf_counter() - start)
        assert selection.num_selected == round(rate * num_layers * width)
    assert sorted(times)[len(times) // 2] < 0.1
