"""The thread that follows a run: everything in order, an end whatever happens, and never a hand on the worker."""

import time

import pytest

from lapestudio.core.events import ErrorEvent, MetricsEvent, ResultEvent, StoppedEvent
from lapestudio.core.run_folder import RunFolder
from lapestudio.jobs import stopping
from lapestudio.ui.job_thread import JobThread
from tests.ui import recorded
from tests.ui.conftest import WAIT_MS


@pytest.fixture
def follow(qapp):
    threads = []

    def make(run, *, starts=False):
        thread = JobThread(run, starts=starts)
        thread.lists = []
        thread.events_received.connect(thread.lists.append)
        threads.append(thread)
        return thread

    yield make
    for thread in threads:
        thread.requestInterruption()
        assert thread.wait(WAIT_MS)


def new_run(project, name="run of Malti 日本"):
    return RunFolder.create(project.runs_folder / name, recorded.train_spec(project))


def all_events(thread):
    return [event for events in thread.lists for event in events]


def test_a_job_is_started_followed_and_ends(qtbot, project, worker, follow):
    worker(project, "quick")
    thread = follow(new_run(project), starts=True)
    with qtbot.waitSignal(thread.job_over, timeout=WAIT_MS) as over:
        thread.start()
    assert isinstance(over.args[0], ResultEvent)
    steps = [event.step for event in all_events(thread) if isinstance(event, MetricsEvent)]
    assert steps == list(range(recorded.NUM_STEPS + 1))


def test_a_worker_that_dies_before_its_first_word_is_told(qtbot, project, worker, follow):
    worker(project, "crash")
    thread = follow(new_run(project), starts=True)
    with qtbot.waitSignal(thread.job_over, timeout=WAIT_MS) as over:
        thread.start()
    assert isinstance(over.args[0], ErrorEvent)
    assert "exit code 9" in over.args[0].message
    assert "no more memory" in over.args[0].details


def test_a_job_that_cannot_be_started_is_told(qtbot, project, monkeypatch, follow):
    monkeypatch.setenv("LAPESTUDIO_ENGINE_PYTHON", str(project.folder / "nothing here"))
    thread = follow(new_run(project), starts=True)
    with qtbot.waitSignal(thread.job_over, timeout=WAIT_MS) as over:
        thread.start()
    assert "nothing here" in over.args[0].message


def test_a_long_past_comes_in_pieces_and_in_order(qtbot, project, follow):
    events = [MetricsEvent(step=step, tokens=step, values={"train_loss": 1.0}) for step in range(3500)]
    run = recorded.write_run(project, "long", recorded.train_spec(project), [*events, ResultEvent()])
    thread = follow(run)
    with qtbot.waitSignal(thread.job_over, timeout=WAIT_MS):
        thread.start()
    assert max(len(events) for events in thread.lists) <= 1000
    assert [event.step for event in all_events(thread) if isinstance(event, MetricsEvent)] == list(range(3500))


def test_a_stream_of_events_makes_at_most_ten_signals_a_second(qtbot, project, worker, follow):
    worker(project, "slow")
    thread = follow(new_run(project), starts=True)
    began = time.monotonic()
    thread.start()
    qtbot.waitUntil(lambda: len(all_events(thread)) > 40, timeout=WAIT_MS)
    assert len(thread.lists) <= 2 + 10 * (time.monotonic() - began)


def test_interrupting_leaves_the_job_running_and_another_thread_sees_it_all(qtbot, project, worker, follow):
    worker(project, "slow")
    run = new_run(project)
    first = follow(run, starts=True)
    first.start()
    qtbot.waitUntil(lambda: len(all_events(first)) > 40, timeout=WAIT_MS)
    first.requestInterruption()
    assert first.wait(1000)
    assert stopping.survivors(run)
    second = follow(run)
    second.start()
    qtbot.waitUntil(lambda: len(all_events(second)) >= len(all_events(first)), timeout=WAIT_MS)
    stopping.request(run)
    with qtbot.waitSignal(second.job_over, timeout=WAIT_MS) as over:
        pass
    assert isinstance(over.args[0], StoppedEvent)
