import time

import pytest

from lapestudio.core.errors import UserError
from lapestudio.core.neuron_set import load_neuron_set
from lapestudio.core.specs import CorpusSource
from lapestudio.jobs.interpreter import ENVIRONMENT_VARIABLE
from lapestudio.jobs.queries import EngineError, inspect_model, run_query
from tests.tiny_model_folder import INTERMEDIATE_SIZE, NUM_LAYERS, write_model_folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_model_folder(tmp_path_factory.mktemp("query") / "a model ħ")


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """Answer with a script in place of the engine's Python."""

    def answer_with(script):
        program = tmp_path / "python"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(program))

    return answer_with


def corpus(language, *paths, **fields):
    return CorpusSource(language=language, paths=paths, **fields).model_dump(mode="json")


def test_a_model_is_described_and_its_tokens_are_counted(model, tmp_path):
    report = inspect_model(str(model))
    assert (report.num_layers, report.intermediate_size, report.model_type) == (NUM_LAYERS, INTERMEDIATE_SIZE, "llama")
    (tmp_path / "a.txt").write_text("ħa\nb\n", encoding="utf-8")
    (tmp_path / "b.txt").write_bytes(b"")
    corpora = [corpus("mt", tmp_path / "a.txt"), corpus("en", tmp_path / "b.txt")]
    cache = tmp_path / "cache"
    arguments = {"model": str(model), "corpora": corpora, "fingerprints": {"mt": "f1"}, "cache": str(cache)}
    news = []
    run_query("count_tokens", arguments, on_news=news.append)
    # A token a byte, and one for the line feed between the two segments, as a job would count.
    results = {one["name"]: one["result"] for one in news if "result" in one}
    assert results == {"mt": 5, "en": 0}
    # What is known of the same text and tokenizer is not counted again.
    (kept,) = cache.glob("*.json")
    kept.write_text("77", encoding="utf-8")
    news.clear()
    run_query("count_tokens", {**arguments, "corpora": corpora[:1]}, on_news=news.append)
    assert news == [{"name": "mt", "result": 77}]


def test_corpora_are_described_one_after_the_other_and_remembered(tmp_path):
    (tmp_path / "a.txt").write_text("Kelma\nKelma\nOħra\n", encoding="utf-8")
    corpora = [corpus("mt", tmp_path / "a.txt"), corpus("cy", tmp_path / "none.txt")]
    arguments = {"corpora": corpora, "preview": 5, "cache": str(tmp_path / "cache")}
    news = []
    run_query("describe", arguments, on_news=news.append)
    results = {one["name"]: one["result"] for one in news if "result" in one}
    assert list(results) == ["mt", "cy"]
    assert (results["mt"]["num_segments"], results["mt"]["cleaning"][0]["num_removed"]) == (2, 1)
    assert "none.txt does not exist" in results["cy"]["problems"][0]
    assert len(list((tmp_path / "cache").glob("*.json"))) == 1
    # A file that was edited is read again.
    (tmp_path / "a.txt").write_text("Kelma\n", encoding="utf-8")
    news.clear()
    run_query("describe", {**arguments, "corpora": corpora[:1]}, on_news=news.append)
    assert news[-1]["result"]["num_segments"] == 1


def test_a_file_is_looked_into_with_what_was_chosen(tmp_path):
    (tmp_path / "a.csv").write_text("id,Malti,English\n1,Kelb,Dog\n2,Qattus,Cat\n", encoding="utf-8")
    arguments = {"path": str(tmp_path / "a.csv"), "language": "mt", "options": {"parts": ["English"]}, "limit": 1}
    look = run_query("preview", arguments)
    assert [part["name"] for part in look["parts"]] == ["id", "Malti", "English"]
    assert [segment[0] for segment in look["segments"]] == ["Dog"]
    assert look["notes"]["format_name"] == "table"
    assert look["problems"] == []
    with pytest.raises(UserError, match="does not exist"):
        run_query("preview", {**arguments, "path": str(tmp_path / "none.csv")})


def test_a_fault_of_the_user_comes_back_as_one_sentence(tmp_path):
    with pytest.raises(UserError, match="nowhere"):
        inspect_model(str(tmp_path / "nowhere"))


def test_neuron_sets_go_to_the_published_form_and_back(tmp_path, model):
    ours = tmp_path / "set.json"
    ours.write_text(
        '{"languages": ["mt", "cy"], "num_layers": 2, "intermediate_size": 9, '
        '"neurons": {"mt": [[1, 8], []], "cy": [[], [0]]}}',
        encoding="utf-8",
    )
    run_query("write_mask", {"neurons": str(ours), "out": str(tmp_path / "mask.pth")})
    arguments = {"file": str(tmp_path / "mask.pth"), "languages": ["mt", "cy"], "out": str(tmp_path / "back.json")}
    run_query("read_mask", {**arguments, "intermediate_size": 9})
    assert load_neuron_set(tmp_path / "back.json").document()["neurons"] == {"mt": [[1, 8], []], "cy": [[], [0]]}
    with pytest.raises(UserError, match="intermediate size"):
        run_query("read_mask", arguments)
    with pytest.raises(UserError, match="2 layers"):
        run_query("read_mask", {**arguments, "model": str(model)})


def test_an_engine_that_breaks_is_told_with_its_last_lines(engine):
    engine("echo 'libtorch.so is missing' >&2; exit 127")
    with pytest.raises(EngineError, match="exit code 127") as caught:
        run_query("inspect", {"model": "m"})
    assert "libtorch.so is missing" in caught.value.details


def test_a_question_can_be_cancelled_at_once(engine):
    engine("exec sleep 600")
    begin = time.monotonic()
    with pytest.raises(UserError, match="cancelled"):
        run_query("inspect", {"model": "m"}, is_cancelled=lambda: time.monotonic() > begin + 0.2)
    assert time.monotonic() - begin < 5
