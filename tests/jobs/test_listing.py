import time

from lapestudio.core.event_log import EventWriter
from lapestudio.core.events import MetricsEvent, StageEvent
from lapestudio.core.run_folder import RunFolder, RunStatus
from lapestudio.core.specs import ExportSpec
from lapestudio.jobs.listing import list_runs
from lapestudio.jobs.watching import RunWatcher
from tests.jobs.conftest import poll_to_end


def test_runs_are_listed_newest_first_with_their_state_as_of_now(make_run, start_scripted, tmp_path):
    for name, behaviour in [("a", "succeed"), ("b", "fail"), ("c", "die_at_once")]:
        run = make_run(name)
        start_scripted(run, behaviour)
        poll_to_end(RunWatcher(run))
    running = make_run("d")
    start_scripted(running, "wait_for_stop")
    (tmp_path / "runs" / "no run").mkdir()
    summaries = {summary.path.name: summary for summary in list_runs(tmp_path / "runs")}
    assert list(summaries) == ["d", "c", "b", "a"]
    # The scripted worker writes no final status: the events and the process tell.
    assert [summary.state for summary in summaries.values()] == ["starting", "crashed", "failed", "done"]
    assert summaries["a"].message == "done"
    assert summaries["b"].message == "The corpus is empty."
    assert "exit code 3" in summaries["c"].message
    assert all((summary.kind, summary.label) == ("train", "mt") for summary in summaries.values())
    assert summaries["d"].is_running


def test_a_damaged_run_is_listed_with_what_is_wrong(make_run, tmp_path):
    run = make_run()
    run.spec_file.write_text('{"kind": "train", "modle": "x"}', encoding="utf-8")
    (summary,) = list_runs(tmp_path / "runs")
    assert summary.kind == "unknown"
    assert "spec.json" in summary.message


def test_no_folder_means_no_runs(tmp_path):
    assert list_runs(tmp_path / "none") == []


def test_a_hundred_long_runs_are_listed_quickly(tmp_path):
    for number in range(100):
        run = RunFolder.create(tmp_path / f"run {number}", ExportSpec(trained=tmp_path / "t", out=tmp_path / "out"))
        run.write_status(RunStatus(state="done", pid=1, process_started=1.0, started=float(number), finished=2.0))
        with EventWriter(run.events_file) as writer:
            writer.write(StageEvent(name="write", text="writing"))
            for step in range(1000):
                writer.write(MetricsEvent(step=step, tokens=step, values={"train_loss": 1.0}))
    begin = time.perf_counter()
    summaries = list_runs(tmp_path)
    duration_s = time.perf_counter() - begin
    assert [summary.started for summary in summaries] == [float(number) for number in reversed(range(100))]
    assert duration_s < 2.0
