from datetime import UTC, datetime
from pathlib import Path

import pytest

from lapestudio.core.errors import UserError
from lapestudio.core.run_folder import RunFolder, RunStatus
from lapestudio.core.specs import ExportSpec

SPEC = ExportSpec(trained=Path("t"), out=Path("out"))
STATUS = RunStatus(state="running", pid=7, process_started=1.5, started=2.5)


def test_a_new_run_folder_holds_the_spec(tmp_path):
    run = RunFolder.create(tmp_path / "runs" / "ħ 1", SPEC)
    assert RunFolder(tmp_path / "runs" / "ħ 1").read_spec() == SPEC
    assert run.read_status() is None


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match="not empty"):
        RunFolder.create(tmp_path, SPEC)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def failed_run(path):
    run = RunFolder.create(path, SPEC)
    run.write_status(STATUS.model_copy(update={"state": "failed"}))
    run.events_file.write_text("{}", encoding="utf-8")
    run.blocks_folder.mkdir()
    (run.blocks_folder / "mt.arrow").write_bytes(b"")
    return run


def test_a_folder_of_a_failed_run_without_results_may_be_used_again(tmp_path):
    run = failed_run(tmp_path / "run")
    assert RunFolder.create(run.path, SPEC).read_status() is None
    assert [path.name for path in run.path.iterdir()] == ["spec.json"]


@pytest.mark.parametrize("kept", ["counts.safetensors", "notes.txt"])
def test_a_failed_run_with_anything_else_in_it_is_left_alone(tmp_path, kept):
    run = failed_run(tmp_path / "run")
    (run.path / kept).write_bytes(b"x")
    before = sorted(run.path.rglob("*"))
    with pytest.raises(UserError, match="not empty"):
        RunFolder.create(run.path, SPEC)
    assert sorted(run.path.rglob("*")) == before


def test_a_run_that_did_not_fail_is_left_alone(tmp_path):
    run = RunFolder.create(tmp_path / "run", SPEC)
    run.write_status(STATUS)
    with pytest.raises(UserError, match="not empty"):
        RunFolder.create(run.path, SPEC)


def test_an_empty_folder_may_be_used(tmp_path):
    assert RunFolder.create(tmp_path, SPEC).read_spec() == SPEC


def test_a_place_where_no_folder_can_be_is_an_error(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="cannot be written"):
        RunFolder.create(tmp_path / "file" / "run", SPEC)
    with pytest.raises(UserError):
        RunFolder.create(tmp_path / "file", SPEC)


def test_new_paths_name_the_job_and_do_not_collide(tmp_path):
    now = datetime(2026, 12, 1, 14, 32, tzinfo=UTC)
    first = RunFolder.new_path(tmp_path, "train", "mt/Latn: ħ", now)
    assert first.name == "2026-12-01_1432_train_mt-Latn-ħ"
    first.mkdir()
    second = RunFolder.new_path(tmp_path, "train", "mt/Latn: ħ", now)
    assert second.name == first.name + "_2"
    assert RunFolder.new_path(tmp_path, "export", "", now).name == "2026-12-01_1432_export"


@pytest.mark.parametrize("make", [lambda _: None, Path.mkdir, Path.touch])
def test_what_is_no_run_folder_is_named(tmp_path, make):
    path = tmp_path / "run"
    make(path)
    with pytest.raises(UserError, match="run is not a run folder"):
        RunFolder(path).read_spec()


def test_the_status_is_replaced_as_a_whole(tmp_path):
    run = RunFolder.create(tmp_path / "run", SPEC)
    run.write_status(STATUS)
    done = STATUS.model_copy(update={"state": "done", "finished": 3.5})
    run.write_status(done)
    assert run.read_status() == done
    assert sorted(path.name for path in run.path.iterdir()) == ["spec.json", "status.json"]


def test_a_damaged_status_is_an_error(tmp_path):
    run = RunFolder.create(tmp_path / "run", SPEC)
    run.status_file.write_text('{"state": "run', encoding="utf-8")
    with pytest.raises(UserError, match=r"status\.json is damaged"):
        run.read_status()


def test_a_request_to_stop_stays_until_withdrawn(tmp_path):
    run = RunFolder.create(tmp_path / "run", SPEC)
    assert not run.stop_requested
    run.request_stop()
    run.request_stop()
    assert RunFolder(run.path).stop_requested
    run.clear_stop()
    run.clear_stop()
    assert not run.stop_requested
