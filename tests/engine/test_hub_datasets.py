"""Fetching data sets by the real library: from folders, and from a server that speaks the hub's API."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from lapestudio.core.hub_choices import choices_for
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import FetchSpec
from lapestudio.engine.hub_datasets import text_of_record
from tests.hub_server import LATER_REVISION, REVISION, HubServer

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="attempts are forks")
NUM_SHARDS = 3
NUM_ROWS = 200
WEB = {"dataset": "org/web", "config": "mlt_Latn", "language": "mt"}


def web_rows(config: str, shard: int) -> list[dict[str, object]]:
    """Return rows of which every fiftieth has no text."""
    return [
        {"text": f"{config} {shard} {row}: ħafna kliem ieħor" if row % 50 else "", "url": "x"}
        for row in range(NUM_ROWS)
    ]


def web_texts(config: str = "mlt_Latn") -> list[str]:
    return [str(row["text"]) for shard in range(NUM_SHARDS) for row in web_rows(config, shard) if row["text"]]


def write_table(file: Path, rows: list[dict[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), file, row_group_size=60)


def write_lines(file: Path, rows: list[dict[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_card(folder: Path, configs: list[str], ending: str = "parquet") -> None:
    lines = [
        f"- config_name: {name}\n  data_files:\n  - split: train\n    path: {name}/train-*.{ending}\n"
        for name in configs
    ]
    (folder / "README.md").write_text(f"---\nconfigs:\n{''.join(lines)}---\n", encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data sets as they lie on the hub, each with a card that names its files."""
    org = tmp_path_factory.mktemp("hub") / "org"
    for config in ("mlt_Latn", "cym_Latn"):
        for shard in range(NUM_SHARDS):
            write_table(org / "web" / config / f"train-{shard}.parquet", web_rows(config, shard))
            write_lines(org / "lines" / config / f"train-{shard}.jsonl", web_rows(config, shard))
    write_card(org / "web", ["mlt_Latn", "cym_Latn"])
    write_card(org / "lines", ["mlt_Latn", "cym_Latn"], "jsonl")
    pairs = [{"translation": {"en": f"Sentence {row}", "mt": f"Sentenza {row}"}} for row in range(20)]
    write_table(org / "pairs" / "en-mt" / "train-0.parquet", pairs)
    write_card(org / "pairs", ["en-mt"])
    wide = [{"sound": {"bytes": os.urandom(30_000), "path": "a"}, "text": f"sentenza {row}"} for row in range(400)]
    features = {"sound": {"_type": "Audio"}, "text": {"dtype": "string", "_type": "Value"}}
    table = pa.Table.from_pylist(wide).replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": features}})}
    )
    (org / "wide").mkdir()
    pyarrow.parquet.write_table(table, org / "wide" / "train-0.parquet", row_group_size=400)
    write_table(org / "empty" / "train-0.parquet", [{"text": "", "number": row} for row in range(100)])
    many = [*(f"aa{letter}_Latn" for letter in "abcdefghijklmnopqrstuv"), "mlt_Latn"]
    for config in many:
        write_lines(org / "many" / config / "train-0.jsonl", [{"text": "kelma"}])
    write_card(org / "many", many, "jsonl")
    (org / "script").mkdir()
    (org / "script" / "script.py").write_text("raise SystemExit('run')\n", encoding="utf-8")
    (org / "broken").mkdir()
    (org / "broken" / "train-0.parquet").write_bytes(b"PAR1 is not enough")
    return org.parent


class Fetcher:
    """Sends attempts to a process that fetches from an endpoint."""

    def __init__(self, home: Path, endpoint: str, **environment: str) -> None:
        self._environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": str(home), "OMP_NUM_THREADS": "1"}
        self._environment.pop("HF_TOKEN", None)
        # As the program sets it for its jobs.
        self._environment |= {"HF_HUB_DISABLE_TELEMETRY": "1", **environment}

    def __enter__(self) -> "Fetcher":
        command = [sys.executable, "-m", "tests.engine.fetching_process"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, env=self._environment, stdin=pipe, stdout=pipe, text=True)
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.communicate()
        assert self._process.returncode == 0

    def fetch(self, run: Path, spec: dict[str, Any], **how: object) -> dict[str, Any]:
        run.mkdir(exist_ok=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"spec": spec, "run": str(run), **how}) + "\n")
        self._process.stdin.flush()
        outcome: dict[str, Any] = json.loads(self._process.stdout.readline())
        return outcome


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[HubServer]:
    with HubServer(folder) as server:
        yield server


