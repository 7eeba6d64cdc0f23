"""Counting how often each FFN neuron is active on the text of each language.

In: a model and token blocks by language. Out: counts. It stands between the token blocks and the LAPE scores.

A neuron is active where its activation function's output is positive. For SiLU, the GELUs and ReLU that is where their
input is positive, so the sign is read straight from the gate projection's output (the first projection's where there
is no gate) and no activation is computed again. The last layer's projection ends the forward pass: nothing behind it,
and never the vocabulary head, is computed.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import PreTrainedModel

from lapestudio.core.errors import UserError
from lapestudio.engine.ffn_layout import FfnLayer, FfnLayout
from lapestudio.engine.out_of_memory import is_out_of_memory
from lapestudio.engine.tokens import TokenBlocks

_NUM_ROUNDS = 20
_MAX_BYTE = 255
_WORD_BYTES = 8
_TOKENS_A_BATCH_CPU = 2048
_TOKENS_A_BATCH_ACCELERATOR = 16_384

OnCounts = Callable[[str, NDArray[np.int64], int], None]


class _LastLayerReachedError(Exception):
    """All that is counted has been computed."""


@dataclass(slots=True, kw_only=True)
class _BatchCounts:
    """What the hooks of one forward pass leave behind."""

    shape: torch.Size
    first_counted: int
    layers: list[Tensor]


def count_activations(
    model: PreTrainedModel,
    layout: FfnLayout,
    blocks: Mapping[str, TokenBlocks],
    *,
    on_counts: OnCounts,
    batch_size: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    on_notice: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Count the active neurons on all blocks; False when it was stopped before the end.

    The languages take turns, a twentieth of each one's text at a time, so that partial counts can be compared.

    Args:
        model: in evaluation mode.
        layout: of this model.
        blocks: by language; the begin-of-sequence position is read and never counted.
        on_counts: is given (language, over_zero, num_tokens) after each turn: (num_layers, intermediate_size) int64,
            in how many of `num_tokens` further positions each neuron was active. The sum over the turns is the result.
        batch_size: blocks computed together; None: chosen for the device.
        on_progress: called with positions done and in all.
        on_notice: called with a sentence when memory ran out and the batch was halved.
        should_stop: asked before each batch.

    Raises:
        UserError: a language without text, or no memory for a single block.
    """
    for language, language_blocks in blocks.items():
        if language_blocks.num_text_tokens == 0:
            raise UserError(f"The text of {language} has no tokens; add text, or leave this language out.")
    longest = max(language_blocks.block_size for language_blocks in blocks.values())
    counter = _Counter(model, layout, batch_size or _default_batch_size(model, longest), on_notice)
    total = sum(language_blocks.num_text_tokens for language_blocks in blocks.values())
    done = 0
    with counter, torch.inference_mode():
        for language, start, stop in _turns(blocks, counter.batch_size):
            over_zero, num_tokens = counter.new_counts(), 0
            for batch in blocks[language].batches(counter.batch_size, start=start, stop=stop):
                if should_stop():
                    return False
                num_tokens += counter.add(batch, over_zero, has_bos=blocks[language].has_bos)
                if on_progress is not None:
                    on_progress(done + num_tokens, total)
            on_counts(language, over_zero.cpu().numpy(), num_tokens)
            done += num_tokens
    return True


def _turns(blocks: Mapping[str, TokenBlocks], batch_size: int) -> Iterator[tuple[str, int, int]]:
    """Yield (language, first block, one after the last): whole batches, about a twentieth of a text, by turns."""
    steps = {
        language: batch_size * math.ceil(len(language_blocks) / (_NUM_ROUNDS * batch_size))
        for language, language_blocks in blocks.items()
    }
    for turn in range(_NUM_ROUNDS):
        for language, step in steps.items():
            start, end = turn * step, len(blocks[language])
            if start < end:
                yield language, start, min(start + step, end)


