"""LAPE, Language Activation Probability Entropy: from activation counts to each language's neurons.

In: how often each neuron was active on each language's tokens. Out: probabilities, entropies, and a `Selection`. Pure
functions for one look (`select_neurons`), and a `Selector` that sorts once for many (the sliders); both give the same.

Source: Tang et al. 2024 (arXiv 2402.16438), in the form of arXiv 2510.13580. A neuron that never fires scores +inf here
(the public code gives it 0, the most specific score of all), and probabilities that are not numbers are refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lapestudio.core.errors import UserError
from lapestudio.core.neuron_indices import LayerIndices, split_by_layer
from lapestudio.core.pooled_quantile import PooledProbabilities
from lapestudio.core.selection_notices import language_name, on_bar, on_languages, on_scores

DEFAULT_TOP_RATE = 0.05
DEFAULT_ACTIVITY_QUANTILE = 0.95
MIN_LANGUAGES = 2
_NUM_AXES = 3
_PIECE = 1024
# Entropies that differ by less come from rounding, which the processor and the order of the languages decide.
_SAME_SCORE_NATS = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selection:
    """The neurons that are specific to languages.

    Attributes:
        num_layers: layers of the model.
        intermediate_size: neurons of a layer.
        neurons: (num_selected,) int64, ascending flat indices: layer * intermediate_size + neuron.
        members: (num_selected, num_languages) bool: whether the neuron belongs to the language; no row is empty.
        threshold: the bar that an activation probability must exceed to count as active.
        highest_score: the highest entropy among the kept neurons, nats; None where none is kept.
        notices: what the user should know, in plain words.
    """

    num_layers: int
    intermediate_size: int
    neurons: npt.NDArray[np.int64]
    members: npt.NDArray[np.bool_]
    threshold: float
    highest_score: float | None
    top_rate: float
    activity_quantile: float
    notices: tuple[str, ...]

    @property
    def num_selected(self) -> int:
        """How many distinct neurons are kept."""
        return len(self.neurons)

    @property
    def num_languages(self) -> int:
        """How many languages were compared."""
        return int(self.members.shape[1])

    def by_language(self) -> tuple[LayerIndices, ...]:
        """Return [language][layer] -> ascending int64 neuron indices; empty places are kept."""
        # One language's column in a row of its own: 100 strided passes would take four times as long.
        by_language = np.ascontiguousarray(self.members.T)
        return tuple(
            split_by_layer(self.neurons[members], self.num_layers, self.intermediate_size) for members in by_language
        )

    def dense_members(self) -> npt.NDArray[np.bool_]:
        """Return (num_layers, intermediate_size, num_languages) bool."""
        dense = np.zeros((self.num_layers * self.intermediate_size, self.num_languages), dtype=np.bool_)
        dense[self.neurons] = self.members
        return dense.reshape(self.num_layers, self.intermediate_size, self.num_languages)


def activation_probabilities(
    over_zero: npt.NDArray[np.integer], num_tokens: npt.NDArray[np.integer], languages: Sequence[str] = ()
) -> npt.NDArray[np.float64]:
    """Return how probable it is that a neuron is active on a token of each language.

    Args:
        over_zero: (num_layers, intermediate_size, num_languages) int, tokens on which the neuron was active.
        num_tokens: (num_languages,) int, counted tokens.
        languages: their names, for messages.

    Returns:
        (num_layers, intermediate_size, num_languages) float64, in [0, 1].

    Raises:
        UserError: a language has no tokens, or more active tokens than tokens; the message names it.
        ValueError: the shapes do not agree.
    """
    _check_tokens(over_zero, num_tokens, languages)
    _check_counts(over_zero.min(axis=(0, 1)), over_zero.max(axis=(0, 1)), num_tokens, languages)
    probabilities: npt.NDArray[np.float64] = over_zero / num_tokens
    return probabilities


def lape_scores(activation_probs: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Return the entropy of each neuron's activation over the languages.

    Args:
        activation_probs: (num_layers, intermediate_size, num_languages) float, in [0, 1].

    Returns:
        (num_layers, intermediate_size) float64, nats, in [0, ln num_languages]: low = specific; +inf where the neuron
        never fires.

    Raises:
        UserError: fewer than two languages, or a language whose probabilities are not numbers.
        ValueError: not three axes, or a value outside [0, 1].
    """
    _check_probabilities(activation_probs, ())
    return np.stack([_layer_scores(layer) for layer in activation_probs])