@pytest.fixture(scope="module")
def fetcher(server: HubServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fetcher]:
    with Fetcher(tmp_path_factory.mktemp("home"), server.endpoint) as fetcher:
        yield fetcher


@pytest.fixture
def hub(server: HubServer) -> Iterator[HubServer]:
    """The server, which answers as usual again after the test."""
    yield server
    server.gated.clear()
    server.later = server.failing = server.breaks_at = None


def texts_of(run: Path) -> list[str]:
    return [json.loads(line)["text"] for line in (run / "text.jsonl").read_text(encoding="utf-8").splitlines()]


def test_data_sets_of_all_forms_are_fetched_whole_or_to_a_limit(fetcher: Fetcher, folder: Path, tmp_path: Path) -> None:
    whole = fetcher.fetch(tmp_path / "web", WEB)
    of_lines = fetcher.fetch(tmp_path / "lines", {**WEB, "dataset": "org/lines"})
    texts = web_texts()
    assert texts_of(tmp_path / "web") == texts_of(tmp_path / "lines") == texts
    assert whole == {
        "num_records": len(texts), "num_characters": sum(map(len, texts)),
        "num_bytes": (tmp_path / "web" / "text.jsonl").stat().st_size, "is_whole": True, "revision": REVISION,
        "licence": "cc0-1.0, odc-by",
    }  # fmt: skip
    assert of_lines["num_records"] == len(texts)
    pairs = {"dataset": str(folder / "org" / "pairs"), "config": "en-mt", "column": "translation", "language": "mt"}
    of_folder = fetcher.fetch(tmp_path / "pairs", pairs)
    assert texts_of(tmp_path / "pairs") == [f"Sentenza {row}" for row in range(20)]
    assert (of_folder["revision"], of_folder["licence"]) == (None, None)


def test_a_limit_ends_a_fetch_and_holds_when_it_goes_on(fetcher: Fetcher, tmp_path: Path) -> None:
    spec = {**WEB, "config": "cym_Latn", "max_characters": 3000}
    first = fetcher.fetch(tmp_path / "run", spec)
    assert texts_of(tmp_path / "run") == web_texts("cym_Latn")[: first["num_records"]]
    assert 3000 <= first["num_characters"] < 3000 + len("cym_Latn 0 100: ħafna kliem ieħor")
    assert first["is_whole"] is False
    # As after a kill before the last event.
    assert fetcher.fetch(tmp_path / "run", spec) == first
    assert len(texts_of(tmp_path / "run")) == first["num_records"]


@pytest.mark.parametrize("dataset", ["org/web", "org/lines"])
def test_a_fetch_that_is_killed_again_and_again_gives_the_same_bytes(
    fetcher: Fetcher, tmp_path: Path, dataset: str
) -> None:
    spec = {**WEB, "dataset": dataset}
    plain = fetcher.fetch(tmp_path / "plain", spec)
    run = tmp_path / "killed"
    # Each state takes three writes to the disk: the text, the state, its folder.
    for kill in [("fsync", 1), ("fsync", 4), ("record", 70), ("fsync", 2), ("fsync", 3), ("fsync", 8), ("record", 1)]:
        assert fetcher.fetch(run, spec, kill=kill, keep_every_s=0.0) == {"killed": True}
    assert fetcher.fetch(run, spec, kill=("record", 100)) == {"killed": True}
    assert fetcher.fetch(run, spec) == plain
    assert fetcher.fetch(run, spec) == plain
    assert (run / "text.jsonl").read_bytes() == (tmp_path / "plain" / "text.jsonl").read_bytes()
    assert texts_of(run) == web_texts()


