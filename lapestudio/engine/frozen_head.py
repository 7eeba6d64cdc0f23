"""Next-token loss under a frozen vocabulary head, chunk by chunk, so that the full logits never exist.

In: a model and token ids. Out: the loss of each predicted token, differentiable with respect to whatever is trained
below the head. It stands between the split FFN and the training loop; evaluation uses it without gradients.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from transformers import PreTrainedModel

from lapestudio.engine.fast_linear import frozen_linear, is_for_onednn

# Positions of a chunk. Measured on Gemma-3-270M (vocabulary 262,144): the head takes 1.6 times as long with 32, a
# whole training step 1.09 times with 256; more than 512 saves nothing and costs 1 MB a position.
CHUNK_ROWS = 512

_PLAIN_HEADS = frozenset(
    {"llama", "mistral", "qwen2", "qwen3", "olmo2", "phi3", "gpt2", "opt", "bloom", "gpt_neox", "phi"}
)
_SOFT_CAPPED_HEADS = frozenset({"gemma2", "gemma3_text"})
_SCALED_HEADS: dict[str, Callable[[Any], float]] = {
    "cohere": lambda config: float(config.logit_scale),
    "cohere2": lambda config: float(config.logit_scale),
    "granite": lambda config: 1.0 / float(config.logits_scaling),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A vocabulary head: logits = soft_cap * tanh(scale * (hidden @ weight.T + bias) / soft_cap).

    Args:
        weight: (vocab_size, hidden_size), possibly tied to the embeddings.
        bias: (vocab_size,).
        scale: factor on the logits (Cohere, Granite).
        soft_cap: bound of the logits (Gemma); None: not bounded.
    """

    weight: Tensor
    bias: Tensor | None = None
    scale: float = 1.0
    soft_cap: float | None = None


def find_head(model: PreTrainedModel) -> Head | None:
    """Return the head of a model whose head is known, frozen and in memory, else None."""
    module = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    model_type = str(model.config.model_type)
    if type(module) is not nn.Linear or module.weight.is_meta:
        return None
    if any(parameter.requires_grad for parameter in module.parameters()):
        return None
    if model_type in _PLAIN_HEADS:
        return Head(weight=module.weight, bias=module.bias)
    if model_type in _SOFT_CAPPED_HEADS:
        soft_cap = model.config.final_logit_softcapping
        return Head(weight=module.weight, bias=module.bias, soft_cap=None if soft_cap is None else float(soft_cap))
    if model_type in _SCALED_HEADS:
        return Head(weight=module.weight, bias=module.bias, scale=_SCALED_HEADS[model_type](model.config))
    return None


class LanguageModelLoss:
    """Loss of a model on blocks of token ids, the cheapest way that its head allows.

    Args:
        model: in evaluation mode.
        chunk_rows: logits of at most so many positions exist at a time.
    """

    def __init__(self, model: PreTrainedModel, *, chunk_rows: int = CHUNK_ROWS) -> None:
        self._model = model
        self._chunk_rows = chunk_rows
        self._head = find_head(model)

    @property
    def notice(self) -> str | None:
        """What the user should know: set where the full logits have to be computed."""
        if self._head is not None:
            return None
        return (
            f"The vocabulary head of this {self._model.config.model_type} model is unknown or trained itself; "
            "the loss is computed from the full logits, which takes more memory."
        )

    def __call__(self, input_ids: Tensor) -> Tensor:
        """Return the loss of each token but the first.

        Args:
            input_ids: (batch_size, seq_len) int64, without padding. The first token is only read, never predicted.

        Returns:
            (batch_size, seq_len - 1) float32 (float64 for a float64 model), nats.
        """
        input_ids = input_ids.to(self._model.device)
        targets = input_ids[:, 1:]
        if self._head is None:
            logits = self._model(input_ids=input_ids, use_cache=False).logits[:, :-1]
            logits = logits.to(_loss_dtype(logits.dtype))
            return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view_as(
                targets
            )
        hidden = self._model.base_model(input_ids=input_ids, use_cache=False).last_hidden_state
        losses = frozen_head_losses(
            hidden[:, :-1].flatten(0, 1), targets.flatten(), self._head, chunk_rows=self._chunk_rows
        )
        return losses.view_as(targets)


