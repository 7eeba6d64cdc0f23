"""The mean loss is a mean over tokens and equals the model's own."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from lapestudio.engine.evaluation.perplexity import TextLoss, text_loss
from lapestudio.engine.frozen_head import LanguageModelLoss
from tests.engine.tiny_models import tiny_model


class ListedBlocks:
    def __init__(self, blocks: Sequence[Tensor]) -> None:
        self._blocks = blocks

    def __len__(self) -> int:
        return len(self._blocks)

    def batches(self, batch_size: int) -> Iterator[Tensor]:
        full = [block for block in self._blocks if len(block) == len(self._blocks[0])]
        for start in range(0, len(full), batch_size):
            yield torch.stack(full[start : start + batch_size])
        yield from (block[None] for block in self._blocks[len(full) :])


def make_blocks() -> ListedBlocks:
    generator = torch.Generator().manual_seed(5)
    return ListedBlocks([torch.randint(0, 101, (length,), generator=generator) for length in (12, 12, 12, 5)])


@pytest.mark.parametrize("batch_size", [1, 2, 8])
def test_equals_the_models_own_loss_token_by_token(batch_size: int) -> None:
    model = tiny_model("llama", dtype=torch.float64)
    blocks = make_blocks()
    result = text_loss(LanguageModelLoss(model), blocks, batch_size=batch_size)
    assert result is not None
    expected_nats, expected_tokens = [], []
    with torch.no_grad():
        for batch in blocks.batches(1):
            expected_tokens.append(batch.shape[1] - 1)
            logits = model(input_ids=batch).logits[0, :-1]
            expected_nats.append(torch.nn.functional.cross_entropy(logits, batch[0, 1:], reduction="sum").item())
    np.testing.assert_allclose(result.block_nats, expected_nats, rtol=1e-12)
    assert result.block_tokens.tolist() == expected_tokens == [11, 11, 11, 4]
    assert result.mean_nats == pytest.approx(sum(expected_nats) / 37, rel=1e-12)
    assert result.perplexity == pytest.approx(math.exp(sum(expected_nats) / 37), rel=1e-12)


def test_progress_counts_blocks_and_stop_ends_without_a_figure() -> None:
    seen: list[tuple[int, int]] = []
    loss = LanguageModelLoss(tiny_model("llama"))
    assert text_loss(loss, make_blocks(), batch_size=2, on_progress=lambda *done: seen.append(done)) is not None
    assert seen == [(2, 4), (3, 4), (4, 4)]
    seen.clear()
    stopped = text_loss(
        loss,
        make_blocks(),
        batch_size=2,
        on_progress=lambda *done: seen.append(done),
        should_stop=lambda: bool(seen),
    )
    assert stopped is None
    assert seen == [(2, 4)]


def test_text_of_single_tokens_has_no_figure() -> None:
    result = text_loss(LanguageModelLoss(tiny_model("llama")), ListedBlocks([torch.tensor([3])]), batch_size=1)
    assert result is not None
    assert result.num_tokens == 0
    assert math.isnan(result.mean_nats)


def test_perplexity_too_large_for_a_number_is_infinite() -> None:
    assert TextLoss(block_nats=np.array([1e4]), block_tokens=np.array([1])).perplexity == math.inf
