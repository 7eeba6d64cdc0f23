"""End a run: ask, then terminate, then kill, always the whole process group; and check that it is gone.

In: a run folder. Out: how it ended and what, if anything, is still there. The window takes the single steps, which
return at once; the command line takes `stop`, which waits.
"""

import time
from dataclasses import dataclass
from typing import Literal

import psutil

from lapestudio.core.run_folder import RunFolder
from lapestudio.jobs import processes

_LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class StopOutcome:
    """How a job was ended."""

    how: Literal["not running", "asked", "terminated", "killed", "survived"]
    survivors: tuple[int, ...] = ()
    """Numbers of the processes that are still there."""

    @property
    def text(self) -> str:
        """The outcome in one sentence."""
        return {
            "not running": "The job was not running.",
            "asked": "The job has stopped; nothing of it is running any more.",
            "terminated": "The job did not stop by itself and was ended; nothing of it is running any more.",
            "killed": "The job had to be killed; nothing of it is running any more.",
            "survived": f"The job could not be killed: still running are {', '.join(map(str, self.survivors))}.",
        }[self.how]


def request(run: RunFolder) -> None:
    """Ask the job to finish its step, write a checkpoint and stop."""
    run.request_stop()


def terminate(run: RunFolder) -> None:
    """Tell all processes of the job to end now; what they had not written is lost."""
    run.request_stop()
    for process in _members(run):
        _send(process, "terminate")


def kill(run: RunFolder) -> None:
    """End all processes of the job without asking them."""
    run.request_stop()
    for process in _members(run):
        _send(process, "kill")


def survivors(run: RunFolder) -> tuple[int, ...]:
    """Return the numbers of the job's processes that still run."""
    return tuple(process.pid for process in _members(run))


def stop(run: RunFolder, *, patience_s: float = 60.0, terminate_patience_s: float = 10.0) -> StopOutcome:
    """End the job and wait until nothing of it is left.

    Args:
        run: the run folder.
        patience_s: how long the job may take to finish its step and write a checkpoint.
        terminate_patience_s: how long it may take to end when told to.
    """
    if not survivors(run):
        return StopOutcome(how="not running")
    request(run)
    if _is_gone_within(run, patience_s):
        return StopOutcome(how="asked")
    terminate(run)
    if _is_gone_within(run, terminate_patience_s):
        return StopOutcome(how="terminated")
    kill(run)
    if _is_gone_within(run, terminate_patience_s):
        return StopOutcome(how="killed")
    return StopOutcome(how="survived", survivors=survivors(run))


def _is_gone_within(run: RunFolder, patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while survivors(run):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_LOOK_EVERY_S)
    return True


def _members(run: RunFolder) -> list[psutil.Process]:
    status = run.read_status()
    return [] if status is None else processes.members(status)


def _send(process: psutil.Process, what: Literal["terminate", "kill"]) -> None:
    try:
        process.terminate() if what == "terminate" else process.kill()
    except psutil.NoSuchProcess:
        return  # It ended between the look and the signal.
