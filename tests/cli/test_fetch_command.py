"""Fetching as a user does it: the program, its worker, and a server that speaks the hub's API."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from lapestudio.core.run_folder import RunFolder
from tests.hub_server import HubServer

NUM_SHARDS = 8
TEXTS = [f"Artiklu {number}: ħafna kliem" for number in range(NUM_SHARDS * 50)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hub's Wikipedia, in Maltese."""
    hub = tmp_path_factory.mktemp("hub")
    place = hub / "wikimedia" / "wikipedia"
    (place / "20231101.mt").mkdir(parents=True)
    for shard in range(NUM_SHARDS):
        rows = [{"id": "1", "text": text} for text in TEXTS[shard * 50 : (shard + 1) * 50]]
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), place / "20231101.mt" / f"train-{shard}.parquet")
    files = "  data_files:\n  - split: train\n    path: 20231101.mt/train-*\n"
    (place / "README.md").write_text(f"---\nconfigs:\n- config_name: 20231101.mt\n{files}---\n", encoding="utf-8")
    return hub


@pytest.fixture
def hub(folder: Path) -> Iterator[HubServer]:
    with HubServer(folder) as server:
        yield server


class Studio:
    """Starts `lapestudio` in a folder of its own."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self.folder = folder
        self.environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(folder / "hf")}
        self.environment |= {"PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"}

    def start(self, *words: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "lapestudio", *map(str, words)],
            env=self.environment, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, *words: object) -> tuple[int, str, str]:
        return self.end(self.start(*words))

    @staticmethod
    def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
        out, errors = process.communicate(timeout=120)
        return process.returncode, out, errors.strip().splitlines()[-1] if errors.strip() else ""


@pytest.fixture
def studio(tmp_path: Path, hub: HubServer) -> Studio:
    return Studio(tmp_path, hub.endpoint)


def texts_of(run: Path) -> list[str]:
    return [json.loads(line)["text"] for line in (run / "text.jsonl").read_text(encoding="utf-8").splitlines()]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def num_kept(run: Path) -> int:
    try:
        return int(json.loads((run / "fetch-state.json").read_bytes())["num_records"])
    except FileNotFoundError:
        return 0


def test_a_ready_made_choice_is_fetched_and_read_offline_for_ever(studio: Studio, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = ("fetch", "wikipedia", "--language", "Maltese", "--out", run, "--json")
    code, out, _errors = studio.run(*words)
    answer = json.loads(out)
    assert code == 0
    assert texts_of(run) == TEXTS
    assert (answer["kind"], answer["dataset"], answer["config"]) == ("fetch", "wikimedia/wikipedia", "20231101.mt")
    assert (answer["language"], answer["records"], answer["is_whole"]) == ("mt", len(TEXTS), True)
    events = [json.loads(line) for line in (run / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    progress = [event for event in events if event["type"] == "progress"]
    assert progress[-1]["done"] == progress[-1]["total"] == answer["characters"]
    # A second fetch into the same place is refused, what is there stays.
    assert "not empty" in studio.run(*words)[2]
    studio.environment["HF_ENDPOINT"] = "http://127.0.0.1:9"
    code, out, _errors = studio.run("corpus", run / "text.jsonl", "--language", "mt", "--json")
    assert (code, json.loads(out)["num_segments"]) == (0, len(TEXTS))
    assert "is finished" in studio.run("resume", run)[2]


def test_a_fetch_that_is_killed_and_one_that_is_stopped_go_on(studio: Studio, hub: HubServer, tmp_path: Path) -> None:
    run = tmp_path / "run"
    hub.delay_s = 0.6
    fetching = studio.start("fetch", "wikimedia/wikipedia", "--language", "mt", "--out", run)
    wait_until(lambda: num_kept(run) > 0)
    os.kill(json.loads((run / "status.json").read_bytes())["pid"], signal.SIGKILL)
    code, _out, errors = studio.end(fetching)
    assert code == 1
    assert "What was fetched is kept: resume the run to go on from there." in errors
    kept = num_kept(run)
    fetching = studio.start("resume", run)
    wait_until(lambda: num_kept(run) > kept)
    RunFolder(run).request_stop()
    code, _out, errors = studio.end(fetching)
    assert code == 1
    assert f'Go on with: lapestudio resume "{run}"' in errors
    assert len(texts_of(run)) < len(TEXTS)
    hub.delay_s = 0.0
    code, out, _errors = studio.run("resume", run, "--json")
    assert (code, json.loads(out)["records"]) == (0, len(TEXTS))
    assert texts_of(run) == TEXTS


def test_a_job_description_finds_a_folder_beside_it(studio: Studio, folder: Path, tmp_path: Path) -> None:
    spec = {"kind": "fetch", "dataset": "wikipedia", "language": "mt", "max_characters": 1000}
    file = folder / "wikimedia" / "spec.json"
    file.write_text(json.dumps(spec), encoding="utf-8")
    code, _out, errors = studio.run("run", file, "--out", tmp_path / "run")
    assert code == 0, errors
    assert texts_of(tmp_path / "run") == TEXTS[: len(texts_of(tmp_path / "run"))]
    # A failed fetch leaves its run folder to the next one.
    wrong = studio.run("fetch", folder / "wikimedia" / "wikipedia", "--language", "mt", "--split", "dev", "--out", "x")
    assert 'no split "dev"; it has train' in wrong[2]
    right = studio.run("fetch", folder / "wikimedia" / "wikipedia", "--language", "mt", "--out", "x")
    assert right[0] == 0
    assert f"{len(TEXTS):,} texts" in right[1]


def test_what_there_is_for_a_language_is_listed(studio: Studio) -> None:
    code, out, _errors = studio.run("fetch", "--list", "mt")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[2:]] == [
        "FineWeb-2",
        "GlotCC",
        "Wikipedia",
        "FLORES+",
        "OPUS-100",
    ]
    listed = json.loads(studio.run("fetch", "--list", "Maltese", "--json")[1])
    assert listed[2] == {
        "name": "Wikipedia", "about": "All articles of the language's Wikipedia.", "licence": "CC BY-SA 3.0 and GFDL",
        "dataset": "wikimedia/wikipedia", "config": "20231101.mt", "split": "train", "column": "text",
        "needs_access": False,
    }  # fmt: skip
    assert "no ready-made data set" in studio.run("fetch", "--list", "qaa")[1]
    assert "Name the data set and the --language" in studio.run("fetch", "wikipedia")[2]
