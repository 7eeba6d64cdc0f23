"""How well a model predicts a text: the mean loss over its tokens.

In: a loss and token blocks. Out: nats in all and of each block. It serves validation during training and the
evaluation of models; where bits or a per-character figure is wanted, the sums are at hand.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class BatchedBlocks(Protocol):
    """A text as blocks of token ids."""

    def __len__(self) -> int: ...

    def batches(self, batch_size: int) -> Iterator[Tensor]:
        """Yield (b, s) int64 in the order of the blocks, rows of equal length, nothing padded."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TextLoss:
    """The loss of a model on a text.

    Args:
        block_nats: (num_blocks,) float64, summed over each block's predicted tokens.
        block_tokens: (num_blocks,) int64, predicted tokens: all but the first of a block.
    """

    block_nats: NDArray[np.float64]
    block_tokens: NDArray[np.int64]

    @property
    def num_tokens(self) -> int:
        """Predicted tokens."""
        return int(self.block_tokens.sum())

    @property
    def total_nats(self) -> float:
        """Loss summed over all predicted tokens."""
        return float(self.block_nats.sum())

    @property
    def mean_nats(self) -> float:
        """Mean over tokens, not over blocks or batches; NaN of a text without a predicted token."""
        return self.total_nats / self.num_tokens if self.num_tokens else math.nan

    @property
    def perplexity(self) -> float:
        """exp(mean_nats); infinite where that is too large for a number."""
        try:
            return math.exp(self.mean_nats)
        except OverflowError:
            return math.inf


def text_loss(
    loss: Callable[[Tensor], Tensor],
    blocks: BatchedBlocks,
    *,
    batch_size: int,
    on_progress: Callable[[int, int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> TextLoss | None:
    """Return the loss on `blocks`, or None when it was stopped before the end.

    Args:
        loss: (batch_size, seq_len) ids -> (batch_size, seq_len - 1) losses in nats, of a model in evaluation mode.
        blocks: the text.
        batch_size: blocks computed together.
        on_progress: called with blocks done and blocks in all after each batch.
        should_stop: asked before each batch.
    """
    nats: list[Tensor] = []
    tokens: list[int] = []
    for batch in blocks.batches(batch_size):
        if should_stop is not None and should_stop():
            return None
        with torch.no_grad():
            losses = loss(batch)
        nats.append(losses.cpu().double().sum(dim=1))
        tokens.extend([losses.shape[1]] * len(batch))
        if on_progress is not None:
            on_progress(len(tokens), len(blocks))
    block_nats = torch.cat(nats).numpy() if nats else np.zeros(0, dtype=np.float64)
    return TextLoss(block_nats=block_nats, block_tokens=np.asarray(tokens, dtype=np.int64))
