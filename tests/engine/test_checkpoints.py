"""A checkpoint is there completely or not at all."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from lapestudio.core.errors import UserError
from lapestudio.engine import checkpoints
from lapestudio.engine.checkpoints import (
    TrainingState,
    load_state_tensors,
    read_checkpoint,
    state_tensors,
    write_checkpoint,
)


def state(step: int) -> TrainingState:
    return TrainingState(step=step, micro_batch=2, settings_hash="h", first_loss=3.0, latest_loss=2.0)


def weights_writer(text: str) -> Callable[[Path], None]:
    def save(folder: Path) -> None:
        (folder / "weights").write_text(text, encoding="utf-8")

    return save


def load_weights(folder: Path) -> None:
    if not (folder / "weights").exists():
        raise UserError(f"{folder} has no weights.")


def write(folder: Path, step: int) -> None:
    write_checkpoint(
        folder, "last", state=state(step), save_weights=weights_writer(str(step)), tensors={"0/m": torch.ones(3) * step}
    )


def test_the_second_replaces_the_first_and_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "run ქ" / "checkpoints"
    write(folder, 1)
    write(folder, 2)
    checkpoint = read_checkpoint(folder, "last", load_weights=load_weights)
    assert checkpoint.state == state(2)
    assert checkpoint.notice is None
    assert torch.equal(checkpoint.tensors["0/m"], torch.full((3,), 2.0))
    assert (checkpoint.path / "weights").read_text(encoding="utf-8") == "2"
    assert [path.name for path in folder.iterdir()] == ["last"]


def test_best_needs_no_tensors(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, "best", state=state(3), save_weights=weights_writer("3"), tensors={})
    assert read_checkpoint(tmp_path, "best", load_weights=load_weights).tensors == {}


def test_none_and_damaged_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no checkpoint"):
        read_checkpoint(tmp_path, "last", load_weights=load_weights)
    write(tmp_path, 1)
    (tmp_path / "last" / checkpoints.STATE_FILE).write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match="damaged"):
        read_checkpoint(tmp_path, "last", load_weights=load_weights)


@pytest.mark.parametrize("damaged", ["state.json", "optimiser.safetensors", "weights"])
def test_damaged_last_falls_back_and_says_so(tmp_path: Path, damaged: str) -> None:
    write(tmp_path, 1)
    (tmp_path / "last").rename(tmp_path / "last.previous")
    write(tmp_path / "other", 2)
    (tmp_path / "other" / "last").rename(tmp_path / "last")
    if damaged == "weights":
        (tmp_path / "last" / damaged).unlink()
    else:
        (tmp_path / "last" / damaged).write_bytes(b"\x00" * 20)
    checkpoint = read_checkpoint(tmp_path, "last", load_weights=load_weights)
    assert checkpoint.state.step == 1
    assert checkpoint.notice is not None
    assert "step 1" in checkpoint.notice


def test_interrupted_anywhere_a_good_one_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails at each file operation of a replacement in turn; what is read back is the old or the new, whole."""
    steps_seen, failed = set(), 0
    for failing_call in range(30):
        folder = tmp_path / str(failing_call)
        write(folder, 1)
        with monkeypatch.context() as patch:
            calls = _fail_at(patch, failing_call)
            try:
                write(folder, 2)
            except InterruptedError:
                failed += 1
        steps_seen.add(read_checkpoint(folder, "last", load_weights=load_weights).state.step)
        write(folder, 3)
        assert read_checkpoint(folder, "last", load_weights=load_weights).state.step == 3
        assert [path.name for path in folder.iterdir()] == ["last"]
        if calls() <= failing_call:
            break
    assert failed >= 5
    assert steps_seen == {1, 2}


def _fail_at(patch: pytest.MonkeyPatch, failing_call: int) -> Callable[[], int]:
    count = 0

    def counted(original: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            nonlocal count
            count += 1
            if count == failing_call + 1:
                raise InterruptedError("power cut")
            return original(*arguments, **named)

        return call

    patch.setattr(Path, "rename", counted(Path.rename))
    patch.setattr(Path, "mkdir", counted(Path.mkdir))
    patch.setattr(checkpoints.os, "fsync", counted(checkpoints.os.fsync))
    patch.setattr(checkpoints.shutil, "rmtree", counted(checkpoints.shutil.rmtree))
    patch.setattr(checkpoints, "save_tensors", counted(checkpoints.save_tensors))
    return lambda: count


def test_optimiser_and_random_state_go_on_bit_for_bit() -> None:
    def optimiser_of(parameter: torch.nn.Parameter) -> torch.optim.AdamW:
        return torch.optim.AdamW([parameter], lr=0.1, fused=True)

    def step(parameter: torch.nn.Parameter, optimiser: torch.optim.AdamW) -> None:
        parameter.grad = torch.randn(5)
        optimiser.step()

    torch.manual_seed(3)
    one = torch.nn.Parameter(torch.randn(5))
    optimiser = optimiser_of(one)
    for _ in range(3):
        step(one, optimiser)
    saved, values = state_tensors(optimiser), one.detach().clone()
    for _ in range(3):
        step(one, optimiser)
    two = torch.nn.Parameter(values)
    other = optimiser_of(two)
    torch.manual_seed(99)
    load_state_tensors(other, saved)
    for _ in range(3):
        step(two, other)
    assert torch.equal(one, two)