def frozen_head_losses(hidden: Tensor, targets: Tensor, head: Head, *, chunk_rows: int) -> Tensor:
    """Return the loss of each position; its gradient with respect to `hidden` is computed along with it.

    Args:
        hidden: (num_positions, hidden_size), what the head reads, in the head's dtype.
        targets: (num_positions,) int64 in [0, vocab_size).
        head: frozen.
        chunk_rows: logits of at most so many positions exist at a time.

    Returns:
        (num_positions,) float32 (float64 for a float64 head), nats.
    """
    losses: Tensor = _FrozenHeadLosses.apply(hidden, targets, head, chunk_rows)  # type: ignore[no-untyped-call]
    return losses


class _FrozenHeadLosses(torch.autograd.Function):
    """Losses per position, with each chunk's logits computed once.

    A position's loss depends on its own hidden state alone, so the forward pass stores d loss[i] / d hidden[i] and the
    backward pass only scales it.
    """

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, targets: Tensor, head: Head, rows: int) -> Tensor:
        wants_gradient = ctx.needs_input_grad[0]
        losses = hidden.new_empty(len(hidden), dtype=_loss_dtype(hidden.dtype))
        gradient = torch.empty_like(hidden) if wants_gradient else None
        # One buffer for all chunks: fresh memory of this size costs a page fault every few kilobytes.
        # oneDNN takes none, and is faster all the same.
        shape = 0 if is_for_onednn(hidden, head.weight) else min(rows, len(hidden)), head.weight.shape[0]
        buffer = hidden.new_empty(shape)
        for start in range(0, len(hidden), rows):
            chunk = slice(start, start + rows)
            logits = _linear(hidden[chunk], head, buffer)
            losses[chunk], slope = _chunk_losses(logits, targets[chunk], head, wants_gradient)
            if gradient is not None and slope is not None:
                gradient[chunk] = frozen_linear(slope.to(hidden.dtype), head.weight.T)
        if gradient is not None:
            ctx.save_for_backward(gradient)
        return losses

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_losses: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        # The product is formed in the losses' dtype: a sum divided by many tokens is too small for float16.
        return (gradient * grad_losses[:, None]).to(gradient.dtype), None, None, None


def _linear(hidden: Tensor, head: Head, buffer: Tensor) -> Tensor:
    """Return hidden @ weight.T + bias (n, vocab_size), in the first rows of `buffer` where it has any."""
    if not len(buffer):
        return frozen_linear(hidden, head.weight, head.bias)
    logits = buffer[: len(hidden)]
    if head.bias is None:
        return torch.mm(hidden, head.weight.T, out=logits)
    return torch.addmm(head.bias, hidden, head.weight.T, out=logits)


def _chunk_losses(logits: Tensor, targets: Tensor, head: Head, wants_slope: bool) -> tuple[Tensor, Tensor | None]:
    """Return losses (n,) and d loss / d logits (n, vocab_size); `logits` is overwritten."""
    logits = logits.to(_loss_dtype(logits.dtype))
    if head.scale != 1.0:
        logits *= head.scale
    capped = None
    if head.soft_cap is not None:
        capped = logits.div_(head.soft_cap).tanh_()
        logits = capped * head.soft_cap
    # Shifted by the maximum and exponentiated in place: one pass of exponentials serves losses and slope.
    logits -= logits.amax(dim=-1, keepdim=True)
    target_logits = logits.gather(1, targets[:, None])
    slope = logits.exp_()
    total = slope.sum(dim=-1, keepdim=True)
    losses = (total.log() - target_logits).squeeze(1)
    if not wants_slope:
        return losses, None
    slope /= total
    slope.scatter_add_(1, targets[:, None], torch.full_like(target_logits, -1.0))
    if capped is not None:
        slope *= capped.square_().neg_().add_(1.0)
    if head.scale != 1.0:
        slope *= head.scale
    return losses, slope


def _loss_dtype(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)