def select_neurons(
    activation_probs: npt.NDArray[np.floating],
    *,
    top_rate: float = DEFAULT_TOP_RATE,
    activity_quantile: float = DEFAULT_ACTIVITY_QUANTILE,
    languages: Sequence[str] = (),
) -> Selection:
    """Select each language's neurons by the published rule.

    The bar is the k-th smallest of all n probabilities, k = round(activity_quantile * n) and at least 1. Neurons that
    exceed it for no language are dropped; of the others the round(top_rate * neurons) with the lowest entropy are kept
    (of equals the lower flat index), each for every language for which it exceeds the bar.

    Args:
        activation_probs: (num_layers, intermediate_size, num_languages) float, in [0, 1].
        top_rate: share of all neurons to keep (rho), in (0, 1].
        activity_quantile: in (0, 1) (tau).
        languages: their names, for messages.

    Raises:
        UserError: fewer than two languages, probabilities that are not numbers, a setting out of range.
        ValueError: not three axes, or a value outside [0, 1].
    """
    _check_settings(top_rate, activity_quantile)
    _check_probabilities(activation_probs, languages)
    probabilities = np.ascontiguousarray(activation_probs, dtype=np.float64)
    scores = lape_scores(probabilities)
    rank = _rank(activity_quantile, probabilities.size)
    threshold = float(np.partition(probabilities, rank - 1, axis=None)[rank - 1])
    kept = _lowest(_ranked(scores), probabilities.max(axis=2).ravel() > threshold, _num_wanted(top_rate, scores.size))
    return _selection(
        scores,
        kept,
        probabilities.reshape(-1, probabilities.shape[2])[kept] > threshold,
        threshold=threshold,
        num_ties=int(np.count_nonzero(probabilities <= threshold)) - rank,
        top_rate=top_rate,
        activity_quantile=activity_quantile,
        languages=languages,
    )


class Selector:
    """Selects again and again from the same counts; sorting is done once, here.

    Args:
        over_zero: (num_layers, intermediate_size, num_languages) int, active tokens; it is kept, not copied, and must
            not change.
        num_tokens: (num_languages,) int, counted tokens.
        languages: their names, for messages.

    Attributes:
        scores: (num_layers, intermediate_size) float64, nats, as `lape_scores` gives them.

    Raises:
        UserError: fewer than two languages, one without tokens, one with more active tokens than tokens.
        ValueError: the shapes do not agree.
    """

    def __init__(
        self, over_zero: npt.NDArray[np.integer], num_tokens: npt.NDArray[np.integer], languages: Sequence[str] = ()
    ) -> None:
        _check_tokens(over_zero, num_tokens, languages)
        self._languages = tuple(languages)
        self._pool = PooledProbabilities(over_zero, num_tokens)
        _check_counts(self._pool.lowest_counts, self._pool.highest_counts, num_tokens, languages)
        self._counts = np.ascontiguousarray(over_zero).reshape(-1, over_zero.shape[2])
        self.scores = np.empty(over_zero.shape[:2], dtype=np.float64)
        self._highest = np.empty_like(self.scores)
        # A layer at a time: the probabilities of all layers would double the memory.
        for layer, counts in enumerate(over_zero):
            probabilities = counts / num_tokens
            self.scores[layer] = _layer_scores(probabilities)
            self._highest[layer] = probabilities.max(axis=1)
        self._order = _ranked(self.scores)

    def select(
        self, top_rate: float = DEFAULT_TOP_RATE, activity_quantile: float = DEFAULT_ACTIVITY_QUANTILE
    ) -> Selection:
        """Return the very selection that `select_neurons` makes.

        Raises:
            UserError: a setting out of range.
        """
        _check_settings(top_rate, activity_quantile)
        rank = _rank(activity_quantile, self._pool.size)
        threshold = self._pool.kth_smallest(rank)
        kept = _lowest(self._order, self._highest.ravel() > threshold, _num_wanted(top_rate, self.scores.size))
        return _selection(
            self.scores,
            kept,
            self._members(kept, threshold),
            threshold=threshold,
            num_ties=self._pool.num_at_most(threshold) - rank,
            top_rate=top_rate,
            activity_quantile=activity_quantile,
            languages=self._languages,
        )

    def _members(self, kept: npt.NDArray[np.int64], threshold: float) -> npt.NDArray[np.bool_]:
        bars = self._pool.highest_counts_at_most(threshold)
        members = np.empty((len(kept), len(bars)), dtype=np.bool_)
        # In pieces that stay in the processor's cache: the gathered counts of all kept neurons may be 180 MB.
        for start in range(0, len(kept), _PIECE):
            piece = slice(start, start + _PIECE)
            np.greater(self._counts[kept[piece]], bars, out=members[piece])
        return members


def _layer_scores(probabilities: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """(intermediate_size, num_languages) -> (intermediate_size,): both ways to select use this, to the last bit."""
    values = np.ascontiguousarray(probabilities, dtype=np.float64)
    total = values.sum(axis=1)
    fires = total > 0
    shares = values / np.where(fires, total, 1.0)[:, None]
    entropy = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1)
    return np.where(fires, np.clip(entropy, 0.0, np.log(values.shape[1])), np.inf)


