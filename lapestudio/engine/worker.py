"""The process that runs a run folder: spec in, events out, exit code 0 or 1.

Started as `python -m lapestudio.engine.worker RUN`. Whatever happens, the last event is a terminal one, unless the
process is killed; then whoever watches supplies it.
"""

import faulthandler
import importlib.metadata
import logging
import os
import platform
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import psutil

import lapestudio
from lapestudio.core.errors import UserError
from lapestudio.core.event_log import EventWriter
from lapestudio.core.events import Emit, ErrorEvent, Event, ProgressEvent, ResultEvent, StoppedEvent, TerminalEvent
from lapestudio.core.run_folder import RunFolder, RunState, RunStatus

_LIBRARIES = ("torch", "transformers", "safetensors", "datasets", "numpy")
_PROGRESS_EVERY_S = 0.1
_ARGUMENTS = 2

_logger = logging.getLogger(__name__)


class TerminatedError(BaseException):
    """The process was told a second time to end; not an `Exception`, so that no stage takes it for a fault."""


class StopRequest:
    """Says whether the job should stop: somebody left the stop flag, or the process got SIGTERM or SIGINT.

    A signal after an earlier request does not wait for the step to finish: it raises `TerminatedError`.
    """

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._signalled = False

    def listen(self) -> None:
        """Take over the signals that ask a process to end."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def __call__(self) -> bool:
        """Return whether to stop after the current step."""
        return self._signalled or self._run.stop_requested

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self():
            raise TerminatedError
        self._signalled = True


def throttled(emit: Emit) -> Emit:
    """Return an `emit` that lets through at most ten progress events a second of a stage, and each stage's last."""
    last: dict[str, float] = {}

    def emit_throttled(event: Event) -> None:
        if isinstance(event, ProgressEvent):
            now = time.monotonic()
            is_last = event.total > 0 and event.done >= event.total
            if not is_last and now - last.get(event.stage, -_PROGRESS_EVERY_S) < _PROGRESS_EVERY_S:
                return
            last[event.stage] = now
        emit(event)

    return emit_throttled


def run_worker(run: RunFolder) -> int:
    """Run the job of `run` and return the exit code: 0 done or stopped, 1 failed."""
    status = _begin(run)
    stop = StopRequest(run)
    with EventWriter(run.events_file) as writer:
        try:
            stop.listen()
            end = _end_of_job(run, throttled(writer.write), stop)
        except TerminatedError:
            kept = " What it had reached is kept, and it can go on from there." if run.can_go_on else ""
            end = StoppedEvent(
                text=f"The job was ended before it could finish its step.{kept}", resumable=run.can_go_on
            )
        writer.write(end)
    state: RunState = "failed"
    if isinstance(end, ResultEvent | StoppedEvent):
        state = "done" if isinstance(end, ResultEvent) else "stopped"
    run.write_status(status.model_copy(update={"state": state, "finished": time.time()}))
    return int(state == "failed")


def versions() -> dict[str, str]:
    """Return the versions of everything that can change a result."""
    found = {"lapestudio": lapestudio.__version__, "python": platform.python_version()}
    return found | {library: importlib.metadata.version(library) for library in _LIBRARIES}


def _begin(run: RunFolder) -> RunStatus:
    earlier = run.read_status()
    is_mine = earlier is not None and earlier.pid == os.getpid()
    status = RunStatus(
        state="running",
        pid=os.getpid(),
        process_started=psutil.Process().create_time(),
        started=earlier.started if earlier is not None and is_mine else time.time(),
    )
    run.write_status(status)
    return status


def _end_of_job(run: RunFolder, emit: Emit, should_stop: Callable[[], bool]) -> TerminalEvent:
    try:
        spec = run.read_spec()
        # Takes seconds and can fail: the status is on disk before, and a failure becomes an event.
        from lapestudio.engine import recipes

        emit(recipes.started_event(run, spec, versions()))
        return recipes.run_job(run, spec, emit, should_stop)
    except UserError as error:
        return ErrorEvent(message=str(error), exit_code=1)
    except Exception as error:
        _logger.exception("the job failed")
        return ErrorEvent(message=_message(error), details=traceback.format_exc(), exit_code=1)


def _message(error: Exception) -> str:
    if _is_out_of_memory(error):
        return (
            "Memory ran out: use a smaller batch, shorter blocks, a smaller number format (bfloat16) or a smaller "
            "model, or close other programs, then run the job again."
        )
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}; what the job had written until then is kept."
    return f"The job failed with an error inside the program ({type(error).__name__}: {error})."


def _is_out_of_memory(error: Exception) -> bool:
    # torch raises a class of its own on GPUs and a plain RuntimeError on the CPU.
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(
        words in str(error).lower() for words in ("allocate memory", "not enough memory", "out of memory")
    )


def main() -> None:
    """Run the worker on the run folder in the arguments."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # A fault inside a library leaves at least its stack in the log.
    faulthandler.enable()
    if len(sys.argv) != _ARGUMENTS or not Path(sys.argv[1]).is_dir():
        sys.stderr.write("usage: python -m lapestudio.engine.worker RUN-FOLDER\n")
        sys.exit(2)
    sys.exit(run_worker(RunFolder(Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
