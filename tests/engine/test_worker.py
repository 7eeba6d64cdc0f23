"""The worker around a recipe: whatever the recipe does, the run folder says how it ended."""

import errno
import os
import signal
import sys
from types import SimpleNamespace

import pytest

from lapestudio.core.errors import UserError
from lapestudio.core.event_log import EventTail
from lapestudio.core.events import ProgressEvent, ResultEvent, StageEvent, StartedEvent, StoppedEvent
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import ExportSpec
from lapestudio.engine.stages import JobContext
from lapestudio.engine.worker import StopRequest, TerminatedError, run_worker, throttled, versions


@pytest.fixture
def run(tmp_path):
    return RunFolder.create(tmp_path / "run", ExportSpec(trained=tmp_path / "t", out=tmp_path / "out"))


@pytest.fixture
def work(run, monkeypatch):
    """Run the worker with a recipe of the test; returns exit code and events."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def work_with(recipe):
        def started_event(_run, _spec, versions):
            return StartedEvent(pid=1, versions=versions)

        recipes = SimpleNamespace(started_event=started_event, run_job=recipe)
        monkeypatch.setitem(sys.modules, "lapestudio.engine.recipes", recipes)
        monkeypatch.setattr("lapestudio.engine.recipes", recipes, raising=False)
        return run_worker(run), EventTail(run.events_file).read_new()

    yield work_with
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_result_is_told_and_the_status_says_done(run, work):
    def recipe(run, spec, emit, should_stop):
        emit(StageEvent(name="write", text="Writing"))
        return ResultEvent(summary={"out": str(spec.out)})

    code, events = work(recipe)
    assert code == 0
    assert [event.type for event in events] == ["started", "stage", "result"]
    assert set(events[0].versions) >= {"python", "torch", "transformers", "lapestudio"}
    status = run.read_status()
    assert (status.state, status.pid) == ("done", os.getpid())
    assert status.started <= status.finished


def test_a_stop_is_no_failure(run, work):
    code, events = work(lambda *_: StoppedEvent(text="stopped", resumable=True))
    assert code == 0
    assert events[-1].resumable
    assert run.read_status().state == "stopped"


def failing(error):
    def recipe(*_):
        raise error

    return recipe


def test_a_fault_of_the_user_is_one_sentence_without_a_traceback(run, work):
    code, events = work(failing(UserError("mt.txt is empty.")))
    assert code == 1
    assert (events[-1].type, events[-1].message, events[-1].details) == ("error", "mt.txt is empty.", "")
    assert run.read_status().state == "failed"


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (MemoryError(), "smaller batch"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), "smaller batch"),
        (OSError(errno.ENOSPC, "No space left on device", "/disk/x"), "/disk/x: No space left"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
    ],
)
def test_any_other_fault_is_a_sentence_with_the_traceback_behind_it(work, error, word):
    code, events = work(failing(error))
    assert code == 1
    assert word in events[-1].message
    assert "Traceback" in events[-1].details
    assert [event.type for event in events] == ["started", "error"]


def test_the_first_signal_asks_and_the_second_ends_at_once(run, work):
    asked = []

    def recipe(run, spec, emit, should_stop):
        asked.append(should_stop())
        signal.raise_signal(signal.SIGTERM)
        asked.append(should_stop())
        signal.raise_signal(signal.SIGTERM)
        pytest.fail("went on after the second signal")

    code, events = work(recipe)
    assert asked == [False, True]
    assert code == 0
    assert isinstance(events[-1], StoppedEvent)
    assert run.read_status().state == "stopped"


def test_a_fetch_that_is_ended_at_once_can_go_on(run, work):
    def recipe(run, spec, emit, should_stop):
        run.fetch_state_file.write_text("{}", encoding="utf-8")
        run.request_stop()
        signal.raise_signal(signal.SIGTERM)

    _code, events = work(recipe)
    assert events[-1].resumable
    assert "What it had reached is kept" in events[-1].text


def test_the_rate_counts_what_this_attempt_has_done(monkeypatch):
    now = iter([0.0, 10.0])
    monkeypatch.setattr("lapestudio.engine.stages.time.monotonic", lambda: next(now))
    seen = []
    JobContext(emit=seen.append, should_stop=lambda: False).stage("fetch", "Fetching", already=900)(950, 1000)
    assert (seen[-1].rate_per_s, seen[-1].remaining_s) == (5.0, 10.0)


def test_a_signal_after_the_stop_flag_ends_at_once(run):
    stop = StopRequest(run)
    before = signal.getsignal(signal.SIGTERM)
    try:
        stop.listen()
        run.request_stop()
        assert stop()
        with pytest.raises(TerminatedError):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_progress_is_thinned_out_but_never_its_end_nor_anything_else():
    seen = []
    emit = throttled(seen.append)
    for done in range(1, 1001):
        emit(ProgressEvent(stage="count", done=done, total=1000))
    emit(StageEvent(name="select", text="Selecting"))
    assert seen[0].done == 1
    assert seen[-2].done == 1000
    assert seen[-1].type == "stage"
    assert len(seen) < 20


def test_versions_name_what_can_change_a_result():
    assert all(versions().values())
