import time

import pytest

from lapestudio.core.errors import UserError
from lapestudio.core.neuron_set import load_neuron_set
from lapestudio.jobs.interpreter import ENVIRONMENT_VARIABLE
from lapestudio.jobs.queries import EngineError, count_tokens, inspect_model, run_query
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


def test_a_model_is_described_and_its_tokens_are_counted(model, tmp_path):
    report = inspect_model(str(model))
    assert (report.num_layers, report.intermediate_size, report.model_type) == (NUM_LAYERS, INTERMEDIATE_SIZE, "llama")
    (tmp_path / "a.txt").write_text("ħa\nb\n", encoding="utf-8")
    # A token a byte; line ends are not counted here.
    assert count_tokens(str(model), (tmp_path / "a.txt",)) == 4


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
