"""Fetching data sets by the real library and command: from folders, and from a server that speaks the hub's API."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from lapestudio.core.hub_choices import choices_for
from lapestudio.core.specs import FetchSpec
from lapestudio.engine.hub_datasets import text_of_record
from tests.hub_server import HubServer

NUM_SHARDS = 3
NUM_ROWS = 700


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data sets as they lie on the hub: by configuration, in Parquet, with a card that names the files."""
    hub = tmp_path_factory.mktemp("hub")
    for config in ("mlt_Latn", "cym_Latn"):
        for shard in range(NUM_SHARDS):
            rows = [
                {"text": f"{config} {shard} {row}: ħafna kliem ieħor", "url": "x"}
                if row % 50
                else {"text": "", "url": ""}
                for row in range(NUM_ROWS)
            ]
            write_table(hub / "org" / "web" / config / f"train-{shard}.parquet", rows)
    write_card(hub / "org" / "web", ["mlt_Latn", "cym_Latn"])
    pairs = [{"translation": {"en": f"Sentence {row}", "mt": f"Sentenza {row}"}} for row in range(20)]
    write_table(hub / "org" / "pairs" / "en-mt" / "train-0.parquet", pairs)
    write_card(hub / "org" / "pairs", ["en-mt"])
    return hub


def write_table(file: Path, rows: list[dict[str, object]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), file, row_group_size=100)


def write_card(folder: Path, configs: list[str]) -> None:
    lines = [
        f"- config_name: {name}\n  data_files:\n  - split: train\n    path: {name}/train-*.parquet\n"
        for name in configs
    ]
    (folder / "README.md").write_text(f"---\nconfigs:\n{''.join(lines)}---\n", encoding="utf-8")


class Fetcher:
    """Runs the command."""

    def __init__(self, home: Path, endpoint: str) -> None:
        self.home = home
        self.environment = {
            **os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(home / "hf"), "PYTHONUTF8": "1",
            "OMP_NUM_THREADS": "1", "HF_HUB_DISABLE_IMPLICIT_TOKEN": "0",
        }  # fmt: skip
        self.environment.pop("HF_TOKEN", None)

    def command(self, *words: object) -> list[str]:
        return [sys.executable, "-m", "lapestudio", *map(str, words), "--json"]

    def run(self, *words: object) -> tuple[int, dict[str, object], str]:
        done = subprocess.run(
            self.command(*words), env=self.environment, capture_output=True, text=True, check=False, cwd=self.home
        )
        answer = json.loads(done.stdout) if done.stdout.strip() else {}
        return done.returncode, answer, done.stderr

    def refuse(self, *words: object) -> str:
        code, _answer, errors = self.run(*words)
        assert code == 1
        assert "Traceback" not in errors
        return errors.strip().splitlines()[-1]


@pytest.fixture
def hub(folder: Path) -> Iterator[HubServer]:
    with HubServer(folder) as server:
        yield server


@pytest.fixture
def fetcher(tmp_path: Path, hub: HubServer) -> Fetcher:
    return Fetcher(tmp_path, hub.endpoint)


def texts_of(run: Path) -> list[str]:
    return [json.loads(line)["text"] for line in (run / "text.jsonl").read_text(encoding="utf-8").splitlines()]


def expected_texts(config: str = "mlt_Latn") -> list[str]:
    return [
        f"{config} {shard} {row}: ħafna kliem ieħor"
        for shard in range(NUM_SHARDS)
        for row in range(NUM_ROWS)
        if row % 50
    ]


def test_a_data_set_is_fetched_whole_and_read_offline_afterwards(fetcher: Fetcher, tmp_path: Path) -> None:
    run = tmp_path / "run"
    code, answer, _errors = fetcher.run("fetch", "org/web", "--config", "mlt_Latn", "--language", "mt", "--out", run)
    assert code == 0
    assert texts_of(run) == expected_texts()
    assert answer["records"] == len(expected_texts())
    assert answer["is_whole"] is True
    # A second fetch into the same place is refused, what is there stays.
    assert "run" in fetcher.refuse("fetch", "org/web", "--config", "mlt_Latn", "--language", "mt", "--out", run)
    offline = Fetcher(tmp_path, "http://127.0.0.1:9")
    code, answer, _errors = offline.run("corpus", run / "text.jsonl", "--language", "mt")
    assert (code, answer["num_segments"]) == (0, len(expected_texts()))


def test_a_limit_ends_a_fetch(fetcher: Fetcher, tmp_path: Path) -> None:
    words = ("fetch", "org/web", "--config", "cym_Latn", "--language", "cy", "--max-characters", 3000)
    code, answer, _errors = fetcher.run(*words, "--out", tmp_path / "run")
    assert code == 0
    assert 3000 <= int(str(answer["characters"])) < 3200
    assert answer["is_whole"] is False
    assert texts_of(tmp_path / "run") == expected_texts("cym_Latn")[: int(str(answer["records"]))]


