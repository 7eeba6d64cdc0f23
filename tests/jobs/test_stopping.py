import psutil
import pytest

from lapestudio.core.events import ProgressEvent, StoppedEvent
from lapestudio.jobs import processes, stopping
from lapestudio.jobs.history import read_history
from lapestudio.jobs.watching import RunWatcher
from tests.jobs.conftest import poll_to_end, wait_until


def is_running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_job_that_is_asked_stops_by_itself(make_run, start_scripted):
    run = make_run()
    pid = start_scripted(run, "wait_for_stop")
    wait_until(lambda: read_history(run).progress is not None)
    outcome = stopping.stop(run, patience_s=20)
    assert outcome.how == "asked"
    assert outcome.survivors == ()
    assert processes.exit_code(pid) == 0
    last = poll_to_end(RunWatcher(run))[-1]
    assert isinstance(last, StoppedEvent)
    assert last.text == "stopped as asked"


def test_a_job_that_does_not_listen_is_killed_with_all_its_children(make_run, start_scripted):
    run = make_run()
    pid = start_scripted(run, "hang_with_children")
    wait_until(lambda: read_history(run).progress is not None)
    children = [int(number) for number in (run.path / "children").read_text(encoding="utf-8").split()]
    assert all(is_running(child) for child in children)
    outcome = stopping.stop(run, patience_s=0.1, terminate_patience_s=0.5)
    assert outcome.how == "killed"
    assert "nothing of it is running" in outcome.text
    assert not any(is_running(process) for process in [pid, *children])


def test_a_child_that_outlives_its_worker_is_found_and_ended(make_run, start_scripted):
    run = make_run()
    start_scripted(run, "leave_an_orphan_and_die")
    poll_to_end(RunWatcher(run))
    orphan = int((run.path / "children").read_text(encoding="utf-8"))
    assert stopping.survivors(run) == (orphan,)
    assert stopping.stop(run, patience_s=0.1, terminate_patience_s=10).how == "terminated"
    assert not is_running(orphan)


def test_stopping_a_job_that_is_over_says_so_and_leaves_no_flag(make_run, start_scripted):
    run = make_run()
    start_scripted(run, "succeed")
    poll_to_end(RunWatcher(run))
    wait_until(lambda: not stopping.survivors(run))
    assert stopping.stop(run).how == "not running"
    assert not run.stop_requested


def test_starting_again_withdraws_the_request_to_stop(make_run, start_scripted):
    run = make_run()
    start_scripted(run, "wait_for_stop")
    stopping.stop(run, patience_s=20)
    start_scripted(run, "wait_for_stop")
    watcher = RunWatcher(run)
    seen = []
    wait_until(lambda: seen.extend(watcher.poll()) or isinstance(seen[-1], ProgressEvent))
    assert not watcher.is_over


@pytest.mark.parametrize("step", [stopping.terminate, stopping.kill])
def test_single_steps_return_at_once_where_nothing_runs(make_run, step):
    run = make_run()
    step(run)
    assert stopping.survivors(run) == ()
