"""The selection rule once more, in plain Python loops, from its description alone: what `lape` is compared with."""

import math
from collections.abc import Sequence

Counts = Sequence[Sequence[Sequence[int]]]  # [layer][neuron][language]
SAME_NATS = 1e-9


def entropy(probabilities: Sequence[float]) -> float:
    total = math.fsum(probabilities)
    if total == 0:
        return math.inf
    shares = [value / total for value in probabilities]
    return -math.fsum(share * math.log(share) for share in shares if share > 0)


def select(
    over_zero: Counts, num_tokens: Sequence[int], top_rate: float, activity_quantile: float
) -> tuple[float, dict[tuple[int, int], list[int]]]:
    """Return the bar, and the languages of each kept (layer, neuron)."""
    probabilities = {
        (layer, neuron): [count / tokens for count, tokens in zip(counts, num_tokens, strict=True)]
        for layer, neurons in enumerate(over_zero)
        for neuron, counts in enumerate(neurons)
    }
    pooled = sorted(value for values in probabilities.values() for value in values)
    bar = pooled[max(1, round(activity_quantile * len(pooled))) - 1]
    active = [place for place, values in probabilities.items() if any(value > bar for value in values)]
    kept: list[tuple[int, int]] = []
    scores = {place: entropy(probabilities[place]) for place in active}
    for _ in range(round(top_rate * len(probabilities))):
        left = [place for place in active if place not in kept]
        if not left:
            break
        lowest = min(scores[place] for place in left)
        kept.append(min(place for place in left if scores[place] - lowest < SAME_NATS))
    members = {place: [k for k, value in enumerate(probabilities[place]) if value > bar] for place in sorted(kept)}
    return bar, members