class _Counter:
    """Runs batches through the hooked body of the model."""

    def __init__(
        self, model: PreTrainedModel, layout: FfnLayout, batch_size: int, on_notice: Callable[[str], None] | None
    ) -> None:
        self._body: nn.Module = model.base_model
        self._device = model.device
        self._layout = layout
        self.batch_size = batch_size
        self._on_notice = on_notice
        self._current = _BatchCounts(shape=torch.Size(), first_counted=0, layers=[])
        self._hooks = [
            model.get_submodule(layer.sign_module).register_forward_hook(self._hook(layer)) for layer in layout.layers
        ]

    def __enter__(self) -> "_Counter":
        return self

    def __exit__(self, *_error: object) -> None:
        for hook in self._hooks:
            hook.remove()

    def new_counts(self) -> Tensor:
        """Return (num_layers, intermediate_size) int64 zeros."""
        shape = self._layout.num_layers, self._layout.intermediate_size
        return torch.zeros(shape, dtype=torch.int64, device=self._device)

    def add(self, batch: Tensor, over_zero: Tensor, *, has_bos: bool) -> int:
        """Add a batch's counts to `over_zero` and return how many positions were counted."""
        layers = self._forward(batch, has_bos=has_bos)
        if layers is None:
            self._halve(len(batch))
            return sum(self.add(half, over_zero, has_bos=has_bos) for half in batch.tensor_split(2))
        for counts, layer in zip(over_zero, layers, strict=True):
            counts += layer
        return batch.shape[0] * (batch.shape[1] - int(has_bos))

    def _forward(self, batch: Tensor, *, has_bos: bool) -> list[Tensor] | None:
        """Return each layer's counts of the batch, or None when memory ran out for it.

        The exception ends here: its traceback holds the tensors of the failed pass, and while somebody handles it the
        memory that half a batch needs is not free.
        """
        self._current = _BatchCounts(shape=batch.shape, first_counted=int(has_bos), layers=[])
        try:
            self._body(input_ids=batch.to(self._device), use_cache=False)
        except _LastLayerReachedError:
            return self._current.layers
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            if len(batch) == 1:
                raise UserError(
                    "The memory does not suffice to read a single block of text; choose shorter blocks (block size), "
                    "a smaller model or a machine with more memory."
                ) from error
            return None
        raise AssertionError("the last layer's hook did not run")

    def _hook(self, layer: FfnLayer) -> Callable[[nn.Module, Any, Tensor], None]:
        begin, end = layer.sign_start, layer.sign_start + layer.intermediate_size
        is_last = layer is self._layout.layers[-1]

        def count(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            # OPT flattens (batch_size, seq_len) before its projections.
            values = output.view(*self._current.shape, -1)[:, self._current.first_counted :, begin:end]
            self._current.layers.append(count_positive(values))
            if is_last:
                raise _LastLayerReachedError

        return count

    def _halve(self, num_blocks: int) -> None:
        self.batch_size = max(1, num_blocks // 2)
        if self._on_notice is not None:
            self._on_notice(f"Memory ran out: from now on {self.batch_size} blocks are read at once.")


def count_positive(values: Tensor) -> Tensor:
    """Return how many entries are positive at each last index.

    On the CPU eight boolean bytes are added as one 64-bit number, at most 255 rows at a time so that no byte runs over:
    measured on (2044, 1536) float32 with two threads 0.6 ms, against 2.2 ms of a plain sum.

    Args:
        values: (batch_size, seq_len, num_neurons) floating.

    Returns:
        (num_neurons,) int64.
    """
    positive = values > 0
    num_neurons = positive.shape[-1]
    if positive.device.type != "cpu" or num_neurons % _WORD_BYTES:
        return positive.sum(dim=(0, 1))
    words = positive.flatten(0, 1).contiguous().view(torch.int64)  # (num_positions, num_neurons / 8)
    counts = torch.zeros(num_neurons, dtype=torch.int64)
    for rows in torch.split(words, _MAX_BYTE):
        counts += rows.sum(dim=0).view(torch.uint8)
    return counts


def _default_batch_size(model: PreTrainedModel, block_size: int) -> int:
    tokens = _TOKENS_A_BATCH_CPU if model.device.type == "cpu" else _TOKENS_A_BATCH_ACCELERATOR
    return max(1, tokens // block_size)
