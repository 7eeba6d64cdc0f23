"""Split feed-forward networks: each MLP becomes a frozen part plus a small trainable subnetwork.

In: a frozen model, its FFN layout and the chosen neurons. Out: the same model computing the same function, in which the
chosen neurons alone are parameters that want a gradient. It stands between the neuron set and the training loop.

Reordering the neurons of an MLP does not change its function, so an MLP is exactly the sum of two smaller ones. The
chosen neurons move out of the full matrices into the subnetwork and are computed once; neither the forward pass nor
the backward pass ever touches a full-size copy or gradient.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional
from transformers import PreTrainedModel

from lapestudio.core.errors import UserError
from lapestudio.engine.fast_linear import frozen_linear
from lapestudio.engine.ffn_layout import FfnLayer, FfnLayout, NeuronSlice, activation_of
from lapestudio.engine.trained_rows import RowGroup, RowPlace, TrainedRows

Activation = Callable[[Tensor], Tensor]
ROWS_FILE = "rows.safetensors"


class FrozenFfn(nn.Module):
    """The neurons that stay as they are.

    Args:
        rows: role -> neuron-major weights: gate, up, down (n, hidden_size), gate_bias, up_bias (n,).
        output_bias: (hidden_size,), the bias of the second projection; it belongs to no neuron.
        activation: elementwise.
    """

    gate: Tensor | None
    up: Tensor
    down: Tensor
    gate_bias: Tensor | None
    up_bias: Tensor | None
    output_bias: Tensor | None

    def __init__(self, rows: dict[str, Tensor], output_bias: Tensor | None, activation: Activation) -> None:
        super().__init__()
        for role in ("gate", "up", "down", "gate_bias", "up_bias"):
            self.register_buffer(role, rows.get(role), persistent=False)
        self.register_buffer("output_bias", output_bias, persistent=False)
        self._activation = activation

    def forward(self, hidden: Tensor) -> Tensor:
        """Map (..., hidden_size) to (..., hidden_size)."""
        if self.gate is not None:
            output: Tensor = _FrozenGatedFfn.apply(hidden, self, self._activation)  # type: ignore[no-untyped-call]
            return output
        first = self._activation(frozen_linear(hidden, self.up, self.up_bias))
        return _project_out(first, self.down, self.output_bias)


class _FrozenGatedFfn(torch.autograd.Function):
    """A gated MLP whose weights want no gradient.

    Plain autograd would keep activation(gate) besides gate and up; here it is computed again, which saves a third of
    the kept activations at no measurable time.
    """

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, ffn: FrozenFfn, activation: Activation) -> Tensor:
        assert ffn.gate is not None
        gate = frozen_linear(hidden, ffn.gate, ffn.gate_bias)
        up = frozen_linear(hidden, ffn.up, ffn.up_bias)
        ctx.ffn, ctx.activation = ffn, activation
        ctx.save_for_backward(gate, up)
        return _project_out(activation(gate).mul_(up), ffn.down, ffn.output_bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None, None]:
        gate, up = (saved.flatten(0, -2) for saved in ctx.saved_tensors)  # (num_tokens, num_neurons)
        grad_inner = frozen_linear(grad_output.flatten(0, -2), ctx.ffn.down)
        gate = gate.detach().requires_grad_()
        with torch.enable_grad():
            active = ctx.activation(gate)
        grad_hidden = frozen_linear(grad_inner * active.detach(), ctx.ffn.up.T)
        (grad_gate,) = torch.autograd.grad(active, gate, grad_inner.mul_(up))
        grad_hidden += frozen_linear(grad_gate, ctx.ffn.gate.T)
        return grad_hidden.view_as(grad_output), None, None


class SubnetworkFfn(nn.Module):
    """The neurons that are trained: float32 masters (float64 in a float64 model), computed in the model's dtype.

    Args:
        rows: as in `FrozenFfn`.
        activation: elementwise.
    """

    def __init__(self, rows: dict[str, Tensor], activation: Activation) -> None:
        super().__init__()
        self._activation = activation
        self.dtype = rows["up"].dtype
        master_dtype = torch.promote_types(self.dtype, torch.float32)
        self.rows = nn.ParameterDict({role: nn.Parameter(values.to(master_dtype)) for role, values in rows.items()})

    def forward(self, hidden: Tensor) -> Tensor:
        """Map (..., hidden_size) to (..., hidden_size)."""
        rows = {role: values.to(self.dtype) for role, values in self.rows.items()}
        inner = functional.linear(hidden, rows["up"], rows.get("up_bias"))
        if "gate" in rows:
            inner = self._activation(functional.linear(hidden, rows["gate"], rows.get("gate_bias"))) * inner
        else:
            inner = self._activation(inner)
        output: Tensor = inner @ rows["down"]
        return output


class SplitFfn(nn.Module):
    """frozen(x) + subnetwork(x), equal to the MLP that it replaces."""

    def __init__(self, frozen: FrozenFfn, subnetwork: SubnetworkFfn) -> None:
        super().__init__()
        self.frozen = frozen
        self.subnetwork = subnetwork

    def forward(self, hidden: Tensor) -> Tensor:
        """Map (..., hidden_size) to (..., hidden_size)."""
        output: Tensor = self.frozen(hidden) + self.subnetwork(hidden)
        return output


def _project_out(inner: Tensor, down: Tensor, bias: Tensor | None) -> Tensor:
    return frozen_linear(inner, down.T, bias)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SplitLayer:
    layer: FfnLayer
    ffn: SplitFfn
    chosen: Tensor  # (n,) int64, ascending
    kept: Tensor  # (intermediate_size - n,) int64, ascending
    replaced: dict[str, nn.Module]  # module name -> the module that stood there; its weights are empty meanwhile
    parameters: dict[str, nn.Parameter]  # full names, as before the split
    shapes: dict[str, torch.Size]


class Subnetwork:
    """The trained part of a split model.

    Args:
        model: the split model.
        layers: one a layer with trained neurons, from the lowest up.
        model_name, model_fingerprint, language: go into the trained rows.
    """

    rows_file = ROWS_FILE

    def __init__(
        self,
        model: PreTrainedModel,
        layers: Sequence[_SplitLayer],
        *,
        model_name: str,
        model_fingerprint: str | None,
        language: str,
    ) -> None:
        self._model = model
        self._layers = tuple(layers)
        self._model_name = model_name
        self._model_fingerprint = model_fingerprint
        self._language = language

    @property
    def lowest_layer(self) -> int:
        """Index of the lowest layer with a trained neuron: the backward pass ends there."""
        return self._layers[0].layer.index

    def parameters(self) -> list[nn.Parameter]:
        """Return the masters, in the order of `trained_rows`."""
        return [split.ffn.subnetwork.rows[part.role] for split in self._layers for part in split.layer.slices]

    def trained_rows(self) -> TrainedRows:
        """Return the present values and where they belong; they share memory with the masters."""
        groups = tuple(
            RowGroup(
                place=_place(split.layer, part),
                neurons=split.chosen.cpu(),
                values=split.ffn.subnetwork.rows[part.role].detach(),
            )
            for split in self._layers
            for part in split.layer.slices
        )
        return TrainedRows(
            groups=groups,
            model_name=self._model_name,
            model_fingerprint=self._model_fingerprint,
            language=self._language,
        )

    def load_rows(self, rows: TrainedRows) -> None:
        """Set the masters to `rows`.

        Raises:
            UserError: the rows are of other neurons than this split.
        """
        own = self.trained_rows().groups
        same = len(own) == len(rows.groups) and all(
            mine.place == theirs.place
            and torch.equal(mine.neurons, theirs.neurons)
            and mine.values.shape == theirs.values.shape
            for mine, theirs in zip(own, rows.groups, strict=True)
        )
        if not same:
            raise UserError(
                "The trained rows are of other neurons than the chosen ones; use the neuron set of that run."
            )
        for mine, theirs in zip(own, rows.groups, strict=True):
            mine.values.copy_(theirs.values)

    def save_weights(self, folder: Path) -> None:
        """Write `rows.safetensors` into `folder`."""
        self.trained_rows().save(folder / ROWS_FILE)

    def load_weights(self, folder: Path) -> None:
        """Set the masters to what `save_weights` wrote.

        Raises:
            UserError: the file is missing, damaged or of other neurons.
        """
        self.load_rows(TrainedRows.load(folder / ROWS_FILE))

    def restore(self) -> None:
        """Make the model dense again, with the trained weights in place; this object is of no use afterwards."""
        for split in self._layers:
            _restore_layer(self._model, split)
        self._layers = ()


def split_model(
    model: PreTrainedModel,
    layout: FfnLayout,
    neurons: Sequence[NDArray[np.int64]],
    *,
    model_name: str = "",
    model_fingerprint: str | None = None,
    language: str = "",
) -> Subnetwork:
    """Split every MLP of `model` that has chosen neurons, in place; everything else is frozen.

    A layer's full matrices are freed as soon as its two parts exist, so the model takes no more memory than before.

    Args:
        model: weights in memory.
        layout: of this model.
        neurons: per layer, the chosen neurons.
        model_name: of the base model, for the trained rows.
        model_fingerprint: of the base model, for the trained rows.
        language: BCP-47 tag that is going to be taught, for the trained rows.

    Raises:
        UserError: no neuron at all, or neurons that this model does not have.
    """
    if len(neurons) != len(layout.layers):
        raise UserError(
            f"The neuron set has {len(neurons)} layers, the model {len(layout.layers)}; choose its own set."
        )
    chosen = [np.unique(np.asarray(layer_neurons, dtype=np.int64)) for layer_neurons in neurons]
    if not any(len(layer_neurons) for layer_neurons in chosen):
        raise UserError("No neuron is chosen, so there is nothing to train; choose a language that has neurons.")
    for layer, layer_neurons in zip(layout.layers, chosen, strict=True):
        if len(layer_neurons) and not 0 <= layer_neurons[0] <= layer_neurons[-1] < layer.intermediate_size:
            raise UserError(
                f"The neuron set names neuron {layer_neurons[-1]} of layer {layer.index}, but the model has only "
                f"{layer.intermediate_size} a layer; choose the neuron set of this model."
            )
    model.requires_grad_(False)
    layers = [
        _split_layer(model, layer, torch.from_numpy(layer_neurons))
        for layer, layer_neurons in zip(layout.layers, chosen, strict=True)
        if len(layer_neurons)
    ]
    return Subnetwork(model, layers, model_name=model_name, model_fingerprint=model_fingerprint, language=language)


@torch.no_grad()
def _split_layer(model: PreTrainedModel, layer: FfnLayer, chosen: Tensor) -> _SplitLayer:
    parameters = {part.parameter: model.get_parameter(part.parameter) for part in layer.slices}
    chosen = chosen.to(next(iter(parameters.values())).device)
    is_kept = torch.ones(layer.intermediate_size, dtype=torch.bool, device=chosen.device)
    is_kept[chosen] = False
    kept = is_kept.nonzero().squeeze(1)
    activation = activation_of(model, layer)
    bias = model.get_submodule(_module_of(_part(layer, "down").parameter)).bias
    frozen_rows = {part.role: _take(parameters[part.parameter], part, layer, kept) for part in layer.slices}
    trained_rows = {part.role: _take(parameters[part.parameter], part, layer, chosen) for part in layer.slices}
    ffn = SplitFfn(
        FrozenFfn(frozen_rows, bias.detach() if isinstance(bias, Tensor) else None, activation),
        SubnetworkFfn(trained_rows, activation),
    )
    split = _SplitLayer(
        layer=layer,
        ffn=ffn,
        chosen=chosen,
        kept=kept,
        replaced=_replace_modules(model, layer, ffn),
        parameters=parameters,
        shapes={name: parameter.shape for name, parameter in parameters.items()},
    )
    for parameter in parameters.values():
        parameter.data = parameter.new_empty(0)
    return split


@torch.no_grad()
def _restore_layer(model: PreTrainedModel, split: _SplitLayer) -> None:
    for name, parameter in split.parameters.items():
        parameter.data = parameter.new_empty(split.shapes[name])
    for part in split.layer.slices:
        parameter = split.parameters[part.parameter]
        place = _place(split.layer, part)
        frozen = split.ffn.frozen.get_buffer(part.role)
        for neurons, values in ((split.kept, frozen), (split.chosen, split.ffn.subnetwork.rows[part.role])):
            RowGroup(place=place, neurons=neurons, values=values).put_into(parameter.data)
    for name, module in split.replaced.items():
        model.set_submodule(name, module)


def _replace_modules(model: PreTrainedModel, layer: FfnLayer, ffn: SplitFfn) -> dict[str, nn.Module]:
    """Put `ffn` into the model and return what stood there.

    Gated MLPs are modules of one input and one output. The others are not: OPT has no MLP module and BLOOM's adds the
    residual, so there the second projection becomes `ffn` and what comes before it passes its input through.
    """
    if layer.gated:
        new: dict[str, nn.Module] = {layer.mlp_module: ffn}
    else:
        new = {
            _module_of(_part(layer, "up").parameter): nn.Identity(),
            layer.activation_module: nn.Identity(),
            _module_of(_part(layer, "down").parameter): ffn,
        }
    replaced = {name: model.get_submodule(name) for name in new}
    for name, module in new.items():
        model.set_submodule(name, module)
    return replaced


def _part(layer: FfnLayer, role: str) -> NeuronSlice:
    return next(part for part in layer.slices if part.role == role)


def _place(layer: FfnLayer, part: NeuronSlice) -> RowPlace:
    return RowPlace(layer=layer.index, role=part.role, parameter=part.parameter, axis=part.axis, start=part.start)


def _module_of(parameter: str) -> str:
    return parameter.rpartition(".")[0]


def _take(parameter: Tensor, part: NeuronSlice, layer: FfnLayer, neurons: Tensor) -> Tensor:
    """Return the neurons' values, neuron-major and contiguous: (n, hidden_size), or (n,) of a bias."""
    rows = parameter.movedim(part.axis, 0)[part.start : part.start + layer.intermediate_size]
    return rows.index_select(0, neurons).contiguous()
