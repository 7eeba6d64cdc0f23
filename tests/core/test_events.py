import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from lapestudio.core.events import (
    CheckpointEvent,
    ErrorEvent,
    MetricsEvent,
    NoticeEvent,
    ProgressEvent,
    ResultEvent,
    StageEvent,
    StartedEvent,
    StoppedEvent,
    event_from_line,
    event_to_line,
    is_terminal,
)

EVERY_KIND = [
    StartedEvent(pid=1, device="cpu", versions={"torch": "2"}, resumed_step=4),
    StageEvent(name="load", text="Loading the model"),
    ProgressEvent(stage="count", done=1, total=2, rate_per_s=0.5, remaining_s=2.0),
    MetricsEvent(step=1, tokens=2, values={"train_loss": 1.5}),
    CheckpointEvent(step=1, name="best"),
    NoticeEvent(level="warning", text="ħ\nċ"),
    ResultEvent(summary={"neurons": {"mt": 3}, "text": "done"}),
    StoppedEvent(text="stopped", resumable=True),
    ErrorEvent(message="broken", details="a\nb", exit_code=-9),
]


@pytest.mark.parametrize("event", EVERY_KIND, ids=lambda event: event.type)
def test_an_event_survives_its_line(event):
    line = event_to_line(event)
    assert "\n" not in line
    assert event_from_line(line) == event


def test_only_the_last_three_kinds_end_a_job():
    assert [event.type for event in EVERY_KIND if is_terminal(event)] == ["result", "stopped", "error"]


@given(st.floats())
def test_any_loss_survives_also_one_that_is_no_number(value):
    line = event_to_line(MetricsEvent(step=0, tokens=0, values={"train_loss": value}))
    json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    read = event_from_line(line).values["train_loss"]
    assert read == value or (math.isnan(read) and math.isnan(value))


def test_an_unknown_field_or_kind_is_refused():
    with pytest.raises(ValidationError):
        event_from_line('{"type": "stage", "name": "a", "text": "b", "colour": "red"}')
    with pytest.raises(ValidationError):
        event_from_line('{"type": "party"}')
