"""Trained rows keep everything that merging needs."""

import signal
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from lapestudio.core.errors import UserError
from lapestudio.engine.trained_rows import RowGroup, RowPlace, TrainedRows


def make_rows() -> TrainedRows:
    neurons = torch.tensor([1, 4, 5])
    gate = RowPlace(layer=2, role="gate", parameter="m.2.gate_up.weight", axis=0, start=0)
    up = RowPlace(layer=2, role="up", parameter="m.2.gate_up.weight", axis=0, start=8)
    down = RowPlace(layer=2, role="down", parameter="m.2.down.weight", axis=1, start=0)
    bias = RowPlace(layer=2, role="up_bias", parameter="m.2.bias", axis=0, start=0)
    shapes = {gate: (3, 6), up: (3, 6), down: (3, 6), bias: (3,)}
    groups = tuple(RowGroup(place=p, neurons=neurons, values=torch.randn(shape)) for p, shape in shapes.items())
    return TrainedRows(groups=groups, model_name="tiny", model_fingerprint="abc", language="mt")


def test_file_round_trip_keeps_every_field_and_bit(tmp_path: Path) -> None:
    rows, path = make_rows(), tmp_path / "rows with space ქართული.safetensors"
    rows.save(path)
    loaded = TrainedRows.load(path)
    assert (loaded.model_name, loaded.model_fingerprint, loaded.language) == ("tiny", "abc", "mt")
    assert [group.place for group in loaded.groups] == [group.place for group in rows.groups]
    for before, after in zip(rows.groups, loaded.groups, strict=True):
        assert torch.equal(before.neurons, after.neurons)
        assert torch.equal(before.values.view(torch.int32), after.values.view(torch.int32))
    assert loaded.num_values == 3 * 6 * 3 + 3
    assert list(tmp_path.iterdir()) == [path]


def test_unknown_fingerprint_stays_unknown(tmp_path: Path) -> None:
    TrainedRows(groups=()).save(tmp_path / "r.safetensors")
    assert TrainedRows.load(tmp_path / "r.safetensors").model_fingerprint is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_putting_rows_changes_only_their_neurons(dtype: torch.dtype) -> None:
    gate, up, down, bias = make_rows().groups
    fused, second, first_bias = (
        torch.zeros(16, 6, dtype=dtype),
        torch.zeros(6, 8, dtype=dtype),
        torch.zeros(8).to(dtype),
    )
    up.put_into(fused)
    gate.put_into(fused)
    down.put_into(second)
    bias.put_into(first_bias)
    for position, neuron in enumerate((1, 4, 5)):
        assert torch.equal(fused[neuron], gate.values[position].to(dtype))
        assert torch.equal(fused[8 + neuron], up.values[position].to(dtype))
        assert torch.equal(second[:, neuron], down.values[position].to(dtype))
        assert first_bias[neuron] == bias.values[position].to(dtype)
    others = [0, 2, 3, 6, 7]
    assert not fused[others].any()
    assert not fused[[8 + other for other in others]].any()
    assert not second[:, others].any()
    assert not first_bias[others].any()


@pytest.mark.parametrize("shape", [(16, 7), (4, 6), (16,)])
def test_rows_of_another_size_are_refused(shape: tuple[int, ...]) -> None:
    gate = make_rows().groups[0]
    tensor = torch.zeros(shape)
    with pytest.raises(ValueError, match="do not fit"):
        gate.put_into(tensor)
    assert not tensor.any()


def test_wrong_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        TrainedRows.load(tmp_path / "none.safetensors")
    (tmp_path / "junk.safetensors").write_bytes(b"not a safetensors file")
    with pytest.raises(UserError, match="cannot be read"):
        TrainedRows.load(tmp_path / "junk.safetensors")
    save_file({"weight": torch.zeros(2)}, tmp_path / "model.safetensors")
    with pytest.raises(UserError, match="holds no trained rows"):
        TrainedRows.load(tmp_path / "model.safetensors")


def test_file_without_a_listed_tensor_is_damaged(tmp_path: Path) -> None:
    make_rows().save(tmp_path / "whole.safetensors")
    with safe_open(tmp_path / "whole.safetensors", framework="pt") as file:
        metadata, keys = file.metadata(), list(file.keys())
        tensors = {key: file.get_tensor(key) for key in keys if not key.endswith("gate/values")}
    save_file(tensors, tmp_path / "part.safetensors", metadata=metadata)
    with pytest.raises(UserError, match="damaged"):
        TrainedRows.load(tmp_path / "part.safetensors")


def test_a_disk_that_is_full_is_an_os_error_and_leaves_the_old_file(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "rows.safetensors"
    make_rows().save(path)
    before = path.read_bytes()
    large = RowGroup(place=make_rows().groups[0].place, neurons=torch.arange(9999), values=torch.zeros(9999, 6))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            TrainedRows(groups=(large,)).save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
