"""Streaming patches of weight files: memory, names, number formats, and what a strange file does."""

import tracemalloc
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from lapestudio.core.errors import UserError
from lapestudio.engine.merging import (
    groups_by_tensor,
    is_finite,
    merge_files,
    merged_size,
    stored_tensors,
)
from lapestudio.engine.trained_rows import RowGroup, RowPlace, TrainedRows
from tests.engine.tiny_models import tiny_model

NAME = "model.layers.0.mlp.up_proj.weight"


def one_group(
    values: torch.Tensor, neurons: list[int], *, parameter: str = NAME, axis: int = 0, start: int = 0
) -> TrainedRows:
    place = RowPlace(layer=0, role="up", parameter=parameter, axis=axis, start=start)
    return TrainedRows(groups=(RowGroup(place=place, neurons=torch.tensor(neurons), values=values),))


def merged(
    folder: Path, weights: dict[str, torch.Tensor], rows: TrainedRows, dtype: torch.dtype | None = None
) -> dict[str, torch.Tensor]:
    """Write, merge and read again."""
    out = folder / "out"
    out.mkdir()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt", "other": "x"})
    assert merge_files([folder / "model.safetensors"], rows, out, base_model_prefix="model", dtype=dtype)
    assert (out / "model.safetensors").stat().st_size == merged_size([folder / "model.safetensors"], dtype)
    with safe_open(out / "model.safetensors", framework="pt") as file:
        assert file.metadata() == {"format": "pt"}
    return load_file(out / "model.safetensors")


@pytest.mark.parametrize(("axis", "start"), [(0, 0), (0, 3), (1, 0), (1, 2)])
def test_rows_and_columns_lie_where_their_place_says(tmp_path: Path, axis: int, start: int) -> None:
    before = torch.arange(48.0).reshape(8, 6)
    values = -torch.ones(2, before.shape[1 - axis])
    after = merged(tmp_path, {NAME: before}, one_group(values, [0, 3], axis=axis, start=start))[NAME]
    for row in range(8):
        for column in range(6):
            is_trained = (row, column)[axis] in (start, start + 3)
            assert after[row, column] == (-1 if is_trained else before[row, column])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_trained_values_go_to_the_nearest_number_of_the_format(tmp_path: Path, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(1)
    values = torch.randn(1, 500, generator=generator)
    after = merged(tmp_path, {NAME: torch.zeros(3, 500, dtype=dtype)}, one_group(values, [1]))[NAME]
    assert after.dtype == dtype
    found = after[1].double()
    neighbours = [
        torch.nextafter(after[1], torch.full_like(after[1], bound)).double() for bound in (-torch.inf, torch.inf)
    ]
    for neighbour in neighbours:
        assert ((found - values[0]).abs() <= (neighbour - values[0]).abs()).all()


def test_conversion_reaches_floating_tensors_alone(tmp_path: Path) -> None:
    weights = {NAME: torch.randn(4, 4), "wide": torch.randn(3).double(), "steps": torch.tensor([1 << 40])}
    after = merged(tmp_path, weights, one_group(torch.ones(1, 4), [2]), torch.bfloat16)
    assert {name: tensor.dtype for name, tensor in after.items()} == {
        NAME: torch.bfloat16,
        "wide": torch.bfloat16,
        "steps": torch.int64,
    }
    assert after["steps"].item() == 1 << 40
    assert torch.equal(after["wide"], weights["wide"].bfloat16())


def test_an_infinite_weight_of_the_base_is_kept(tmp_path: Path) -> None:
    before = torch.zeros(3, 2)
    before[0, 0] = -torch.inf
    after = merged(tmp_path, {NAME: before}, one_group(torch.ones(1, 2), [2]))[NAME]
    assert after[0, 0] == -torch.inf


@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_memory_stays_at_one_tensor(tmp_path: Path, dtype: torch.dtype | None) -> None:
    tensor_bytes = 8 << 20
    weights = {f"{number}.{NAME}": torch.zeros(1024, tensor_bytes // 4096) for number in range(12)}
    save_file(weights, tmp_path / "model.safetensors")
    rows = one_group(torch.ones(1, tensor_bytes // 4096), [5], parameter=f"0.{NAME}")
    out = tmp_path / "out"
    out.mkdir()
    tracemalloc.start()
    merge_files([tmp_path / "model.safetensors"], rows, out, base_model_prefix="model", dtype=dtype)
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # What is read is counted: its bytes once as read, once as the tensor's own.
    assert tensor_bytes <= peak < 2.5 * tensor_bytes


@pytest.mark.parametrize("family", ["gpt2", "bloom", "opt", "gpt_neox", "llama"])
def test_files_with_and_without_the_prefix_are_matched(family: str, tmp_path: Path) -> None:
    model = tiny_model(family)
    prefix = model.base_model_prefix
    parameter = next(name for name, _ in model.named_parameters() if name.startswith(f"{prefix}."))
    bare = parameter.removeprefix(f"{prefix}.")
    for stored, trained_in in ((bare, parameter), (parameter, bare), (parameter, parameter)):
        file = tmp_path / "model.safetensors"
        save_file({stored: torch.zeros(4)}, file)
        rows = one_group(torch.ones(1), [0], parameter=trained_in)
        assert list(groups_by_tensor([file], rows, prefix)) == [stored]


def test_a_parameter_that_no_file_has_is_named(tmp_path: Path) -> None:
    save_file({"model.other": torch.zeros(4)}, tmp_path / "model.safetensors")
    with pytest.raises(UserError, match=r"no tensor model\.layers\.0\.mlp\.up_proj\.weight, which was trained"):
        groups_by_tensor([tmp_path / "model.safetensors"], one_group(torch.ones(1, 4), [0]), "model")


def test_a_file_that_is_cut_off_is_told(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file({NAME: torch.zeros(100)}, path)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(UserError, match="cut off"):
        stored_tensors(path)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_not_finite_values_are_seen(bad: float, dtype: torch.dtype) -> None:
    values = torch.randn(40, 40).to(dtype)
    assert is_finite(values)
    values[7, 9] = bad
    assert not is_finite(values)
    assert is_finite(torch.empty(0, dtype=dtype))
