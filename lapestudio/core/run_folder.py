"""A run on disk: the names of its files and their small documents live here and nowhere else."""

import re
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from lapestudio.core.atomic import write_text_atomically
from lapestudio.core.errors import UserError
from lapestudio.core.specs import JobSpec, spec_from_json

RunState = Literal["starting", "running", "done", "stopped", "failed"]


class RunStatus(BaseModel):
    """Who runs the job and how far it is; replaced as a whole."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: RunState
    pid: int
    process_started: float
    """Start time of the process, seconds since 1970: tells a process from a later one with the same number."""
    started: float
    finished: float | None = None


class RunFolder:
    """The folder of one run.

    Args:
        path: the folder; need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path).absolute()

    @classmethod
    def create(cls, path: Path, spec: JobSpec) -> "RunFolder":
        """Make a new run folder that holds `spec`.

        A folder in which a job has failed before it had any result may be used again.

        Raises:
            UserError: the folder exists and is not empty, or cannot be made.
        """
        run = cls(path)
        try:
            run._forget_failure()
            if run.path.is_dir() and any(run.path.iterdir()):
                raise UserError(f"{run.path} exists already and is not empty; choose another folder for the run.")
            run.path.mkdir(parents=True, exist_ok=True)
            write_text_atomically(run.spec_file, spec.model_dump_json(indent=2) + "\n")
        except OSError as error:
            raise UserError(f"{run.path} cannot be written: {error.strerror}.") from error
        return run

    @classmethod
    def new_path(cls, runs: Path, kind: str, label: str, now: datetime) -> Path:
        """Return a path under `runs` that does not exist yet, as `2026-12-01_1432_train_mt`."""
        label = re.sub(r"[^\w-]+", "-", label).strip("-")
        stem = "_".join(part for part in (now.strftime("%Y-%m-%d_%H%M"), kind, label) if part)
        path, number = runs / stem, 2
        while path.exists():
            path, number = runs / f"{stem}_{number}", number + 1
        return path

    def _forget_failure(self) -> None:
        """Remove what a job leaves that failed without a result, and nothing else."""
        traces = {self.spec_file, self.events_file, self.status_file, self.log_file, self.stop_file}
        if not self.status_file.is_file() or not set(self.path.iterdir()) <= traces | {self.blocks_folder}:
            return
        status = self.read_status()
        if status is None or status.state != "failed":
            return
        for path in [*traces, *self.blocks_folder.glob("*.arrow")]:
            path.unlink(missing_ok=True)
        if self.blocks_folder.is_dir():
            self.blocks_folder.rmdir()

    @property
    def spec_file(self) -> Path:
        """What was asked."""
        return self.path / "spec.json"

    @property
    def events_file(self) -> Path:
        """What happened."""
        return self.path / "events.jsonl"

    @property
    def status_file(self) -> Path:
        """Who runs it."""
        return self.path / "status.json"

    @property
    def log_file(self) -> Path:
        """What the libraries printed."""
        return self.path / "log.txt"

    @property
    def stop_file(self) -> Path:
        """Its presence asks the job to stop."""
        return self.path / "stop"

    @property
    def split_file(self) -> Path:
        """How a training's text was split."""
        return self.path / "split.json"

    @property
    def test_text_file(self) -> Path:
        """Text that a training kept for a last test."""
        return self.path / "test.jsonl"

    @property
    def fetched_text_file(self) -> Path:
        """Text that was fetched from the hub."""
        return self.path / "text.jsonl"

    @property
    def fetch_state_file(self) -> Path:
        """How far a fetch is."""
        return self.path / "fetch-state.json"

    @property
    def counts_file(self) -> Path:
        """Activation counts."""
        return self.path / "counts.safetensors"

    @property
    def partial_counts_file(self) -> Path:
        """Activation counts while they come in."""
        return self.path / "counts.partial"

    @property
    def neurons_file(self) -> Path:
        """The neuron set that was selected or is trained."""
        return self.path / "neurons.safetensors"

    @property
    def blocks_folder(self) -> Path:
        """Token blocks, one file a corpus."""
        return self.path / "blocks"

    @property
    def checkpoints_folder(self) -> Path:
        """Checkpoints `last` and `best`."""
        return self.path / "checkpoints"

    def rows_file(self, checkpoint: Literal["best", "last"]) -> Path:
        """Trained rows of a checkpoint."""
        return self.checkpoints_folder / checkpoint / "rows.safetensors"

    @property
    def has_checkpoint(self) -> bool:
        """Whether there are trained rows to go on with or to export.

        A kill between the two renames that put a checkpoint in place leaves the earlier one under `last.previous`.
        """
        places = (self.checkpoints_folder / name for name in ("last", "last.previous"))
        return any((place / "rows.safetensors").exists() for place in places)

    @property
    def can_go_on(self) -> bool:
        """Whether an attempt has left something from which the next one goes on."""
        return self.has_checkpoint or self.fetch_state_file.exists()

    @property
    def results_file(self) -> Path:
        """Tables of an evaluation or export, as JSON."""
        return self.path / "results.json"

    def read_spec(self) -> JobSpec:
        """Return what was asked.

        Raises:
            UserError: no run folder, or its spec is damaged.
        """
        try:
            text = self.spec_file.read_bytes()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise UserError(f"{self.path} is not a run folder: it has no {self.spec_file.name}.") from error
        return spec_from_json(text, origin=str(self.spec_file))

    def read_status(self) -> RunStatus | None:
        """Return the status, or nothing before the job has begun."""
        try:
            return RunStatus.model_validate_json(self.status_file.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise UserError(f"{self.status_file} is damaged; the run cannot be followed.") from error

    def write_status(self, status: RunStatus) -> None:
        """Replace the status."""
        write_text_atomically(self.status_file, status.model_dump_json(indent=2) + "\n")

    def request_stop(self) -> None:
        """Ask the job to stop at the next step."""
        self.stop_file.touch()

    def clear_stop(self) -> None:
        """Withdraw a request to stop."""
        self.stop_file.unlink(missing_ok=True)

    @property
    def stop_requested(self) -> bool:
        """Whether somebody has asked the job to stop."""
        return self.stop_file.exists()