def _ranked(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the flat indices of the neurons that fire, by ascending score, of equals the lower index first."""
    flat = scores.ravel()
    order = np.argsort(flat, kind="stable")[: np.count_nonzero(np.isfinite(flat))]
    group = np.cumsum(np.diff(flat[order], prepend=0.0) > _SAME_SCORE_NATS)
    ranked: npt.NDArray[np.int64] = order[np.lexsort((order, group))].astype(np.int64)
    return ranked


def _lowest(order: npt.NDArray[np.int64], is_active: npt.NDArray[np.bool_], num_wanted: int) -> npt.NDArray[np.int64]:
    """Return the first `num_wanted` of `order` that are active for some language, ascending."""
    return np.sort(order[is_active[order]][:num_wanted])


def _rank(activity_quantile: float, size: int) -> int:
    return max(1, round(activity_quantile * size))


def _num_wanted(top_rate: float, num_neurons: int) -> int:
    return round(top_rate * num_neurons)


def _selection(
    scores: npt.NDArray[np.float64],
    kept: npt.NDArray[np.int64],
    members: npt.NDArray[np.bool_],
    *,
    threshold: float,
    num_ties: int,
    top_rate: float,
    activity_quantile: float,
    languages: Sequence[str],
) -> Selection:
    notices = (
        *on_scores(scores, len(kept), _num_wanted(top_rate, scores.size)),
        *on_bar(threshold, num_ties),
        *on_languages(members, languages),
    )
    return Selection(
        num_layers=scores.shape[0],
        intermediate_size=scores.shape[1],
        neurons=kept,
        members=members,
        threshold=threshold,
        highest_score=float(scores.ravel()[kept].max()) if len(kept) else None,
        top_rate=top_rate,
        activity_quantile=activity_quantile,
        notices=notices,
    )


def _check_settings(top_rate: float, activity_quantile: float) -> None:
    if not 0 < top_rate <= 1:
        raise UserError(f"The share of neurons to keep must lie above 0 and not above 1; it is {top_rate:g}.")
    if not 0 < activity_quantile < 1:
        raise UserError(f"The activity quantile must lie between 0 and 1; it is {activity_quantile:g}.")


def _check_number_of_languages(shape: tuple[int, ...], languages: Sequence[str]) -> None:
    if len(shape) != _NUM_AXES or 0 in shape[:2]:
        raise ValueError(f"expected (num_layers, intermediate_size, num_languages), got {list(shape)}")
    if languages and len(languages) != shape[2]:
        raise ValueError(f"{len(languages)} names for {shape[2]} languages")
    if shape[2] < MIN_LANGUAGES:
        raise UserError("LAPE compares languages: it needs the counts of at least two.")


def _check_tokens(
    over_zero: npt.NDArray[np.integer], num_tokens: npt.NDArray[np.integer], languages: Sequence[str]
) -> None:
    _check_number_of_languages(over_zero.shape, languages)
    if num_tokens.shape != over_zero.shape[2:]:
        raise ValueError(f"token numbers of shape {list(num_tokens.shape)} for {over_zero.shape[2]} languages")
    empty = [language_name(k, languages) for k in np.flatnonzero(num_tokens <= 0).tolist()]
    if empty:
        raise UserError(
            f"No tokens were counted for {', '.join(empty)}: its neurons cannot be told. Give it more text."
        )


def _check_counts(
    lowest: npt.NDArray[np.integer],
    highest: npt.NDArray[np.integer],
    num_tokens: npt.NDArray[np.integer],
    languages: Sequence[str],
) -> None:
    wrong = [language_name(k, languages) for k in np.flatnonzero((lowest < 0) | (highest > num_tokens)).tolist()]
    if wrong:
        raise UserError(
            f"The activation counts of {', '.join(wrong)} are damaged: a neuron is active on fewer than none or on "
            "more than all tokens. Count again."
        )


def _check_probabilities(activation_probs: npt.NDArray[np.floating], languages: Sequence[str]) -> None:
    _check_number_of_languages(activation_probs.shape, languages)
    lowest, highest = activation_probs.min(axis=(0, 1)), activation_probs.max(axis=(0, 1))
    undefined = [language_name(k, languages) for k in np.flatnonzero(np.isnan(highest)).tolist()]
    if undefined:
        raise UserError(
            f"The activation probabilities of {', '.join(undefined)} are not numbers: no tokens were counted. Give it "
            "more text."
        )
    if lowest.min() < 0 or highest.max() > 1:
        raise ValueError("activation probabilities lie between 0 and 1")
