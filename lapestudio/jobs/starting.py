"""Start the worker of a run folder as a process of its own that outlives the window.

In: a run folder with its spec. Out: the process id; everything the worker says goes to files in the run folder.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

import lapestudio
from lapestudio.core.errors import UserError
from lapestudio.core.event_log import read_last_events
from lapestudio.core.events import is_terminal
from lapestudio.core.run_folder import RunFolder, RunStatus
from lapestudio.jobs import processes
from lapestudio.jobs.interpreter import engine_python

_LAST_WORDS_S = 2.0
LOG_HEADER = "=== LAPE Studio: job started "


def worker_command(run: RunFolder) -> list[str]:
    """Return the command that runs the job of `run`.

    Raises:
        UserError: no interpreter for jobs is set, or it is missing.
    """
    # -P: a file named like a library in the current folder must not be imported.
    return [str(engine_python()), "-P", "-m", "lapestudio.engine.worker", str(run.path)]


def start(run: RunFolder, *, command: Sequence[str] | None = None) -> int:
    """Start the job of `run`, or go on with it where it has checkpoints.

    Args:
        run: the run folder; its earlier request to stop is withdrawn.
        command: what to start instead of the usual worker.

    Returns:
        The process id.

    Raises:
        UserError: the job runs already, has no spec, or the process cannot be started.
    """
    run.read_spec()
    _check_not_running(run)
    run.clear_stop()
    started = time.time()
    child = _spawn(run, list(command) if command is not None else worker_command(run))
    processes.adopt(child)
    # Written by the parent too: a worker that dies before it can say anything must still be found dead.
    process_started = processes.start_time(child.pid) or started
    run.write_status(
        RunStatus(state="starting", pid=child.pid, process_started=process_started, started=started, finished=None)
    )
    return child.pid


_ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(16 << 30)}
"""glibc gives each freed tensor back to the system and clears its pages anew at the next: an elementwise operation on
6 MB takes 3.6 ms instead of 0.3. With these it keeps them. 32 MiB is the most that every glibc takes; other systems do
not look at the names."""


def engine_environment() -> dict[str, str]:
    """Return the environment of a process of the engine."""
    environment = dict(os.environ)
    environment |= {
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "DO_NOT_TRACK": "1",
    }
    # What the user has set holds.
    environment = {**_ALLOCATOR, **environment}
    source = _source_tree()
    if source is not None:
        paths = [str(source), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return environment


class DetachedArguments(TypedDict, total=False):
    """Arguments of `Popen`."""

    creationflags: int
    start_new_session: bool


def detached() -> DetachedArguments:
    """Return the arguments of `Popen` that make a child survive this process and its terminal."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}


def _check_not_running(run: RunFolder) -> None:
    deadline = time.monotonic() + _LAST_WORDS_S
    while (status := run.read_status()) is not None and _is_running(status):
        # A worker that has told its end writes its last status at once, and must not write it over the next one's.
        events = read_last_events(run.events_file)
        if not (events and is_terminal(events[-1])) or time.monotonic() > deadline:
            raise UserError(f"The job in {run.path} is running already (process {status.pid}).")
        time.sleep(0.01)


def _is_running(status: RunStatus) -> bool:
    return status.state in ("starting", "running") and processes.is_alive(status)


def _spawn(run: RunFolder, command: list[str]) -> subprocess.Popen[bytes]:
    try:
        # A file, never a pipe: a worker must not stall because nobody reads what it prints.
        with run.log_file.open("ab") as log:
            log.write(f"{LOG_HEADER}{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n".encode())
            log.flush()
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=run.path,
                env=engine_environment(),
                **detached(),
            )
    except OSError as error:
        raise UserError(f"The job cannot be started with {command[0]}: {error.strerror or error}.") from error


def _source_tree() -> Path | None:
    # An uninstalled checkout must be found by the child; an installed package's folder would drag in a whole
    # environment, perhaps of another Python.
    folder = Path(lapestudio.__file__).resolve().parent.parent
    return None if folder.name in ("site-packages", "dist-packages") else folder
