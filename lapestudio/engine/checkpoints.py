"""Checkpoints on disk: a folder that is there completely or not at all.

In: what is trained, the optimiser and where the training stands. Out: `checkpoints/last` and `checkpoints/best`, each
with the trained weights and `state.json`; `last` also with `optimiser.safetensors` (moments and random states), from
which the training goes on as if nothing had happened. The training loop writes and reads them.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from lapestudio.core.atomic import fsync_directory
from lapestudio.core.errors import UserError
from lapestudio.engine.trained_rows import save_tensors

STATE_FILE = "state.json"
TENSORS_FILE = "optimiser.safetensors"
_RANDOM_CPU = "random/cpu"
_RANDOM_CUDA = "random/cuda"


class TrainingState(BaseModel):
    """Where a training stands: `step` optimiser steps are done, `position` blocks of the endless order are read."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    step: int = Field(default=0, ge=0)
    tokens: int = Field(default=0, ge=0, description="predicted tokens so far")
    position: int = Field(default=0, ge=0)
    micro_batch: int = Field(ge=1, description="blocks computed at once; falls when memory runs out")
    validated_step: int = Field(default=-1, description="step of the latest complete validation")
    first_loss: float = Field(default=float("nan"), description="validation loss before training, nats a token")
    latest_loss: float = Field(default=float("nan"), description="validation loss at validated_step")
    best_loss: float = Field(default=float("inf"), description="lowest validation loss so far")
    best_step: int = 0
    settings_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A complete checkpoint.

    Args:
        path: its folder.
        state: where the training stood.
        tensors: of optimiser and random states; empty in `best`.
        notice: what the user should know about it, else None.
    """

    path: Path
    state: TrainingState
    tensors: dict[str, Tensor]
    notice: str | None = None


def write_checkpoint(
    folder: Path,
    name: Literal["last", "best"],
    *,
    state: TrainingState,
    save_weights: Callable[[Path], None],
    tensors: Mapping[str, Tensor],
) -> None:
    """Write `folder/name`, or leave the present one.

    At every moment either `name` or `name.previous` is a complete checkpoint once there was one.

    Args:
        folder: made when it is missing.
        name: which checkpoint.
        state: where the training stands.
        save_weights: writes what is trained into the folder that it is given.
        tensors: of optimiser and random states; none for a checkpoint that nothing continues from.

    Raises:
        OSError: not writable, or the disk is full.
    """
    folder.mkdir(parents=True, exist_ok=True)
    final, previous, partial = folder / name, _previous(folder, name), folder / f"{name}.partial"
    if partial.exists():
        shutil.rmtree(partial)
    partial.mkdir()
    save_weights(partial)
    if tensors:
        save_tensors(tensors, partial / TENSORS_FILE)
    (partial / STATE_FILE).write_text(state.model_dump_json(indent=2) + "\n", encoding="utf-8", newline="\n")
    _fsync_content(partial)
    if final.exists():
        if previous.exists():
            shutil.rmtree(previous)
        final.rename(previous)
    partial.rename(final)
    fsync_directory(folder)
    if previous.exists():
        shutil.rmtree(previous)


def read_checkpoint(
    folder: Path, name: Literal["last", "best"], *, load_weights: Callable[[Path], None] | None
) -> Checkpoint:
    """Load the checkpoint `folder/name`, or the one before it where that is missing or damaged.

    Args:
        folder: that `write_checkpoint` was given.
        name: which checkpoint.
        load_weights: reads what `save_weights` wrote from the folder that it is given; raises UserError if it cannot;
            None: where the training stood is all that is wanted.

    Raises:
        UserError: there is no usable one.
    """
    try:
        return _read(folder / name, load_weights)
    except UserError as error:
        if not _previous(folder, name).exists():
            raise
        before = _read(_previous(folder, name), load_weights)
        notice = f"{error} The checkpoint before it, of step {before.state.step}, is used instead."
        return Checkpoint(path=before.path, state=before.state, tensors=before.tensors, notice=notice)


def state_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return copies of all tensors of the optimiser's state and of torch's random states, under flat names."""
    tensors = {
        f"{index}/{name}": value.detach().cpu().clone()
        for index, values in optimiser.state_dict()["state"].items()
        for name, value in values.items()
    }
    tensors[_RANDOM_CPU] = torch.get_rng_state()
    for device in range(torch.cuda.device_count()):
        tensors[f"{_RANDOM_CUDA}/{device}"] = torch.cuda.get_rng_state(device)
    return tensors


def load_state_tensors(optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Set the optimiser's state and torch's random states to what `state_tensors` returned."""
    state: dict[int, dict[str, Any]] = {}
    for key, tensor in tensors.items():
        place, _, name = key.rpartition("/")
        if key == _RANDOM_CPU:
            torch.set_rng_state(tensor)
        elif place == _RANDOM_CUDA:
            # A run may go on where there are fewer devices; their streams are then not needed.
            if int(name) < torch.cuda.device_count():
                torch.cuda.set_rng_state(tensor, int(name))
        else:
            state.setdefault(int(place), {})[name] = tensor
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


def _read(path: Path, load_weights: Callable[[Path], None] | None) -> Checkpoint:
    try:
        state = TrainingState.model_validate_json((path / STATE_FILE).read_bytes())
        has_tensors = (path / TENSORS_FILE).exists()
        # Cloned: the file is mapped, and the next checkpoint removes it.
        tensors = {key: tensor.clone() for key, tensor in load_file(path / TENSORS_FILE).items()} if has_tensors else {}
    except FileNotFoundError as error:
        raise UserError(f"There is no checkpoint in {path}; start the training anew.") from error
    except (ValidationError, SafetensorError, OSError) as error:
        raise UserError(f"The checkpoint {path} is damaged; start the training anew.") from error
    if load_weights is not None:
        load_weights(path)
    return Checkpoint(path=path, state=state, tensors=tensors)


def _previous(folder: Path, name: str) -> Path:
    return folder / f"{name}.previous"


def _fsync_content(folder: Path) -> None:
    for path in folder.iterdir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    fsync_directory(folder)
