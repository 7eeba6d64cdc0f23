"""The chunked loss equals the ordinary one, and the full logits never exist."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lapestudio.engine.frozen_head import Head, LanguageModelLoss, find_head, frozen_head_losses
from tests.engine.tiny_models import FAMILIES, tiny_model

PRECISION = {torch.float64: 1e-12, torch.float32: 1e-5}


def make_ids() -> Tensor:
    return torch.randint(3, 101, (2, 9), generator=torch.Generator().manual_seed(2))


def input_gradient(model: Any, ids: Tensor, losses: Any) -> tuple[Tensor, Tensor]:
    """Return the losses and the gradient of their weighted sum with respect to the input embeddings."""
    captured: list[Tensor] = []

    def capture(_module: nn.Module, _inputs: object, output: Tensor) -> Tensor:
        captured.append(output.detach().requires_grad_())
        return captured[-1]

    handle = model.get_input_embeddings().register_forward_hook(capture)
    try:
        values = losses(ids)
    finally:
        handle.remove()
    weights = torch.linspace(0.5, 2.0, values.numel(), dtype=values.dtype).view_as(values)
    (gradient,) = torch.autograd.grad((values * weights).sum(), captured[0])
    return values.detach(), gradient


def usual_losses(model: Any) -> Any:
    def losses(ids: Tensor) -> Tensor:
        logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
        return nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")

    return losses


@pytest.mark.parametrize("dtype", PRECISION)
@pytest.mark.parametrize("family", FAMILIES)
def test_loss_and_gradient_equal_the_usual_ones(family: str, dtype: torch.dtype) -> None:
    model = tiny_model(family, dtype=dtype).requires_grad_(False)
    assert find_head(model) is not None
    own = LanguageModelLoss(model, chunk_rows=5)
    assert own.notice is None
    ids = make_ids()
    losses, gradient = input_gradient(model, ids, own)
    expected_losses, expected_gradient = input_gradient(model, ids, usual_losses(model))
    scale = expected_gradient.abs().max()
    assert losses.dtype == dtype
    assert (losses - expected_losses).abs().max() <= PRECISION[dtype] * expected_losses.abs().max()
    assert (gradient - expected_gradient).abs().max() <= PRECISION[dtype] * scale


@pytest.mark.parametrize("soft_cap", [None, 2.0])
@pytest.mark.parametrize("chunk_rows", [1, 3, 100])
def test_every_form_of_head_in_chunks_of_any_size(soft_cap: float | None, chunk_rows: int) -> None:
    torch.manual_seed(1)
    hidden = torch.randn(7, 4, dtype=torch.float64, requires_grad=True)
    weight, bias = torch.randn(11, 4, dtype=torch.float64), torch.randn(11, dtype=torch.float64)
    targets, scale = torch.randint(0, 11, (7,)), 0.3
    head = Head(weight=weight, bias=bias, scale=scale, soft_cap=soft_cap)
    losses = frozen_head_losses(hidden, targets, head, chunk_rows=chunk_rows)
    (gradient,) = torch.autograd.grad(losses.sum(), hidden)
    logits = (hidden @ weight.T + bias) * scale
    if soft_cap is not None:
        logits = soft_cap * torch.tanh(logits / soft_cap)
    expected = -torch.log_softmax(logits, dim=1)[torch.arange(7), targets]
    (expected_gradient,) = torch.autograd.grad(expected.sum(), hidden)
    torch.testing.assert_close(losses, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(gradient, expected_gradient, rtol=1e-12, atol=1e-12)


def test_large_logits_do_not_overflow() -> None:
    head = Head(weight=torch.tensor([[1000.0], [-1000.0]]))
    losses = frozen_head_losses(torch.tensor([[1.0], [1.0]]), torch.tensor([0, 1]), head, chunk_rows=1)
    assert losses.tolist() == [0.0, 2000.0]


def test_no_tensor_is_larger_than_a_chunk() -> None:
    sizes: list[int] = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
            result = function(*arguments, **(named or {}))
            sizes.extend(tensor.numel() for tensor in tree_leaves(result) if isinstance(tensor, Tensor))
            return result

    weight, hidden = torch.randn(100, 3), torch.randn(70, 3, requires_grad=True)
    targets = torch.zeros(70, dtype=torch.int64)
    with Watch():
        frozen_head_losses(hidden, targets, Head(weight=weight, soft_cap=3.0), chunk_rows=5).sum().backward()
    # A chunk's logits, the weight itself (transposed), and nothing of all positions times the vocabulary.
    assert max(sizes) == 500


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_losses_are_float32_and_gradients_stay(dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    hidden = torch.randn(64, 16).to(dtype).requires_grad_()
    weight, targets = torch.randn(101, 16).to(dtype), torch.randint(0, 101, (64,))
    losses = frozen_head_losses(hidden, targets, Head(weight=weight), chunk_rows=10)
    # As small a factor as a mean over a large batch: float16 must not lose it before the product.
    (gradient,) = torch.autograd.grad(losses.sum() / 64, hidden)
    exact = hidden.detach().double().requires_grad_()
    expected = nn.functional.cross_entropy(exact @ weight.double().T, targets, reduction="none")
    (expected_gradient,) = torch.autograd.grad(expected.sum() / 64, exact)
    assert losses.dtype == torch.float32
    assert gradient.dtype == dtype
    assert (losses - expected).abs().max() < 0.01 * expected.max()
    assert (gradient - expected_gradient).abs().max() < 0.02 * expected_gradient.abs().max()


def test_unknown_head_falls_back_and_says_so() -> None:
    model = tiny_model("llama", dtype=torch.float64).requires_grad_(False)
    expected = LanguageModelLoss(model)(make_ids())
    model.config.model_type = "novel"
    own = LanguageModelLoss(model)
    assert own.notice is not None
    assert "novel" in own.notice
    torch.testing.assert_close(own(make_ids()), expected, rtol=1e-12, atol=1e-12)


def test_trained_head_falls_back() -> None:
    model = tiny_model("llama").requires_grad_(False)
    model.get_output_embeddings().weight.requires_grad_(True)
    own = LanguageModelLoss(model)
    assert own.notice is not None
    own(make_ids()).sum().backward()
    assert model.get_output_embeddings().weight.grad is not None


def test_without_gradients_nothing_is_kept() -> None:
    model = tiny_model("gemma2").requires_grad_(False)
    with torch.no_grad():
        assert not LanguageModelLoss(model)(make_ids()).requires_grad