def test_a_stopped_fetch_goes_on_and_what_lies_behind_its_state_is_cut_off(fetcher: Fetcher, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert fetcher.fetch(run, WEB, stop_after=100) == {"stopped": True}
    assert texts_of(run) == web_texts()[:98]
    with (run / "text.jsonl").open("ab") as file:
        # More than what is still to come, so that it would show.
        file.write(b'{"text": "half a li' * 5000)
    assert fetcher.fetch(run, WEB)["is_whole"]
    assert texts_of(run) == web_texts()


def test_a_fetch_goes_on_in_the_revision_in_which_it_began(fetcher: Fetcher, hub: HubServer, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert fetcher.fetch(run, WEB, stop_after=250) == {"stopped": True}
    hub.later = tmp_path / "later"
    write_table(hub.later / "org" / "web" / "mlt_Latn" / "train-0.parquet", [{"text": "something new", "url": ""}])
    write_card(hub.later / "org" / "web", ["mlt_Latn"])
    assert fetcher.fetch(run, WEB)["revision"] == REVISION
    assert fetcher.fetch(tmp_path / "new", WEB)["revision"] == LATER_REVISION
    assert texts_of(run) == web_texts()
    assert texts_of(tmp_path / "new") == ["something new"]


def test_a_connection_that_breaks_off_keeps_what_there_is(fetcher: Fetcher, hub: HubServer, tmp_path: Path) -> None:
    run = tmp_path / "run"
    hub.breaks_at = "train-1.parquet"
    assert "The hub cannot be reached to fetch org/web" in fetcher.fetch(run, WEB)["error"]
    kept = web_texts()[: len(web_texts()) // NUM_SHARDS]
    assert texts_of(run) == kept
    for status, sentence in ((503, "wait some minutes"), (429, "wait some minutes"), (403, "give a valid token")):
        hub.failing = status
        told = fetcher.fetch(run, WEB)["error"]
        assert sentence in told
        assert f"(answer {status})" in told
        assert texts_of(run) == kept
    hub.failing = hub.breaks_at = None
    assert fetcher.fetch(run, WEB)["is_whole"]
    assert texts_of(run) == web_texts()


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"config": "mlt_Lat"}, 'no configuration "mlt_Lat"; near it are mlt_Latn'),
    ({"config": None}, "several configurations (2); choose one, such as mlt_Latn."),
    ({"dataset": "org/many", "config": "x"}, 'no configuration "x"; near it are mlt_Latn (23 in all).'),
    ({"split": "dev"}, 'has no split "dev"; it has train'),
    ({"column": "body"}, 'has no column "body"; it has text, url'),
    ({"dataset": "org/lines", "column": "body"}, 'has no column "body"; it has text, url'),
    ({"revision": "old"}, "has no revision old"),
    ({"dataset": "org/none"}, "There is no data set org/none on the hub"),
    ({"dataset": "/no/such/folder"}, "/no/such/folder is neither a folder nor a name on the hub"),
    ({"dataset": "org/empty", "config": None}, 'org/empty has no text under "text"; choose another column'),
    ({"dataset": "org/script", "config": None}, "org/script needs a program of its own to be read, which is never run"),
    ({"dataset": "org/broken", "config": None}, "The data set org/broken cannot be read: "),
    (
        {"dataset": "org/pairs", "config": "en-mt", "column": "translation", "language": "cy"},
        "org/pairs (en-mt) has en, mt, but not cy; choose another configuration",
    ),
]


@pytest.mark.parametrize(("wrong", "sentence"), FAULTS)
def test_a_wrong_choice_is_one_sentence_and_leaves_nothing(
    fetcher: Fetcher, tmp_path: Path, wrong: dict[str, Any], sentence: str
) -> None:
    told = fetcher.fetch(tmp_path / "run", {**WEB, **wrong})["error"]
    assert sentence in told
    assert "\n" not in told
    assert list((tmp_path / "run").iterdir()) == []


def test_conditions_to_be_accepted_are_told_and_a_token_opens(fetcher: Fetcher, hub: HubServer, tmp_path: Path) -> None:
    hub.gated.add("org/web")
    spec = {**WEB, "max_characters": 1000}
    assert "accept its conditions" in fetcher.fetch(tmp_path / "run", spec)["error"]
    assert "give a valid token" in fetcher.fetch(tmp_path / "run", spec, token="hf_wrong")["error"]
    assert fetcher.fetch(tmp_path / "run", spec, token=hub.token)["num_characters"] >= 1000


@pytest.mark.parametrize("environment", [{}, {"HF_HUB_OFFLINE": "1"}])
def test_a_hub_that_does_not_answer_is_told(tmp_path: Path, environment: dict[str, str]) -> None:
    with Fetcher(tmp_path, "http://127.0.0.1:9", **environment) as offline:
        told = offline.fetch(tmp_path / "run", WEB)["error"]
    assert told.startswith("The hub cannot be reached to fetch org/web: check the connection")


