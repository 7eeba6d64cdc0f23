from pathlib import Path

import pytest

from lapestudio.cli.arguments import corpora, make_spec, model_source, run_path, spread_lists, valid_language
from lapestudio.core.errors import UserError
from lapestudio.core.specs import ExportSpec, TrainSettings


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("identify m --corpus a=1 b=2 --out r", "identify m --corpus a=1 --corpus b=2 --out r"),
        ("identify m --corpus a=1 --corpus b=2", "identify m --corpus a=1 --corpus b=2"),
        ("identify --corpus a=1 b=2 m", "identify --corpus a=1 --corpus b=2 m"),
        ("train m --corpus 1 2 --language mt", "train m --corpus 1 --corpus 2 --language mt"),
        ("train --corpus 1 m --language mt", "train --corpus 1 m --language mt"),
        ("evaluate m --out r --corpus a=1 b=2", "evaluate m --out r --corpus a=1 --corpus b=2"),
        ("select r --top-rate 0.1", "select r --top-rate 0.1"),
    ],
)
def test_a_list_option_takes_several_words(typed, meant):
    assert spread_lists(typed.split()) == meant.split()


def test_corpora_of_one_language_are_one_corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b=c.txt", "en.txt"):
        (tmp_path / name).write_text("text", encoding="utf-8")
    found = corpora(["mt=a.txt", "en=en.txt", "mt=b=c.txt"])
    assert [source.language for source in found] == ["mt", "en"]
    assert found[0].paths == (tmp_path / "a.txt", tmp_path / "b=c.txt")


@pytest.mark.parametrize("word", ["a.txt", "=a.txt", "mt=", "mt"])
def test_a_word_of_another_form_is_refused_with_an_example(word):
    with pytest.raises(UserError, match="CODE=PATH"):
        corpora([word])


def test_codes_stay_as_typed_and_names_become_codes():
    codes = ["mt", "mlt", "mlt_Latn", "zh-Hant", "Maltese"]
    assert [valid_language(code) for code in codes] == ["mt", "mlt", "mlt_Latn", "zh-Hant", "mt"]


def test_a_model_that_exists_here_is_a_folder_and_else_a_hub_id(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org" / "model").mkdir(parents=True)
    assert model_source("org/model") == str(tmp_path / "org" / "model")
    assert model_source("org/other") == "org/other"


def test_what_is_not_given_keeps_its_default_and_what_is_wrong_is_named():
    assert make_spec(TrainSettings, seed=3, epochs=None) == TrainSettings(seed=3)
    with pytest.raises(UserError, match="learning_rate"):
        make_spec(TrainSettings, learning_rate=-1.0)


def test_runs_are_named_by_job_and_go_where_they_are_told(tmp_path):
    spec = ExportSpec(trained=tmp_path / "run", out=tmp_path / "adapted")
    assert run_path(Path("here"), spec) == Path("here")
    assert run_path(None, spec, runs=tmp_path).parent == tmp_path
    assert run_path(None, spec).name.endswith("_export_adapted")
