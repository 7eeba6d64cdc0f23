"""The runs of a project at a glance, with their state as of now.

In: the folder that holds run folders. Out: one summary a run, newest first; fast enough for a list that refreshes.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lapestudio.core.errors import UserError
from lapestudio.core.event_log import read_last_events
from lapestudio.core.events import (
    ErrorEvent,
    Event,
    NoticeEvent,
    ResultEvent,
    StageEvent,
    StoppedEvent,
)
from lapestudio.core.run_folder import RunFolder, RunStatus
from lapestudio.core.specs import job_label
from lapestudio.jobs.watching import end_without_a_word, liveness

RunListState = Literal["starting", "running", "done", "stopped", "failed", "crashed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A line in the list of runs."""

    path: Path
    kind: str
    """Kind of the job; `unknown` where its spec is damaged."""
    label: str
    state: RunListState
    started: float | None = None
    """Seconds since 1970."""
    finished: float | None = None
    message: str = ""
    """The last thing it said."""
    has_checkpoint: bool = False
    """Whether it can be resumed, or exported as it is."""

    @property
    def is_running(self) -> bool:
        """Whether the job is at work."""
        return self.state in ("starting", "running")


def list_runs(runs_folder: Path) -> list[RunSummary]:
    """Return a summary of each run in `runs_folder`, the newest first; folders that are no runs are left out."""
    if not runs_folder.is_dir():
        return []
    runs = [RunFolder(folder) for folder in runs_folder.iterdir() if (folder / "spec.json").is_file()]
    summaries = [summarise(run) for run in runs]
    return sorted(summaries, key=lambda summary: (summary.started or 0.0, summary.path.name), reverse=True)


def summarise(run: RunFolder) -> RunSummary:
    """Return what is known of one run without reading all of its events."""
    try:
        spec = run.read_spec()
        status = run.read_status()
    except UserError as error:
        return RunSummary(path=run.path, kind="unknown", label=run.path.name, state="failed", message=str(error))
    state, message = _state_and_message(run, status)
    return RunSummary(
        path=run.path,
        kind=spec.kind,
        label=job_label(spec),
        state=state,
        started=None if status is None else status.started,
        finished=None if status is None else status.finished,
        message=message,
        has_checkpoint=run.has_checkpoint,
    )


def _state_and_message(run: RunFolder, status: RunStatus | None) -> tuple[RunListState, str]:
    events = read_last_events(run.events_file)
    message = next((text for event in reversed(events) if (text := _text_of(event))), "")
    how = liveness(run, status)
    if how == "gone":
        last = events[-1] if events else None
        # Killed between its last event and its last status: the event counts.
        if status is not None and last is not None and last.time >= status.started:
            ended: dict[type, RunListState] = {ResultEvent: "done", StoppedEvent: "stopped", ErrorEvent: "failed"}
            if type(last) in ended:
                return ended[type(last)], message
        end = end_without_a_word(run, status)
        return ("stopped", end.text) if isinstance(end, StoppedEvent) else ("crashed", end.message)
    return ("starting" if status is None else status.state), message


def _text_of(event: Event) -> str:
    match event:
        case ErrorEvent():
            return event.message
        case StageEvent() | NoticeEvent() | StoppedEvent():
            return event.text
        case ResultEvent():
            return str(event.summary.get("text", ""))
        case _:
            return ""