def test_of_a_table_only_the_column_is_fetched_and_no_sound_is_decoded(
    fetcher: Fetcher, hub: HubServer, folder: Path, tmp_path: Path
) -> None:
    before = hub.num_bytes
    assert fetcher.fetch(tmp_path / "run", {"dataset": "org/wide", "language": "mt"})["num_records"] == 400
    assert hub.num_bytes - before < (folder / "org" / "wide" / "train-0.parquet").stat().st_size


def test_nothing_is_asked_of_the_hub_but_the_data_set(fetcher: Fetcher, hub: HubServer, tmp_path: Path) -> None:
    hub.requests.clear()
    assert fetcher.fetch(tmp_path / "run", WEB)["is_whole"]
    paths = [request.split()[1] for request in hub.requests]
    assert paths
    assert all(path.startswith(("/api/datasets/org/web", "/datasets/org/web/resolve/")) for path in paths)


def test_a_state_without_its_text_is_refused(fetcher: Fetcher, tmp_path: Path) -> None:
    run = tmp_path / "run"
    fetcher.fetch(run, WEB, stop_after=100)
    (run / "text.jsonl").write_bytes(b"{}\n")
    assert "has been shortened; fetch the text anew" in fetcher.fetch(run, WEB)["error"]
    (run / "fetch-state.json").write_text("{", encoding="utf-8")
    assert "is damaged; fetch the text anew" in fetcher.fetch(run, WEB)["error"]
    assert (run / "text.jsonl").read_bytes() == b"{}\n"
    assert RunFolder(run).can_go_on


def test_ready_made_choices_fill_in_the_language() -> None:
    maltese = {one.name: (one.dataset, one.config, one.split, one.column) for one in choices_for("mt")}
    assert maltese == {
        "FineWeb-2": ("HuggingFaceFW/fineweb-2", "mlt_Latn", "train", "text"),
        "GlotCC": ("cis-lmu/GlotCC-V1", "mlt-Latn", "train", "content"),
        "Wikipedia": ("wikimedia/wikipedia", "20231101.mt", "train", "text"),
        "FLORES+": ("openlanguagedata/flores_plus", "mlt_Latn", "dev", "text"),
        "OPUS-100": ("Helsinki-NLP/opus-100", "en-mt", "train", "translation"),
    }
    assert [one.name for one in choices_for("mt") if one.needs_access] == ["FLORES+"]
    assert all(one.licence for one in choices_for("mt"))


@pytest.mark.parametrize(
    ("language", "configs"),
    [
        ("ka", ["kat_Geor", "kat-Geor", "20231101.ka", "kat_Geor", "en-ka"]),
        ("et", ["ekk_Latn", "ekk-Latn", "20231101.et", "ekk_Latn", "en-et"]),
        ("af", ["afr_Latn", "afr-Latn", "20231101.af", "afr_Latn", "af-en"]),
        ("en", ["eng-Latn", "20231101.en", "eng_Latn"]),
        ("fa", ["fas_Arab", "fas-Arab", "20231101.fa", "pes_Arab", "en-fa"]),
        ("zh-Hant", ["cmn_Hani", "cmn-Hani", "20231101.zh", "cmn_Hant", "en-zh"]),
        ("ko", ["kor_Hang", "kor-Hang", "20231101.ko", "kor_Hang", "en-ko"]),
        ("gsw", ["gsw_Latn", "gsw-Latn", "20231101.als", "gsw_Latn"]),
        ("no", ["nob_Latn", "nob-Latn", "20231101.no", "nob_Latn", "en-nb"]),
        ("be-tarask", ["bel_Cyrl", "bel-Cyrl", "20231101.be-x-old", "bel_Cyrl", "be-en"]),
        ("qaa-x-siltigo", []),
    ],
)
def test_ready_made_choices_know_the_names_of_each_data_set(language: str, configs: list[str]) -> None:
    assert [one.config for one in choices_for(language)] == configs


def test_the_text_of_a_record() -> None:
    spec = FetchSpec(dataset="d", language="mt", column="translation")
    assert text_of_record(spec, {"translation": {"en": "x", "mlt": " kelma "}}) == "kelma"
    assert text_of_record(spec, {"translation": None}) == ""
