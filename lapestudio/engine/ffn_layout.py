"""Where the feed-forward neurons of each model family live.

In: a model (weights in memory or on the meta device). Out: for every layer the module whose sign says whether a neuron
is active, and the slices of parameters that belong to its neurons. Every later stage asks here and nowhere else.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn
from transformers import PreTrainedModel

from lapestudio.core.errors import UserError

# Activations whose output is positive exactly where their input is: the sign can be read before the activation.
_SIGN_KEEPING_ACTIVATIONS = frozenset(
    {"silu", "swish", "gelu", "gelu_new", "gelu_fast", "gelu_python", "gelu_pytorch_tanh", "relu"}
)


class UnsupportedArchitectureError(UserError):
    """The model's type, or a variant of it, has no layout here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronSlice:
    """Where one role of a layer's neurons lives: `parameter` along `axis`, neuron i at index `start + i`.

    Roles: `gate`, `up`, `down`, `gate_bias`, `up_bias`; MLPs without a gate have `up`, `up_bias`, `down`.
    """

    role: str
    parameter: str
    axis: int
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FfnLayer:
    """One layer's MLP.

    Args:
        index: of the layer, from 0.
        mlp_module: full name of the module that holds the projections.
        activation_module: full name of the activation function's module.
        intermediate_size: number of neurons.
        gated: whether a gate projection is multiplied with an up projection.
        sign_module: full name of the module whose output's sign says whether a neuron is active.
        sign_start: place of neuron 0 on that output's last axis.
        slices: the parameters of the neurons.
    """

    index: int
    mlp_module: str
    activation_module: str
    intermediate_size: int
    gated: bool
    sign_module: str
    sign_start: int
    slices: tuple[NeuronSlice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FfnLayout:
    """All layers of a model, from the lowest up."""

    model_type: str
    layers: tuple[FfnLayer, ...]

    @property
    def num_layers(self) -> int:
        """Number of layers."""
        return len(self.layers)

    @property
    def intermediate_size(self) -> int:
        """Neurons a layer; the same in every layer."""
        return self.layers[0].intermediate_size


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """Names inside a decoder layer; an empty `mlp` means that the layer itself holds the projections.

    Args:
        layers: attribute of the base model that lists the layers.
        gate: gate projection; empty where there is none; equal to `up` where the two are fused, gate first.
        activation_setting: field of the config that names the activation; empty where the code has one fixed.
    """

    layers: str = "layers"
    mlp: str = "mlp"
    gate: str = "gate_proj"
    up: str = "up_proj"
    down: str = "down_proj"
    activation: str = "act_fn"
    activation_setting: str = "hidden_act"


_GATED = _Family()
# Not here: gemma3, whose text part lies inside a model for pictures; its text-only form is gemma3_text.
_FAMILIES: dict[str, _Family] = {
    "llama": _GATED,
    "mistral": _GATED,
    "qwen2": _GATED,
    "qwen3": _GATED,
    "gemma2": _Family(activation_setting="hidden_activation"),
    "gemma3_text": _Family(activation_setting="hidden_activation"),
    "cohere": _GATED,
    "cohere2": _GATED,
    "olmo2": _GATED,
    "phi3": _Family(gate="gate_up_proj", up="gate_up_proj", activation="activation_fn"),
    "gpt2": _Family(
        layers="h", gate="", up="c_fc", down="c_proj", activation="act", activation_setting="activation_function"
    ),
    "opt": _Family(
        layers="decoder.layers",
        mlp="",
        gate="",
        up="fc1",
        down="fc2",
        activation="activation_fn",
        activation_setting="activation_function",
    ),
    "bloom": _Family(
        layers="h", gate="", up="dense_h_to_4h", down="dense_4h_to_h", activation="gelu_impl", activation_setting=""
    ),
    "gpt_neox": _Family(gate="", up="dense_h_to_4h", down="dense_4h_to_h", activation="act"),
    "phi": _Family(gate="", up="fc1", down="fc2", activation="activation_fn"),
}
SUPPORTED_MODEL_TYPES: tuple[str, ...] = tuple(sorted(_FAMILIES))


def check_supported(model_type: str) -> None:
    """Refuse a model type that has no layout.

    Raises:
        UnsupportedArchitectureError: names the type and the supported ones.
    """
    if model_type not in _FAMILIES:
        raise UnsupportedArchitectureError(
            f"Models of type {model_type!r} are not supported; choose one of these types: "
            f"{', '.join(SUPPORTED_MODEL_TYPES)}."
        )


def layout_for(model: PreTrainedModel) -> FfnLayout:
    """Return the layout of `model`, which may be on the meta device.

    Raises:
        UnsupportedArchitectureError: unknown model type, a variant whose layers are not plain MLPs (experts), or an
            activation function whose sign is not that of its input.
    """
    model_type = str(model.config.model_type)
    check_supported(model_type)
    family = _FAMILIES[model_type]
    _check_variant(model, family)
    prefix = _layers_prefix(model, family)
    stack = model.get_submodule(prefix)
    assert isinstance(stack, nn.ModuleList)
    layers = tuple(_layer(model, family, f"{prefix}.{index}", index) for index in range(len(stack)))
    if not layers:
        raise UnsupportedArchitectureError(f"This {model_type} model has no layers; choose another model.")
    return FfnLayout(model_type=model_type, layers=layers)


def activation_of(model: PreTrainedModel, layer: FfnLayer) -> Callable[[Tensor], Tensor]:
    """Return the activation module of a layer; elementwise."""
    return model.get_submodule(layer.activation_module)


def _check_variant(model: PreTrainedModel, family: _Family) -> None:
    config = model.config
    if family.activation_setting:
        activation = getattr(config, family.activation_setting)
        if activation not in _SIGN_KEEPING_ACTIVATIONS:
            raise UnsupportedArchitectureError(
                f"This {config.model_type} model uses the activation function {activation!r}, whose sign does not say "
                f"whether a neuron is active; models with {', '.join(sorted(_SIGN_KEEPING_ACTIVATIONS))} are supported."
            )
    # BLOOM's way of adding the second projection up in slices reads its weight, which splitting takes apart.
    if getattr(config, "slow_but_exact", False) and getattr(config, "pretraining_tp", 1) > 1:
        raise UnsupportedArchitectureError(
            "This model sets slow_but_exact, which is not supported; set slow_but_exact to false in its config.json."
        )


def _layers_prefix(model: PreTrainedModel, family: _Family) -> str:
    """Return the full name of the list of layers, whether `model` has a head or is the bare body."""
    body = model.base_model_prefix
    has_body = bool(body) and hasattr(model, body)
    return f"{body}.{family.layers}" if has_body else family.layers


def _layer(model: PreTrainedModel, family: _Family, name: str, index: int) -> FfnLayer:
    mlp = f"{name}.{family.mlp}" if family.mlp else name
    try:
        up, down = (model.get_submodule(f"{mlp}.{part}") for part in (family.up, family.down))
    except AttributeError as error:
        raise UnsupportedArchitectureError(
            f"Layer {index} of this {model.config.model_type} model is no plain feed-forward network; models with "
            f"experts or other variants are not supported."
        ) from error
    fused = family.gate == family.up
    down_axis = 0 if _is_transposed(down) else 1
    size = int(down.get_parameter("weight").shape[down_axis])
    slices = [_first_projection("up", f"{mlp}.{family.up}", up, start=size if fused else 0)]
    if family.gate:
        gate = model.get_submodule(f"{mlp}.{family.gate}")
        slices.insert(0, _first_projection("gate", f"{mlp}.{family.gate}", gate, start=0))
    slices += [
        _bias(part) for part in slices if model.get_submodule(part.parameter.rpartition(".")[0]).bias is not None
    ]
    slices.append(NeuronSlice(role="down", parameter=f"{mlp}.{family.down}.weight", axis=down_axis, start=0))
    return FfnLayer(
        index=index,
        mlp_module=mlp,
        activation_module=f"{mlp}.{family.activation}",
        intermediate_size=size,
        gated=bool(family.gate),
        sign_module=f"{mlp}.{family.gate or family.up}",
        sign_start=0,
        slices=tuple(slices),
    )


def _first_projection(role: str, name: str, module: nn.Module, *, start: int) -> NeuronSlice:
    return NeuronSlice(role=role, parameter=f"{name}.weight", axis=1 if _is_transposed(module) else 0, start=start)


def _bias(part: NeuronSlice) -> NeuronSlice:
    parameter = f"{part.parameter.rpartition('.')[0]}.bias"
    return NeuronSlice(role=f"{part.role}_bias", parameter=parameter, axis=0, start=part.start)


def _is_transposed(module: nn.Module) -> bool:
    """Say whether the module stores its weight as (inputs, outputs): GPT-2's Conv1D."""
    return not isinstance(module, nn.Linear)
