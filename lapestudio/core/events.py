"""What a running job may say: one frozen model a kind of event, one JSON line each in `events.jsonl`.

The worker writes them, the window and the command line read them; nothing else passes between the two.
"""

import time
from collections.abc import Callable
from typing import Annotated, Literal, TypeGuard

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter


class _Event(BaseModel):
    # A diverged loss must be seen: non-finite numbers travel as the strings "NaN" and "Infinity".
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    time: float = Field(default_factory=time.time, description="seconds since 1970, UTC")


class StartedEvent(_Event):
    """The worker has begun; for a resumed run `resumed_step` says from where, and later points are void."""

    type: Literal["started"] = "started"
    pid: int
    device: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    resumed_step: int | None = None


class StageEvent(_Event):
    """A new stage of the job begins."""

    type: Literal["stage"] = "stage"
    name: str = Field(description="short and stable, for programs: load, tokens, count, select, train, ...")
    text: str = Field(description="one phrase for people")


class ProgressEvent(_Event):
    """How far the current stage is."""

    type: Literal["progress"] = "progress"
    stage: str
    done: int = Field(ge=0)
    total: int = Field(ge=0, description="0 where it is not known")
    unit: str = "tokens"
    rate_per_s: float | None = None
    remaining_s: float | None = None


class MetricsEvent(_Event):
    """Figures at an optimiser step.

    Names: `train_loss`, `validation_loss`, `control_loss/<language>` (nats a token), `learning_rate`,
    `gradient_norm`, `tokens_per_s`, `memory_bytes`.
    """

    type: Literal["metrics"] = "metrics"
    step: int = Field(ge=0)
    tokens: int = Field(ge=0, description="trained tokens so far")
    values: dict[str, float]


class CheckpointEvent(_Event):
    """A checkpoint has been written completely."""

    type: Literal["checkpoint"] = "checkpoint"
    step: int
    name: Literal["last", "best"]


class NoticeEvent(_Event):
    """Something the user should know that does not end the job."""

    type: Literal["notice"] = "notice"
    level: Literal["info", "warning"] = "info"
    text: str


class ResultEvent(_Event):
    """The job is done."""

    type: Literal["result"] = "result"
    summary: dict[str, JsonValue] = Field(default_factory=dict)


class StoppedEvent(_Event):
    """The job has ended because somebody asked; what it had reached is kept."""

    type: Literal["stopped"] = "stopped"
    text: str
    resumable: bool = False


class ErrorEvent(_Event):
    """The job has failed."""

    type: Literal["error"] = "error"
    message: str = Field(description="one sentence: what, where, what to do")
    details: str = Field(default="", description="traceback or last lines of the log")
    exit_code: int | None = None


Event = Annotated[
    StartedEvent
    | StageEvent
    | ProgressEvent
    | MetricsEvent
    | CheckpointEvent
    | NoticeEvent
    | ResultEvent
    | StoppedEvent
    | ErrorEvent,
    Field(discriminator="type"),
]
TerminalEvent = ResultEvent | StoppedEvent | ErrorEvent
Emit = Callable[[Event], None]

_ADAPTER: TypeAdapter[Event] = TypeAdapter(Event)


def event_to_line(event: Event) -> str:
    """Return `event` as one line of JSON without the line feed."""
    return event.model_dump_json()


def event_from_line(line: str | bytes) -> Event:
    """Return the event of one line.

    Raises:
        pydantic.ValidationError: the line is not an event.
    """
    return _ADAPTER.validate_json(line)


def is_terminal(event: Event) -> TypeGuard[TerminalEvent]:
    """Say whether no event of the same attempt can follow."""
    return isinstance(event, ResultEvent | StoppedEvent | ErrorEvent)
