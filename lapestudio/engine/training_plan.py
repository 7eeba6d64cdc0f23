"""Which blocks each update of a training reads, how many updates there are, and at which learning rate.

In: the lengths of the blocks, the limits and a seed. Out: a plan that the training loop follows. Everything follows
from integers, so that a training that goes on after a stop reads what it would have read.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lapestudio.core.errors import UserError

_COSINE_FLOOR = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which blocks each update reads.

    Args:
        num_blocks: of the text.
        num_steps: updates in all.
        blocks_per_update: blocks of an update.
        block_limit: the last update ends here, counted over all epochs; None: it is full.
        seed: of the order.
    """

    num_blocks: int
    num_steps: int
    blocks_per_update: int
    block_limit: int | None
    seed: int

    def blocks_at(self, position: int) -> list[int]:
        """Return the blocks of the update that begins at `position` of the endless order."""
        end = position + self.blocks_per_update
        return [self._block(place) for place in range(position, min(end, self.block_limit or end))]

    def _block(self, position: int) -> int:
        epoch, place = divmod(position, self.num_blocks)
        return int(_permutation(self.num_blocks, self.seed, epoch)[place])


def make_plan(
    lengths: Sequence[int],
    *,
    seed: int,
    blocks_per_update: int,
    max_steps: int | None,
    max_tokens: int | None,
    epochs: float,
) -> Plan:
    """Return the plan; of `max_steps` and `max_tokens` the limit that is reached first counts.

    Args:
        lengths: tokens of each block.
        seed: of the order of the blocks.
        blocks_per_update: blocks of an update.
        max_steps: limit or None.
        max_tokens: limit in predicted tokens or None.
        epochs: limit when both are None.

    Raises:
        UserError: no block has a token to predict.
    """
    if sum(lengths) <= len(lengths):
        raise UserError("The training text has no token to predict; give a longer text.")
    if max_steps is None and max_tokens is None:
        limit = max(1, round(epochs * len(lengths)))
        num_steps = math.ceil(limit / blocks_per_update)
    else:
        limit = None
        steps = [] if max_steps is None else [max_steps]
        if max_tokens is not None:
            steps.append(_steps_for_tokens(lengths, seed, blocks_per_update, max_tokens))
        num_steps = min(steps)
    return Plan(
        num_blocks=len(lengths),
        num_steps=num_steps,
        blocks_per_update=blocks_per_update,
        block_limit=limit,
        seed=seed,
    )


def rate_factor(step: int, num_steps: int, schedule: Literal["constant", "cosine"], warmup_share: float) -> float:
    """Return the share of the learning rate at `step` (from 0): in (0, 1], after the warm-up at least 0.1."""
    warmup = round(warmup_share * num_steps)
    if step < warmup:
        return (step + 1) / (warmup + 1)
    if schedule == "constant":
        return 1.0
    done = (step - warmup) / max(1, num_steps - 1 - warmup)
    return _COSINE_FLOOR + (1 - _COSINE_FLOOR) * 0.5 * (1 + math.cos(math.pi * done))


def _steps_for_tokens(lengths: Sequence[int], seed: int, blocks_per_update: int, max_tokens: int) -> int:
    predicted = np.asarray(lengths, dtype=np.int64) - 1
    epochs = max_tokens // int(predicted.sum())  # whole epochs that surely do not suffice
    position, tokens = epochs * len(predicted), epochs * int(predicted.sum())
    while tokens < max_tokens:
        epoch, place = divmod(position, len(predicted))
        tokens += int(predicted[_permutation(len(predicted), seed, epoch)[place]])
        position += 1
    return max(1, math.ceil(position / blocks_per_update))


@lru_cache(maxsize=2)  # an update can reach from one epoch into the next
def _permutation(num_blocks: int, seed: int, epoch: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, epoch]).permutation(num_blocks)
