"""Frozen linear layers through the faster of PyTorch's two matrix libraries.

In: a model on the CPU. Out: the same model, whose frozen float32 projections are computed by oneDNN where MKL, which
PyTorch takes for float32, is known to be slow. It stands between loading and every stage that runs the model.

MKL does not use AVX-512 on AMD's processors. Measured on one (two threads, 2,048 x 576 by 1,536): MKL 17.6 ms, oneDNN
7.9 ms. The choice depends on the processor alone, so that a run is repeated exactly on the same machine.
"""

import platform
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

_SMALLEST_WEIGHT = 1 << 16


@lru_cache(maxsize=1)
def is_mkl_slow() -> bool:
    """Say whether this processor is one of AMD's with AVX-512 and this build of PyTorch has both libraries."""
    if not (torch.backends.mkldnn.is_available() and torch.backends.mkl.is_available()):  # type: ignore[no-untyped-call]
        return False
    if torch.backends.cpu.get_cpu_capability() != "AVX512" or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return False
    information = Path("/proc/cpuinfo")
    vendor = information.read_text(encoding="utf-8") if information.is_file() else platform.processor()
    return "AuthenticAMD" in vendor


def frozen_linear(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return inputs @ weight.T + bias; the gradient of the inputs is formed where wanted, none of the weights ever.

    Args:
        inputs: (..., in_features).
        weight: (out_features, in_features), frozen.
        bias: (out_features,), frozen.

    Returns:
        (..., out_features) in the inputs' dtype.
    """
    if not is_for_onednn(inputs, weight):
        return functional.linear(inputs, weight, bias)
    if inputs.requires_grad and torch.is_grad_enabled():
        output: Tensor = _FrozenLinear.apply(inputs, weight, bias)  # type: ignore[no-untyped-call]
        return output
    return _onednn_linear(inputs, weight, bias)


def speed_up(model: nn.Module) -> None:
    """Let every frozen linear layer of `model` be computed by `frozen_linear`; does nothing where MKL is fast."""
    if not is_mkl_slow():
        return
    for module in model.modules():
        if type(module) is nn.Linear:
            # On the instance: the class, and what is saved of the module, stay as they are.
            module.forward = partial(_forward, module)  # type: ignore[method-assign]


def _forward(module: nn.Linear, inputs: Tensor) -> Tensor:
    if module.weight.requires_grad or (module.bias is not None and module.bias.requires_grad):
        return functional.linear(inputs, module.weight, module.bias)
    return frozen_linear(inputs, module.weight, module.bias)


def is_for_onednn(inputs: Tensor, weight: Tensor) -> bool:
    """Say whether oneDNN computes the product of these: large float32 matrices on a processor where MKL is slow."""
    is_float32 = inputs.dtype == weight.dtype == torch.float32
    is_on_cpu = inputs.device.type == weight.device.type == "cpu"
    # Its call costs some microseconds more: small matrices are better off with MKL.
    return is_float32 and is_on_cpu and weight.numel() >= _SMALLEST_WEIGHT and inputs.numel() > 0 and is_mkl_slow()


def _onednn_linear(inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    output: Tensor = torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, "none", [], "")
    return output


class _FrozenLinear(torch.autograd.Function):
    """oneDNN's operator has no gradient of its own."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.weight = weight.detach()
        return _onednn_linear(inputs, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None, None]:
        return _onednn_linear(grad_output, ctx.weight.T, None), None, None
