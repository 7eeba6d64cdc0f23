"""What a run has said so far, added up: curves, notices, the current stage and how it ended.

In: events in their order, from the log or from a watcher. Out: lists that a plot or a table takes as they are.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from lapestudio.core.event_log import EventTail
from lapestudio.core.events import (
    CheckpointEvent,
    Event,
    MetricsEvent,
    NoticeEvent,
    ProgressEvent,
    StageEvent,
    StartedEvent,
    TerminalEvent,
)
from lapestudio.core.run_folder import RunFolder


@dataclass(slots=True)
class MetricSeries:
    """One curve: a value by optimiser step and by trained tokens."""

    steps: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def append(self, step: int, tokens: int, value: float) -> None:
        """Add a point; a point at the same or a later step is void, because the run was taken up again before it."""
        self.drop_from(step)
        self.steps.append(step)
        self.tokens.append(tokens)
        self.values.append(value)

    def drop_from(self, step: int) -> None:
        """Remove the points at `step` and after."""
        keep = bisect_left(self.steps, step)
        del self.steps[keep:], self.tokens[keep:], self.values[keep:]


@dataclass(slots=True)
class RunHistory:
    """The state of a run after its events so far; `add` takes the next ones."""

    metrics: dict[str, MetricSeries] = field(default_factory=dict)
    notices: list[NoticeEvent] = field(default_factory=list)
    checkpoints: dict[str, int] = field(default_factory=dict)
    """Step of the newest checkpoint by name (`last`, `best`)."""
    started: StartedEvent | None = None
    stage: StageEvent | None = None
    progress: ProgressEvent | None = None
    terminal: TerminalEvent | None = None

    def add(self, events: Iterable[Event]) -> None:
        """Take in further events, oldest first."""
        for event in events:
            self._add(event)

    def _add(self, event: Event) -> None:
        match event:
            case StartedEvent():
                self._begin(event)
            case StageEvent():
                self.stage, self.progress = event, None
            case ProgressEvent():
                self.progress = event
            case MetricsEvent():
                for name, value in event.values.items():
                    self.metrics.setdefault(name, MetricSeries()).append(event.step, event.tokens, value)
            case CheckpointEvent():
                self.checkpoints[event.name] = event.step
            case NoticeEvent():
                self.notices.append(event)
            case _:
                self.terminal = event

    def _begin(self, event: StartedEvent) -> None:
        self.started, self.stage, self.progress, self.terminal = event, None, None, None
        first_void = 0 if event.resumed_step is None else event.resumed_step + 1
        for series in self.metrics.values():
            series.drop_from(first_void)


def read_history(run: RunFolder) -> RunHistory:
    """Return everything `run` has said until now; the end of a crashed run is added by a `RunWatcher`."""
    history = RunHistory()
    history.add(EventTail(run.events_file).read_new())
    return history
