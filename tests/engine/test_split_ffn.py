"""A split model computes the dense model's function, and trains exactly the chosen neurons."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import PreTrainedModel

from lapestudio.core.errors import UserError
from lapestudio.engine.ffn_layout import FfnLayout, layout_for
from lapestudio.engine.split_ffn import Subnetwork, split_model
from lapestudio.engine.trained_rows import RowGroup, TrainedRows
from tests.engine.tiny_models import FAMILIES, tiny_model

ALL = range(48)
CHOICES: dict[str, Sequence[Sequence[int]]] = {
    "some": ((), (0, 7, 46, 47), (3, 4, 5)),
    "all of a layer": ((2,), (), tuple(ALL)),
}


def as_arrays(neurons: Sequence[Sequence[int]]) -> list[NDArray[np.int64]]:
    return [np.array(layer, dtype=np.int64) for layer in neurons]


def make_ids() -> Tensor:
    return torch.randint(3, 101, (2, 9), generator=torch.Generator().manual_seed(2))


def model_loss(model: PreTrainedModel) -> Tensor:
    logits = model(input_ids=make_ids(), use_cache=False).logits
    return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), make_ids()[:, 1:].flatten())


def snapshot(model: PreTrainedModel) -> dict[str, Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def dense_rows(tensor: Tensor, group: RowGroup) -> Tensor:
    """Pick rows, columns or entries by plain indexing, neuron-major."""
    picks = [int(neuron) + group.place.start for neuron in group.neurons]
    if group.place.axis == 0:
        return torch.stack([tensor[pick] for pick in picks])
    return torch.stack([tensor[:, pick] for pick in picks])


def split(model: PreTrainedModel, neurons: Sequence[Sequence[int]]) -> tuple[FfnLayout, Subnetwork]:
    layout = layout_for(model)
    return layout, split_model(model, layout, as_arrays(neurons), model_name="tiny", language="mt")


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("family", FAMILIES)
def test_function_and_gradients_equal_the_dense_models(family: str, choice: str) -> None:
    dense = tiny_model(family, dtype=torch.float64)
    dense.requires_grad_(True)
    expected_loss = model_loss(dense)
    expected_loss.backward()
    with torch.no_grad():
        expected_logits = dense(input_ids=make_ids()).logits

    model = tiny_model(family, dtype=torch.float64)
    _, subnetwork = split(model, CHOICES[choice])
    logits = model(input_ids=make_ids()).logits
    torch.testing.assert_close(
        logits.detach(), expected_logits, rtol=0, atol=1e-12 * float(expected_logits.abs().max())
    )
    loss = model_loss(model)
    loss.backward()

    trained = {id(parameter) for parameter in subnetwork.parameters()}
    for name, parameter in model.named_parameters():
        assert parameter.requires_grad == (id(parameter) in trained), name
        assert (parameter.grad is None) == (id(parameter) not in trained), name
    gradients = {name: parameter.grad for name, parameter in dense.named_parameters()}
    groups = subnetwork.trained_rows().groups
    assert {group.place.layer for group in groups} == {i for i, layer in enumerate(CHOICES[choice]) if layer}
    for group, master in zip(groups, subnetwork.parameters(), strict=True):
        assert group.neurons.tolist() == sorted(CHOICES[choice][group.place.layer])
        dense_gradient = gradients[group.place.parameter]
        assert dense_gradient is not None
        assert master.grad is not None
        expected = dense_rows(dense_gradient, group)
        assert master.grad.shape == expected.shape
        assert (master.grad - expected).abs().max() <= 1e-10 * max(1e-6, float(expected.abs().max()))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_role_of_the_neuron_is_trained(family: str) -> None:
    model = tiny_model(family)
    layout, subnetwork = split(model, CHOICES["some"])
    groups = subnetwork.trained_rows().groups
    assert [(group.place.layer, group.place.role) for group in groups] == [
        (layer.index, part.role) for layer in layout.layers[1:] for part in layer.slices
    ]
    assert {"up", "down"} <= {group.place.role for group in groups}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("family", FAMILIES)
def test_restoring_unchanged_gives_back_every_bit(family: str, dtype: torch.dtype) -> None:
    model = tiny_model(family, dtype=dtype)
    before, names = snapshot(model), [name for name, _ in model.named_modules()]
    _, subnetwork = split(model, CHOICES["some"])
    subnetwork.restore()
    after = snapshot(model)
    assert [name for name, _ in model.named_modules()] == names
    assert list(after) == list(before)
    for name, tensor in before.items():
        assert after[name].dtype == dtype
        assert torch.equal(after[name], tensor), name


@pytest.mark.parametrize("family", FAMILIES)
def test_restoring_after_training_changes_only_the_chosen_neurons(family: str, tmp_path: Path) -> None:
    model = tiny_model(family, dtype=torch.float64)
    before = snapshot(model)
    _, subnetwork = split(model, CHOICES["some"])
    torch.manual_seed(4)
    with torch.no_grad():
        for parameter in subnetwork.parameters():
            parameter += torch.randn_like(parameter)
    rows = subnetwork.trained_rows()
    subnetwork.save_weights(tmp_path)
    with torch.no_grad():
        trained_logits = model(input_ids=make_ids()).logits
    subnetwork.restore()
    with torch.no_grad():
        dense_logits = model(input_ids=make_ids()).logits
    torch.testing.assert_close(dense_logits, trained_logits, rtol=0, atol=1e-12 * float(trained_logits.abs().max()))
    expected = {name: tensor.clone() for name, tensor in before.items()}
    for group in rows.groups:
        for position, neuron in enumerate(group.neurons.tolist()):
            target = expected[group.place.parameter].select(group.place.axis, neuron + group.place.start)
            target.copy_(group.values[position])
    for name, tensor in snapshot(model).items():
        assert torch.equal(tensor, expected[name]), name

    other = tiny_model(family, dtype=torch.float64)
    _, continued = split(other, CHOICES["some"])
    continued.load_weights(tmp_path)
    with torch.no_grad():
        assert torch.equal(other(input_ids=make_ids()).logits, trained_logits)


def test_layers_without_chosen_neurons_are_not_touched() -> None:
    model = tiny_model("llama")
    layout = layout_for(model)
    modules = [model.get_submodule(layer.mlp_module) for layer in layout.layers]
    _, subnetwork = split(model, ((), (1,), ()))
    assert [
        model.get_submodule(layer.mlp_module) is old for layer, old in zip(layout.layers, modules, strict=True)
    ] == [
        True,
        False,
        True,
    ]
    assert subnetwork.lowest_layer == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_the_backward_pass_ends_at_the_lowest_trained_layer(family: str) -> None:
    model = tiny_model(family)
    layout, subnetwork = split(model, ((), (1,), (2,)))
    wants_gradient: dict[int, bool] = {}

    def watch(index: int) -> None:
        block = model.get_submodule(
            layout.layers[index].mlp_module.rpartition(".mlp")[0] or layout.layers[index].mlp_module
        )

        def hook(_module: nn.Module, _inputs: object, output: Tensor | tuple[Tensor, ...]) -> None:
            wants_gradient[index] = (output if isinstance(output, Tensor) else output[0]).requires_grad

        block.register_forward_hook(hook)

    for index in range(3):
        watch(index)
    model_loss(model)
    assert wants_gradient == {0: False, 1: True, 2: True}
    assert subnetwork.lowest_layer == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_full_matrices_are_freed(family: str) -> None:
    model = tiny_model(family)
    before = {id(parameter): parameter for parameter in model.parameters()}
    layout, _subnetwork = split(model, CHOICES["some"])
    kept = {id(parameter) for parameter in model.parameters()}
    gone = [parameter for key, parameter in before.items() if key not in kept and parameter.numel() > 32]
    assert gone == []
    hidden_size = 32
    in_ffn = sum(tensor.numel() for tensor in model.buffers() if tensor.shape[-1:] == (hidden_size,))
    per_neuron = 3 if layout.layers[1].gated else 2
    assert in_ffn >= per_neuron * hidden_size * (2 * 48 - 7)


def test_bfloat16_models_keep_float32_masters() -> None:
    model = tiny_model("llama", dtype=torch.bfloat16)
    _, subnetwork = split(model, CHOICES["some"])
    assert {parameter.dtype for parameter in subnetwork.parameters()} == {torch.float32}
    loss = model_loss(model)
    loss.backward()
    small = [parameter.detach().clone() for parameter in subnetwork.parameters()]
    optimiser = torch.optim.SGD(subnetwork.parameters(), lr=1e-6)
    optimiser.step()
    # Steps far below bfloat16's resolution must add up.
    assert any(not torch.equal(old, new) for old, new in zip(small, subnetwork.parameters(), strict=True))


def test_rows_carry_model_and_language() -> None:
    model = tiny_model("qwen2")
    subnetwork = split_model(
        model, layout_for(model), as_arrays(CHOICES["some"]), model_name="Tiny", model_fingerprint="f", language="mt"
    )
    rows = subnetwork.trained_rows()
    assert (rows.model_name, rows.model_fingerprint, rows.language) == ("Tiny", "f", "mt")


def test_rows_of_other_neurons_are_refused_and_change_nothing(tmp_path: Path) -> None:
    _, one = split(tiny_model("llama", seed=1), ((), (1, 2), ()))
    _, two = split(tiny_model("llama", seed=2), ((), (1, 3), ()))
    one.save_weights(tmp_path)
    before = [parameter.detach().clone() for parameter in two.parameters()]
    with pytest.raises(UserError, match="other neurons"):
        two.load_weights(tmp_path)
    with pytest.raises(UserError, match="other neurons"):
        two.load_rows(TrainedRows(groups=()))
    assert all(torch.equal(old, new) for old, new in zip(before, two.parameters(), strict=True))


@pytest.mark.parametrize(
    ("neurons", "message"),
    [
        (((), (), ()), "No neuron"),
        (((1,), (2,)), "2 layers"),
        (((), (48,), ()), "neuron 48"),
        (((-1,), (), ()), "neuron"),
    ],
)
def test_impossible_choices_are_refused(neurons: Sequence[Sequence[int]], message: str) -> None:
    model = tiny_model("llama")
    before = snapshot(model)
    with pytest.raises(UserError, match=message):
        split(model, neurons)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.named_parameters())
