import os
import signal
import subprocess
import sys

import psutil
import pytest

from lapestudio.core.events import ErrorEvent, MetricsEvent, ResultEvent, StartedEvent, StoppedEvent, is_terminal
from lapestudio.core.run_folder import RunStatus
from lapestudio.jobs import processes
from lapestudio.jobs.history import read_history
from lapestudio.jobs.listing import list_runs
from lapestudio.jobs.watching import RunWatcher
from tests.jobs.conftest import poll_to_end, wait_until


def test_a_job_that_succeeds_is_told_in_order_and_once(make_run, start_scripted):
    run = make_run()
    start_scripted(run, "succeed")
    watcher = RunWatcher(run)
    events = poll_to_end(watcher)
    assert [event.type for event in events] == ["started", "metrics", "metrics", "metrics", "result"]
    assert watcher.poll() == []


def test_a_job_that_fails_ends_with_its_own_error(make_run, start_scripted):
    run = make_run()
    start_scripted(run, "fail")
    events = poll_to_end(RunWatcher(run))
    assert [event.message for event in events if is_terminal(event)] == ["The corpus is empty."]


def test_a_worker_that_dies_before_its_first_event_is_told_with_exit_code_and_log(make_run, start_scripted):
    run = make_run()
    start_scripted(run, "die_at_once")
    (event,) = poll_to_end(RunWatcher(run))
    assert isinstance(event, ErrorEvent)
    assert event.exit_code == 3
    assert "exit code 3" in event.message
    assert "no torch here" in event.details


def test_a_killed_job_is_told_with_the_signal_and_the_checkpoint(make_run, start_scripted):
    run = make_run()
    pid = start_scripted(run, "checkpoint_and_hang")
    watcher = RunWatcher(run)
    wait_until(lambda: read_history(run).checkpoints == {"last": 7})
    os.kill(pid, signal.SIGKILL)
    event = poll_to_end(watcher)[-1]
    assert isinstance(event, ErrorEvent)
    assert event.exit_code == -signal.SIGKILL
    assert "memory" in event.message
    assert "checkpoint of step 7" in event.message
    assert "resume" in event.message


def test_half_a_line_is_no_event_and_the_end_is_still_told(make_run, start_scripted):
    run = make_run()
    start_scripted(run, "die_in_the_middle_of_a_line")
    events = poll_to_end(RunWatcher(run))
    assert [event.type for event in events] == ["started", "error"]


def test_the_next_attempt_is_not_glued_to_half_a_line(make_run, start_scripted):
    run = make_run()
    start_scripted(run, "die_in_the_middle_of_a_line")
    poll_to_end(RunWatcher(run))
    start_scripted(run, "succeed")
    events = poll_to_end(RunWatcher(run))
    assert [event.type for event in events] == ["started", "started", "metrics", "metrics", "metrics", "result"]


def test_a_second_watcher_sees_the_whole_run(make_run, start_scripted):
    run = make_run()
    start_scripted(run, "wait_for_stop")
    first = RunWatcher(run)
    seen = []
    wait_until(lambda: seen.extend(first.poll()) or len(seen) > 3)
    second = RunWatcher(run)
    run.request_stop()
    assert poll_to_end(second) == seen + poll_to_end(first)


def test_a_watcher_in_another_process_tells_a_crash_without_an_exit_code(make_run, start_scripted, repository):
    run = make_run()
    pid = start_scripted(run, "hang")
    os.kill(pid, signal.SIGKILL)
    code = (
        "import sys, time; from pathlib import Path; from lapestudio.core.run_folder import RunFolder;"
        "from lapestudio.jobs.watching import RunWatcher; w = RunWatcher(RunFolder(Path(sys.argv[1])))\n"
        "while not w.is_over:\n events = w.poll(); time.sleep(0.01)\n"
        "print(events[-1].type, events[-1].exit_code)"
    )
    # Not reaped by this process yet: to the other one the worker is a zombie, and a zombie counts as gone.
    command = [sys.executable, "-c", code, str(run.path)]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.split() == ["error", "None"]


def test_the_end_of_an_earlier_attempt_is_not_the_end_of_the_next(make_run, start_scripted):
    run = make_run()
    start_scripted(run, "succeed")
    poll_to_end(RunWatcher(run))
    start_scripted(run, "die_at_once")
    last = poll_to_end(RunWatcher(run))[-1]
    assert isinstance(last, ErrorEvent)
    assert last.exit_code == 3


def test_a_process_with_the_same_number_but_another_start_is_not_the_job(make_run):
    run = make_run()
    run.write_status(RunStatus(state="running", pid=os.getpid(), process_started=1.0, started=1.0))
    (event,) = poll_to_end(RunWatcher(run))
    assert isinstance(event, ErrorEvent)
    assert not processes.members(run.read_status())


def test_a_run_that_was_never_started_is_told_after_a_grace(make_run):
    run = make_run()
    watcher = RunWatcher(run)
    assert watcher.poll() == []
    assert not watcher.is_over
    os.utime(run.spec_file, (1, 1))
    (event,) = watcher.poll()
    assert "never started" in event.message


def test_a_job_killed_after_a_request_to_stop_has_stopped_and_not_crashed(make_run, start_scripted):
    run = make_run()
    pid = start_scripted(run, "checkpoint_and_hang")
    wait_until(lambda: read_history(run).checkpoints == {"last": 7})
    run.request_stop()
    os.kill(pid, signal.SIGKILL)
    last = poll_to_end(RunWatcher(run))[-1]
    assert isinstance(last, StoppedEvent)
    assert last.resumable
    assert list_runs(run.path.parent)[0].state == "stopped"


def test_a_worker_that_prints_a_lot_is_not_blocked_by_an_idle_watcher(make_run, start_scripted):
    run = make_run()
    start_scripted(run, "print_much")
    assert isinstance(poll_to_end(RunWatcher(run))[-1], ResultEvent)
    assert run.log_file.stat().st_size > 5_000_000


def test_points_after_the_step_of_a_resume_are_void(make_run, start_scripted):
    run = make_run()
    start_scripted(run, "succeed")
    watcher = RunWatcher(run)
    history = read_history(run)
    history.add(event for event in poll_to_end(watcher) if event not in [history.started])
    history.add([StartedEvent(pid=1, resumed_step=1), MetricsEvent(step=2, tokens=20, values={"train_loss": 9.0})])
    series = history.metrics["train_loss"]
    assert (series.steps, series.tokens, series.values) == ([0, 1, 2], [0, 10, 20], [3.0, 2.0, 9.0])
    assert history.terminal is None


@pytest.mark.parametrize("behaviour", ["hang", "wait_for_stop"])
def test_a_running_job_is_not_started_twice(make_run, start_scripted, behaviour):
    run = make_run()
    pid = start_scripted(run, behaviour)
    with pytest.raises(Exception, match=f"running already .process {pid}"):
        start_scripted(run, behaviour)
    assert psutil.pid_exists(pid)
