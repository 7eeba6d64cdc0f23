"""Follow a run, whoever started it: its events as they come, and its end even where the process says nothing any more.

In: a run folder. Out: events, the last of them always terminal. The command line and the window both watch this way.
"""

import signal
import time
from typing import Literal

from lapestudio.core.event_log import EventTail
from lapestudio.core.events import ErrorEvent, Event, StoppedEvent, TerminalEvent, is_terminal
from lapestudio.core.run_folder import RunFolder, RunStatus
from lapestudio.jobs import processes
from lapestudio.jobs.history import read_history
from lapestudio.jobs.starting import LOG_HEADER

# A run folder whose status is missing may be in the making by another program.
_GRACE_S = 10.0
_LOG_LINES = 20
_LOG_BYTES = 64 * 1024

Liveness = Literal["alive", "ended", "gone"]


class RunWatcher:
    """Follows one run from its first event; every attempt's end is a terminal event.

    Args:
        run: the run folder; its job may run, have ended, or have died.
    """

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self._tail = EventTail(run.events_file)
        self._last_end: TerminalEvent | None = None
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether the job has ended and `poll` has returned its terminal event."""
        return self._is_over

    def poll(self) -> list[Event]:
        """Return what has been said since the last call; a process that is gone gets the terminal event it owes."""
        if self._is_over:
            return []
        # Asked before reading: what a process wrote before it ended is then certainly among the events.
        status = self.run.read_status()
        state = liveness(self.run, status)
        events = self._tail.read_new()
        ends = [event for event in events if is_terminal(event)]
        if ends:
            self._last_end = ends[-1]
        if self._attempt_has_ended(status) or state == "ended":
            self._is_over = True
        elif state == "gone":
            events.append(end_without_a_word(self.run, status))
            self._is_over = True
        return events

    def _attempt_has_ended(self, status: RunStatus | None) -> bool:
        if self._last_end is None:
            return False
        # The end of an earlier attempt is no end of this one.
        return status is None or self._last_end.time >= status.started


def liveness(run: RunFolder, status: RunStatus | None) -> Liveness:
    """Say whether the job of `run` lives, has ended and said so in its status, or is gone without a word."""
    if status is None:
        return "alive" if time.time() - run.spec_file.stat().st_mtime < _GRACE_S else "gone"
    if status.state not in ("starting", "running"):
        return "ended"
    return "alive" if processes.is_alive(status) else "gone"


def end_without_a_word(run: RunFolder, status: RunStatus | None) -> StoppedEvent | ErrorEvent:
    """Return the terminal event of a job whose process is gone and has not written one."""
    can_go_on = run.can_go_on
    if run.stop_requested:
        text = "The job was ended before it could finish its step."
        if can_go_on:
            text += f" {_kept_sentence(run)}"
        return StoppedEvent(text=text, resumable=can_go_on)
    if status is None:
        return ErrorEvent(message=f"The job in {run.path} was never started; start it again.")
    code = processes.exit_code(status.pid)
    message = f"{_cause(code)} {_kept_sentence(run) if can_go_on else 'Its log tells more.'}"
    return ErrorEvent(message=message, details=last_log_lines(run), exit_code=code)


def last_log_lines(run: RunFolder) -> str:
    """Return the last lines that the newest attempt has printed."""
    try:
        with run.log_file.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _LOG_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    attempt = text.rpartition(LOG_HEADER)[2] if LOG_HEADER in text else text
    return "\n".join(attempt.splitlines()[-_LOG_LINES:])


def _cause(code: int | None) -> str:
    if code is None:
        return (
            "The job's process is gone without a word: it was killed, most often because memory ran out, "
            "or the machine was switched off."
        )
    name = _signal_name(code)
    if name == "SIGKILL":
        return (
            "The job was killed by the system (SIGKILL), most often because memory ran out: "
            "use a smaller batch, shorter blocks or a smaller model."
        )
    if name == "SIGILL":
        return (
            "The job met an instruction that this processor does not know (SIGILL): "
            "install a build of torch for this processor."
        )
    if name is not None:
        return f"The job crashed ({name}) inside a library."
    return f"The job's process ended with exit code {code} before it could say why."


def _signal_name(code: int) -> str | None:
    if code >= 0:
        return None
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _kept_sentence(run: RunFolder) -> str:
    if not run.has_checkpoint:
        return "What was fetched is kept: resume the run to go on from there."
    step = read_history(run).checkpoints.get("last")
    place = "" if step is None else f" of step {step}"
    return f"The last checkpoint{place} is kept: resume the run to go on from there."
