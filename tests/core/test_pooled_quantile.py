import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapestudio.core import pooled_quantile
from lapestudio.core.pooled_quantile import PooledProbabilities


@pytest.mark.parametrize("few", [1, 50, 200_000])
@pytest.mark.parametrize("most_tokens", [3, 1_000, 13_000_000, 2**40])
def test_every_rank_is_that_of_sorting(monkeypatch: pytest.MonkeyPatch, few: int, most_tokens: int) -> None:
    monkeypatch.setattr(pooled_quantile, "_FEW", few)
    generator = np.random.default_rng(most_tokens)
    num_tokens = generator.integers(1, most_tokens, 7, endpoint=True)
    over_zero = (generator.random((2, 30, 7)) ** 3 * (num_tokens + 1)).astype(np.int64)
    pool = PooledProbabilities(over_zero, num_tokens)
    ordered = np.sort(over_zero / num_tokens, axis=None)
    assert [pool.kth_smallest(k) for k in range(1, ordered.size + 1)] == ordered.tolist()
    for value in ordered[::17].tolist():
        assert pool.num_at_most(value) == (ordered <= value).sum()


def test_no_activity_at_all() -> None:
    pool = PooledProbabilities(np.zeros((1, 2, 2), dtype=np.int64), np.array([3, 4]))
    assert pool.kth_smallest(4) == 0.0
    assert pool.num_at_most(0.0) == pool.size == 4


@given(st.integers(1, 2**45), st.floats(0, 1), st.floats(0, 1))
@settings(deadline=None)
def test_the_count_at_a_bar_is_exact(tokens: int, share: float, other: float) -> None:
    pool = PooledProbabilities(np.zeros((1, 1, 1), dtype=np.int64), np.array([tokens]))
    # A bar anywhere, and bars that are themselves probabilities: there the last bit decides.
    for bar in (other, int(share * tokens) / tokens, np.nextafter(int(share * tokens) / tokens, 0)):
        count = int(pool.highest_counts_at_most(bar)[0])
        assert count / tokens <= bar
        assert count == tokens or (count + 1) / tokens > bar
