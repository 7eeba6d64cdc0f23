"""The order of the blocks, the limits and the schedule."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapestudio.engine.training_plan import make_plan, rate_factor


def test_each_epoch_reads_every_block_once_in_its_own_order() -> None:
    lengths = [9] * 10 + [4]
    plan = make_plan(lengths, seed=1, blocks_per_update=11, max_steps=3, max_tokens=None, epochs=1)
    epochs = [plan.blocks_at(11 * epoch) for epoch in range(3)]
    assert [sorted(epoch) for epoch in epochs] == [list(range(11))] * 3
    assert len({tuple(epoch) for epoch in epochs}) == 3
    other = make_plan(lengths, seed=2, blocks_per_update=11, max_steps=3, max_tokens=None, epochs=1)
    assert other.blocks_at(0) != epochs[0]
    across = make_plan(lengths, seed=1, blocks_per_update=4, max_steps=3, max_tokens=None, epochs=1)
    assert across.blocks_at(8) == epochs[0][8:] + epochs[1][:1]


@given(
    lengths=st.lists(st.integers(2, 9), min_size=1, max_size=12),
    blocks_per_update=st.integers(1, 5),
    max_tokens=st.integers(1, 200),
    seed=st.integers(0, 3),
)
def test_tokens_reach_the_limit_in_the_last_update_and_not_before(
    lengths: list[int], blocks_per_update: int, max_tokens: int, seed: int
) -> None:
    plan = make_plan(
        lengths, seed=seed, blocks_per_update=blocks_per_update, max_steps=None, max_tokens=max_tokens, epochs=1
    )
    updates = [plan.blocks_at(step * blocks_per_update) for step in range(plan.num_steps)]
    tokens = np.cumsum([sum(lengths[index] - 1 for index in update) for update in updates])
    assert tokens[-1] >= max_tokens
    assert plan.num_steps == 1 or tokens[-2] < max_tokens


def test_learning_rate_rises_and_falls_to_a_tenth() -> None:
    factors = [rate_factor(step, 100, "cosine", 0.1) for step in range(100)]
    assert factors[:10] == pytest.approx([(step + 1) / 11 for step in range(10)])
    assert factors[10] == pytest.approx(1.0)
    assert factors[-1] == pytest.approx(0.1)
    assert all(later < earlier for earlier, later in pairwise(factors[10:]))
    assert [rate_factor(step, 4, "constant", 0.0) for step in range(4)] == [1.0] * 4
    assert rate_factor(0, 1, "cosine", 0.0) == 1.0