def test_a_killed_fetch_goes_on_where_it_was(fetcher: Fetcher, hub: HubServer, tmp_path: Path) -> None:
    run = tmp_path / "run"
    hub.delay_s = 0.15
    words = fetcher.command("fetch", "org/web", "--config", "mlt_Latn", "--language", "mt", "--out", run)
    for kept in (500, 1500):
        if kept > 500:
            words = fetcher.command("resume", run)
        child = subprocess.Popen(
            words, env=fetcher.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path
        )
        wait_for_records(run, kept)
        os.kill(json.loads((run / "status.json").read_bytes())["pid"], signal.SIGKILL)
        child.wait()
        assert len(texts_of(run)) < len(expected_texts())
    # What was written beyond the last state is written again, not twice.
    with (run / "text.jsonl").open("ab") as file:
        file.write(b'{"text": "half a li')
    hub.delay_s = 0.0
    code, answer, _errors = fetcher.run("resume", run)
    assert code == 0
    assert texts_of(run) == expected_texts()
    assert answer["records"] == len(expected_texts())
    assert "finished" in fetcher.refuse("resume", run)


def wait_for_records(run: Path, number: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if json.loads((run / "fetch-state.json").read_bytes())["num_records"] >= number:
                return
        except (FileNotFoundError, ValueError):
            pass
        time.sleep(0.005)
    raise TimeoutError("the fetch did not come so far")


def test_a_side_of_a_translation_and_a_folder_on_disk(fetcher: Fetcher, folder: Path, tmp_path: Path) -> None:
    place = folder / "org" / "pairs"
    words = ("fetch", place, "--config", "en-mt", "--column", "translation", "--out", tmp_path / "run")
    code, _answer, _errors = fetcher.run(*words, "--language", "mt")
    assert code == 0
    assert texts_of(tmp_path / "run") == [f"Sentenza {row}" for row in range(20)]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("org/web", "--config", "mlt_Lat"), 'no configuration "mlt_Lat"; near it are mlt_Latn'),
        (("org/web",), "several configurations; choose one: mlt_Latn, cym_Latn"),
        (("org/web", "--config", "mlt_Latn", "--split", "dev"), 'has no split "dev"; it has train'),
        (("org/web", "--config", "mlt_Latn", "--column", "body"), 'has no column "body"; it has text, url'),
        (("org/web", "--config", "mlt_Latn", "--revision", "old"), "has no revision old"),
        (("org/none", "--config", "mlt_Latn"), "There is no data set org/none on the hub"),
    ],
)
def test_a_wrong_choice_is_one_sentence(
    fetcher: Fetcher, tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    assert sentence in fetcher.refuse("fetch", *words, "--language", "mt", "--out", tmp_path / "run")


def test_conditions_to_be_accepted_are_told_and_a_token_opens(fetcher: Fetcher, hub: HubServer, tmp_path: Path) -> None:
    hub.gated.add("org/web")
    words = ("fetch", "org/web", "--config", "mlt_Latn", "--language", "mt", "--max-characters", 1000)
    assert "accept its conditions" in fetcher.refuse(*words, "--out", tmp_path / "first")
    fetcher.environment["HF_TOKEN"] = hub.token
    code, answer, _errors = fetcher.run(*words, "--out", tmp_path / "second")
    assert (code, answer["language"]) == (0, "mt")


def test_a_hub_that_does_not_answer_is_told(tmp_path: Path) -> None:
    offline = Fetcher(tmp_path, "http://127.0.0.1:9")
    sentence = offline.refuse("fetch", "org/web", "--config", "x", "--language", "mt", "--out", tmp_path / "run")
    assert "The hub cannot be reached to fetch org/web" in sentence


def test_ready_made_choices_fill_in_the_language() -> None:
    maltese = {one.name: (one.dataset, one.config, one.split, one.column) for one in choices_for("mt")}
    assert maltese["FineWeb-2"] == ("HuggingFaceFW/fineweb-2", "mlt_Latn", "train", "text")
    assert maltese["GlotCC"][1] == "mlt-Latn"
    assert maltese["Wikipedia"][1] == "20231101.mt"
    assert maltese["FLORES+"][1:3] == ("mlt_Latn", "dev")
    assert maltese["OPUS-100"][1] == "en-mt"
    assert {one.config for one in choices_for("ka")} >= {"kat_Geor", "kat-Geor", "20231101.ka", "en-ka"}
    assert {one.config for one in choices_for("et")} >= {"ekk_Latn", "20231101.et", "en-et"}
    assert {one.config for one in choices_for("af")} >= {"af-en"}
    assert "OPUS-100" not in {one.name for one in choices_for("en")}
    assert [one.name for one in choices_for("en") if one.needs_access] == ["FLORES+"]


def test_the_text_of_a_record() -> None:
    spec = FetchSpec(dataset="d", language="mt", column="translation")
    assert text_of_record(spec, {"translation": {"en": "x", "mlt": " kelma "}}) == "kelma"
    assert text_of_record(spec, {"translation": None}) == ""
