"""Layouts of every family: the slices hold the neurons' weights, told by switching neurons off by hand."""

import pytest
import torch
from transformers import AutoModelForCausalLM, MixtralConfig

from lapestudio.engine.ffn_layout import (
    SUPPORTED_MODEL_TYPES,
    UnsupportedArchitectureError,
    activation_of,
    check_supported,
    layout_for,
)
from lapestudio.engine.loading import empty_model
from tests.engine.tiny_models import FAMILIES, NUM_LAYERS, tiny_config, tiny_model


def test_every_supported_type_is_tested() -> None:
    assert set(SUPPORTED_MODEL_TYPES) == set(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_zeroing_a_neurons_output_column_equals_zeroing_its_activation(family: str) -> None:
    model = tiny_model(family, dtype=torch.float64)
    layout = layout_for(model)
    layer = layout.layers[1]
    ids = torch.randint(3, 100, (2, 9), generator=torch.Generator().manual_seed(2))

    def switch_off(_module: object, _inputs: object, output: torch.Tensor) -> torch.Tensor:
        changed = output.clone()
        changed[..., 5] = 0
        return changed

    hook = activation_of(model, layer).register_forward_hook(switch_off)
    expected = model(ids).logits
    hook.remove()
    before = model(ids).logits
    down = next(part for part in layer.slices if part.role == "down")
    with torch.no_grad():
        model.get_parameter(down.parameter).select(down.axis, down.start + 5).zero_()
    assert (model(ids).logits - expected).abs().max() < 1e-12
    assert (before - expected).abs().max() > 1e-6


@pytest.mark.parametrize("family", FAMILIES)
def test_zeroing_a_neurons_input_rows_silences_it(family: str) -> None:
    model = tiny_model(family, dtype=torch.float64)
    layer = layout_for(model).layers[1]
    seen: list[torch.Tensor] = []
    model.get_submodule(layer.sign_module).register_forward_hook(lambda _m, _i, output: seen.append(output))
    ids = torch.randint(3, 100, (1, 9), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        for part in layer.slices:
            if part.role != "down":
                model.get_parameter(part.parameter).select(part.axis, part.start + 5).zero_()
        model(ids)
    assert (seen[0][..., layer.sign_start + 5] == 0).all()
    assert (seen[0][..., layer.sign_start + 4] != 0).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_layout_is_known_before_the_weights_are(family: str) -> None:
    assert layout_for(empty_model(tiny_config(family))) == layout_for(tiny_model(family))


@pytest.mark.parametrize("family", FAMILIES)
def test_slices_cover_the_mlp_but_for_the_output_bias(family: str) -> None:
    model = tiny_model(family)
    layout = layout_for(model)
    assert layout.num_layers == NUM_LAYERS
    for layer in layout.layers:
        names = {part.parameter for part in layer.slices}
        prefix = f"{layer.mlp_module}."
        present = {
            name
            for name, _parameter in model.named_parameters()
            if name.startswith(prefix) and "attn" not in name and "norm" not in name
        }
        down = next(part.parameter for part in layer.slices if part.role == "down")
        assert present - names <= {down.replace(".weight", ".bias")}
        assert names <= present


def test_mlp_biases_of_a_llama_are_found() -> None:
    layer = layout_for(tiny_model("llama", mlp_bias=True)).layers[0]
    assert {part.role for part in layer.slices} == {"gate", "up", "down", "gate_bias", "up_bias"}


@pytest.mark.parametrize("model_type", ["mamba", "mixtral", "qwen2_moe", "gemma3", "gemma3n", "t5", "phi3_v", ""])
def test_unknown_type_is_refused_by_name(model_type: str) -> None:
    with pytest.raises(UnsupportedArchitectureError, match=rf"'{model_type}'.*llama.*qwen3"):
        check_supported(model_type)


def test_experts_are_refused() -> None:
    config = MixtralConfig(
        vocab_size=32, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, num_local_experts=2,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_config(config)
    with pytest.raises(UnsupportedArchitectureError, match="mixtral"):
        layout_for(model)


@pytest.mark.parametrize("activation", ["tanh", "relu2", "mish"])
def test_activations_that_hide_the_sign_are_refused(activation: str) -> None:
    model = tiny_model("llama", hidden_act=activation)
    with pytest.raises(UnsupportedArchitectureError, match=activation):
        layout_for(model)


@pytest.mark.parametrize(
    "name", ["silu", "swish", "gelu", "gelu_new", "gelu_fast", "gelu_python", "gelu_pytorch_tanh", "relu"]
)
def test_supported_activations_keep_the_sign(name: str) -> None:
    from transformers.activations import ACT2FN

    values = torch.cat([torch.linspace(-4, 4, 4001, dtype=torch.float64), torch.tensor([-0.0, 0.0, 1e-30])])
    assert ((ACT2FN[name](values) > 0) == (values > 0)).all()


def test_blooms_sliced_projection_is_refused() -> None:
    model = tiny_model("bloom", slow_but_exact=True, pretraining_tp=2)
    with pytest.raises(UnsupportedArchitectureError, match="slow_but_exact"):
        layout_for(model)
