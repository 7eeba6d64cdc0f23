"""Frozen linear layers through oneDNN: the same numbers as PyTorch's own, gradients of the inputs alone."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from lapestudio.engine import fast_linear
from lapestudio.engine.fast_linear import frozen_linear, is_for_onednn, speed_up
from tests.engine.tiny_models import tiny_model


@pytest.fixture
def onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take oneDNN whatever the processor and the size; PyTorch's builds for x86 have it."""
    if not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")):
        pytest.skip("this build of PyTorch has no oneDNN")
    monkeypatch.setattr(fast_linear, "is_mkl_slow", lambda: True)
    monkeypatch.setattr(fast_linear, "_SMALLEST_WEIGHT", 1)


@pytest.mark.usefixtures("onednn")
@pytest.mark.parametrize("shape", [(300,), (2, 5), (1, 1, 3)])
@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
def test_values_and_gradients_equal_the_plain_product(
    shape: tuple[int, ...], is_transposed: bool, has_bias: bool
) -> None:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(*shape, 40, generator=generator)
    weight = torch.randn(40, 24, generator=generator).T if is_transposed else torch.randn(24, 40, generator=generator)
    bias = torch.randn(24, generator=generator) if has_bias else None
    assert is_for_onednn(inputs, weight)
    results = []
    for function, dtype in ((frozen_linear, torch.float32), (functional.linear, torch.float64)):
        leaf = inputs.detach().clone().to(dtype).requires_grad_()
        output = function(leaf, weight.to(dtype), None if bias is None else bias.to(dtype))
        (output**2).sum().backward()
        results.append((output.detach().double(), leaf.grad.double()))
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.usefixtures("onednn")
def test_other_formats_take_the_usual_way() -> None:
    for dtype in (torch.float64, torch.bfloat16):
        inputs, weight = torch.randn(3, 8).to(dtype), torch.randn(4, 8).to(dtype)
        assert not is_for_onednn(inputs, weight)
        assert torch.equal(frozen_linear(inputs, weight), functional.linear(inputs, weight))
    assert frozen_linear(torch.empty(0, 8), torch.randn(4, 8)).shape == (0, 4)


@pytest.mark.usefixtures("onednn")
@pytest.mark.parametrize("family", ["llama", "qwen2", "phi3", "gpt_neox", "cohere"])
def test_a_sped_up_model_computes_the_same(family: str) -> None:
    model = tiny_model(family)
    fast = copy.deepcopy(model).requires_grad_(requires_grad=False)
    speed_up(fast)
    ids = torch.randint(3, 100, (2, 9), generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(fast(ids).logits, model(ids).logits, rtol=1e-4, atol=1e-4)
    assert sum("forward" in vars(module) for module in fast.modules()) == sum(
        type(module) is nn.Linear for module in model.modules()
    )


@pytest.mark.usefixtures("onednn")
def test_a_trained_layer_keeps_its_gradient() -> None:
    layer = nn.Sequential(nn.Linear(8, 4))
    speed_up(layer)
    layer(torch.randn(3, 8)).sum().backward()
    assert layer[0].weight.grad is not None


def test_nothing_is_changed_where_mkl_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_linear, "is_mkl_slow", lambda: False)
    layer = nn.Sequential(nn.Linear(512, 512))
    speed_up(layer)
    assert "forward" not in vars(layer[0])
    assert not is_for_onednn(torch.randn(3, 512), layer[0].weight)
