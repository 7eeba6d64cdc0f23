"""The program as a user runs it: a process, its output and its exit code."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from safetensors.numpy import load_file

from lapestudio.core.run_folder import RunFolder
from tests.corpora.sample_files import SAMPLES, write_samples
from tests.tiny_model_folder import INTERMEDIATE_SIZE, NUM_LAYERS, write_corpus, write_model_folder

_TIMEOUT_S = 240


class Studio:
    """Runs `lapestudio` in a folder of its own."""

    def __init__(self, folder, repository):
        self.folder = folder
        self.environment = dict(os.environ)
        self.environment |= {"PYTHONPATH": str(repository), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}

    def start(self, *words):
        command = [sys.executable, "-m", "lapestudio", *map(str, words)]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=pipe, stderr=pipe, text=True, encoding="utf-8"
        )

    def run(self, *words, code=0):
        with self.start(*words) as process:
            out, err = process.communicate(timeout=_TIMEOUT_S)
        assert process.returncode == code, f"{words}: {process.returncode}\n{out}\n{err}"
        return out, err

    def json(self, *words):
        return json.loads(self.run(*words, "--json")[0])

    def refuse(self, *words):
        """Return the one sentence of a refusal."""
        out, err = self.run(*words, code=1)
        assert out == ""
        assert "Traceback" not in err
        errors = [line for line in err.splitlines() if line.startswith("Error: ")]
        assert len(errors) == 1, err
        assert err.splitlines()[-1] == errors[0]
        return errors[0].removeprefix("Error: ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A user's folder with a model and texts; spaces and other letters in its name."""
    folder = tmp_path_factory.mktemp("files of Ġanni 日本")
    write_model_folder(folder / "model")
    for language in ("mt", "cy", "ka", "en"):
        write_corpus(folder / "texts" / f"{language}.txt", language)
    write_corpus(folder / "texts" / "mt held out.txt", "mt", first=1000, num_sentences=20)
    return folder


@pytest.fixture(scope="module")
def studio(folder, repository):
    return Studio(folder, repository)


@pytest.fixture(scope="module")
def corpora():
    return [word for language in ("mt", "cy", "ka", "en") for word in ("--corpus", f"{language}=texts/{language}.txt")]


@pytest.fixture(scope="module")
def identified(studio, corpora):
    """A finished identification and its JSON document."""
    words = ["identify", "model", *corpora, "--out", "identified", "--block", "64", "--top-rate", "0.3"]
    return studio.json(*words, "--activity-quantile", "0.6")


TRAINING = ["--language", "mt", "--corpus", "texts/mt.txt", "--block", "64", "--batch", "2"]


@pytest.fixture(scope="module")
def trained(studio, identified):
    """A finished training and its JSON document."""
    words = ["train", "model", "--neurons", "identified", *TRAINING, "--out", "trained", "--control", "en=texts/en.txt"]
    held_out = ["--validation", "texts/mt held out.txt"]
    return studio.json(*words, *held_out, "--max-steps", "12", "--validate-every", "4", "--learning-rate", "0.01")


def wait_for(condition, patience_s=60):
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


# The line, command by command


def test_inspect_describes_a_model(studio):
    report = studio.json("inspect", "model")
    assert (report["num_layers"], report["intermediate_size"]) == (NUM_LAYERS, INTERMEDIATE_SIZE)
    assert report["supported"] is True
    assert report["model_type"] == "llama"
    assert "llama" in studio.run("inspect", "model")[0]


def test_identify_says_how_many_neurons_each_language_has(identified, folder):
    assert identified["kind"] == "identify"
    assert list(identified["neurons"]) == ["mt", "cy", "ka", "en"]
    assert sum(identified["neurons"].values()) > 0
    # One token a byte, and the line ends between segments.
    num_bytes = len((folder / "texts" / "mt.txt").read_bytes().rstrip())
    assert identified["tokens"]["mt"] == num_bytes
    assert (folder / "identified" / "counts.safetensors").exists()
    assert not (folder / "identified" / "counts.partial").exists()
    assert RunFolder(folder / "identified").read_status().state == "done"


def test_select_gives_the_same_neurons_as_the_identification(studio, identified):
    selected = studio.json("select", "identified", "--top-rate", "0.3", "--activity-quantile", "0.6")
    counts = {language: sum(map(len, layers)) for language, layers in selected["neurons"].items()}
    assert counts == identified["neurons"]
    assert (selected["num_layers"], selected["intermediate_size"]) == (NUM_LAYERS, INTERMEDIATE_SIZE)


def test_select_reads_numpy_counts_and_writes_a_neuron_set(studio, folder):
    rng = np.random.default_rng(3)
    over_zero = rng.integers(0, 100, size=(2, 40, 3))
    np.savez(folder / "counts.npz", over_zero=over_zero, tokens=np.full(3, 100), languages=np.array(["mt", "cy", "en"]))
    out = studio.json("select", "counts.npz", "--out", "set.json")
    assert json.loads((folder / "set.json").read_text(encoding="utf-8"))["neurons"] == out["neurons"]
    before = (folder / "set.json").read_bytes()
    assert "set.json" in studio.refuse("select", "counts.npz", "--out", "set.json")
    assert (folder / "set.json").read_bytes() == before


def test_neurons_shows_and_converts_sets(studio, identified, folder):
    shown = studio.json("neurons", "identified", "--out", "neurons.pth")
    assert {code: sum(map(len, layers)) for code, layers in shown["neurons"].items()} == identified["neurons"]
    assert "--languages" in studio.refuse("neurons", "neurons.pth")
    assert "--intermediate-size" in studio.refuse("neurons", "neurons.pth", "--languages", "mt,cy,ka,en")
    words = ["neurons", "neurons.pth", "--languages", "mt,cy,ka,en", "--model", "model", "--out", "again.csv"]
    assert studio.json(*words)["neurons"] == shown["neurons"]
    rows = (folder / "again.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + sum(identified["neurons"].values())


def test_training_lowers_the_loss_and_tells_it_before_and_after(trained, folder):
    assert trained["language"] == "mt"
    assert trained["steps"] == 12
    assert trained["loss_after"]["mt"] < trained["loss_before"]["mt"]
    assert set(trained["loss_before"]) == {"mt", "en"}
    assert (folder / "trained" / "checkpoints" / "best" / "rows.safetensors").exists()


def test_evaluate_agrees_with_the_validation_of_the_training(studio, trained):
    words = ["--corpus", "mt=texts/mt held out.txt", "--corpus", "en=texts/en.txt", "--block", "64"]
    base = studio.json("evaluate", "model", *words)["languages"]
    adapted = studio.json("evaluate", "trained", *words)["languages"]
    for language in ("mt", "en"):
        assert base[language]["loss_nats"] == pytest.approx(trained["loss_before"][language], rel=1e-4)
        assert adapted[language]["loss_nats"] == pytest.approx(trained["loss_after"][language], rel=1e-4)


def test_export_writes_a_verified_model(studio, trained, folder):
    export = studio.json("export", "trained", "--to", "merged", "--out", "exports/adapted ħ")
    assert export["verified"] is True
    names = {file["name"] for file in export["files"]}
    assert {"config.json", "tokenizer.json"} <= names
    assert names == {path.name for path in (folder / "exports" / "adapted ħ").iterdir()}
    assert "exists already" in studio.refuse("export", "trained", "--out", "exports/adapted ħ")


def test_run_takes_a_spec_with_paths_relative_to_itself(studio, folder):
    spec = {"kind": "evaluate", "model": "model", "corpora": [{"language": "mt", "paths": ["texts/mt.txt"]}]}
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    document = studio.json("run", "spec.json", "--out", "by spec")
    assert document["languages"]["mt"]["tokens"] > 100
    assert "not empty" in studio.refuse("run", "spec.json", "--out", "by spec")


def test_without_out_a_run_is_named_by_date_and_job(studio, folder):
    studio.run("evaluate", "model", "--corpus", "mt=texts/mt.txt", "--max-tokens", "200")
    (run,) = [path for path in (folder / "runs").iterdir() if path.name.endswith("_evaluate_mt")]
    assert RunFolder(run).read_spec().max_tokens == 200


def test_results_are_tables_for_people(studio, identified):
    out, err = studio.run("select", "identified", "--top-rate", "0.3", "--activity-quantile", "0.6")
    lines = {line.split()[0]: line.split()[1] for line in out.splitlines() if line.strip()}
    assert lines["mt"] == f"{identified['neurons']['mt']:,}"
    assert err == ""


def test_one_option_takes_several_corpora(studio):
    document = studio.json("evaluate", "model", "--corpus", "mt=texts/mt.txt", "en=texts/en.txt", "--max-tokens", "200")
    assert list(document["languages"]) == ["mt", "en"]


# Stop, kill, resume


def start_training(studio, folder, name):
    words = ["train", "model", "--neurons", "identified", *TRAINING, "--out", name]
    process = studio.start(*words, "--max-steps", "100000", "--validate-every", "5")
    run = RunFolder(folder / name)
    wait_for(lambda: run.rows_file("best").exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return process, run


def test_ctrl_c_asks_the_job_to_stop_and_says_how_to_go_on(studio, folder, identified):
    process, run = start_training(studio, folder, "interrupted")
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "lapestudio resume" in err
    assert "Traceback" not in err
    assert run.read_status().state == "stopped"
    assert run.rows_file("last").exists()


def test_a_killed_training_resumes_and_ends_as_if_nothing_had_happened(studio, folder, identified):
    words = ["train", "model", "--neurons", "identified", *TRAINING, "--max-steps", "40", "--validate-every", "5"]
    studio.run(*words, "--out", "uninterrupted")
    process = studio.start(*words, "--out", "killed")
    run = RunFolder(folder / "killed")
    wait_for(lambda: run.rows_file("last").exists())
    os.kill(run.read_status().pid, signal.SIGKILL)
    _out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "resume" in err.splitlines()[-1]
    resumed = studio.json("resume", "killed")
    assert resumed["steps"] == 40
    for checkpoint in ("last", "best"):
        rows = load_file(run.rows_file(checkpoint))
        expected = load_file(RunFolder(folder / "uninterrupted").rows_file(checkpoint))
        assert list(rows) == list(expected)
        assert all(rows[name].tobytes() == expected[name].tobytes() for name in rows)
    assert "finished" in studio.refuse("resume", "killed")


# Bad input: one sentence, exit code 1, nothing overwritten


def identify_words(*, model="model", mt="texts/mt.txt", code="mt"):
    return ["identify", model, "--corpus", f"{code}={mt}", "--corpus", "en=texts/en.txt"]


BAD_CORPORA = {
    "empty.txt": b"",
    "binary.txt": bytes(range(256)) * 40,
}


@pytest.mark.parametrize("name", list(BAD_CORPORA))
def test_a_corpus_that_is_no_text_is_named(studio, folder, name, tmp_path):
    (folder / name).write_bytes(BAD_CORPORA[name])
    sentence = studio.refuse(*identify_words(mt=name), "--out", tmp_path / "run")
    assert name in sentence


def test_a_missing_corpus_is_named_and_no_run_is_left(studio, tmp_path):
    sentence = studio.refuse(*identify_words(mt="texts/none.txt"), "--out", tmp_path / "run")
    assert "none.txt" in sentence
    assert not (tmp_path / "run").exists()


def test_an_unknown_language_is_named_with_the_nearest(studio, tmp_path):
    sentence = studio.refuse(*identify_words(code="maltees"), "--out", tmp_path / "run")
    assert "maltees" in sentence
    assert "Maltese" in sentence
    assert not (tmp_path / "run").exists()


def test_training_on_one_word_is_refused(studio, folder, identified, tmp_path):
    (folder / "word.txt").write_text("kelb", encoding="utf-8")
    words = ["train", "model", "--neurons", "identified", "--language", "mt", "--corpus", "word.txt"]
    assert "too short" in studio.refuse(*words, "--out", tmp_path / "run")


def test_a_model_folder_without_weights_is_refused(studio, folder, tmp_path):
    bare = write_model_folder(tmp_path / "bare")
    (bare / "model.safetensors").unlink()
    assert "bare" in studio.refuse(*identify_words(model=bare), "--out", tmp_path / "run")
    assert "bare" in studio.refuse("inspect", bare)


def test_an_unsupported_architecture_is_refused_by_name(studio, tmp_path):
    model = write_model_folder(tmp_path / "odd")
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    config |= {"model_type": "mamba", "architectures": ["MambaForCausalLM"]}
    (model / "config.json").write_text(json.dumps(config), encoding="utf-8")
    sentence = studio.refuse(*identify_words(model=model), "--out", tmp_path / "run")
    assert "mamba" in sentence
    assert "llama" in sentence


def test_the_neurons_of_another_model_are_refused(studio, identified, tmp_path):
    other = write_model_folder(tmp_path / "other", intermediate_size=2 * INTERMEDIATE_SIZE)
    sentence = studio.refuse("train", other, "--neurons", "identified", *TRAINING, "--out", tmp_path / "run")
    assert str(INTERMEDIATE_SIZE) in sentence
    same_size = write_model_folder(tmp_path / "same size", seed=1)
    sentence = studio.refuse("train", same_size, "--neurons", "identified", *TRAINING, "--out", tmp_path / "run 2")
    assert "model" in sentence


def test_a_language_without_neurons_is_refused(studio, identified, tmp_path):
    words = ["--neurons", "identified", "--language", "ne", "--corpus", "texts/mt.txt", "--out", tmp_path / "run"]
    sentence = studio.refuse("train", "model", *words)
    assert "ne" in sentence
    assert "mt" in sentence


def test_an_existing_run_folder_is_left_alone(studio, tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert "not empty" in studio.refuse(*identify_words(), "--out", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_job_description_with_a_misspelt_setting_is_refused(studio, folder):
    (folder / "typo.json").write_text('{"kind": "evaluate", "modle": "model"}', encoding="utf-8")
    assert "typo.json" in studio.refuse("run", "typo.json")
    assert "none.json" in studio.refuse("run", "none.json")


def test_an_export_without_space_is_refused_before_anything_is_written(folder, trained, repository, tmp_path):
    # Loaded by every Python that starts, before the program.
    full_disk = "import shutil\nshutil.disk_usage = lambda path: shutil._ntuple_diskusage(10**9, 10**9 - 7, 7)\n"
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "sitecustomize.py").write_text(full_disk, encoding="utf-8")
    studio = Studio(folder, repository)
    studio.environment["PYTHONPATH"] += os.pathsep + str(tmp_path / "python")
    sentence = studio.refuse("export", "trained", "--out", tmp_path / "exports" / "adapted")
    assert "free" in sentence
    assert list((tmp_path / "exports").iterdir()) == []


@pytest.mark.parametrize("words", [["export", "model", "--out", "x"], ["resume", "texts"], ["resume", "identified"]])
def test_what_is_no_training_is_refused(studio, identified, words):
    studio.refuse(*words)


@pytest.mark.parametrize(
    "words",
    [
        ["identify"],
        ["identify", "model"],
        ["paint"],
        ["identify", "model", "--colour", "red"],
        ["select", "x", "--top-rate", "much"],
    ],
)
def test_wrong_usage_ends_with_2(studio, words):
    out, err = studio.run(*words, code=2)
    assert out == ""
    assert "Traceback" not in err


def test_a_setting_out_of_range_is_named(studio, identified):
    assert "top_rate" in studio.refuse("select", "identified", "--top-rate", "7")


def test_verbose_shows_the_traceback(studio):
    _out, err = studio.run("select", "none.npz", "--verbose", code=1)
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("Error: ")


def test_help_explains_the_settings(studio):
    out, _err = studio.run("identify", "--help")
    assert "at least 8" in " ".join(out.split())
    assert "one of auto, float32, bfloat16, float16" in " ".join(out.split())
    assert "Undefined" not in studio.run("train", "--help")[0]
    assert "lapestudio" in studio.run("--version")[0]


# The built-in example


@pytest.mark.slow
def test_demo_does_the_main_job_on_the_example(studio, folder):
    out, _err = studio.run("demo", "--out", "demo ħ")
    assert "mt" in out
    assert "Verified" in out
    losses = [line.split() for line in out[out.index("Loss on held-out text") :].splitlines() if line.startswith("mt ")]
    assert float(losses[0][-1]) < -0.1
    assert (folder / "demo ħ" / "adapted-model" / "model.safetensors").exists()
    assert "not empty" in studio.refuse("demo", "--out", "demo ħ")


# Text: read, checked, described, written clean


@pytest.fixture(scope="module")
def notes(folder):
    write_samples(folder / "notes", "sgwrs.eaf", "dewis.csv", "llyfr.txt", "dogfen.docx", "cof.tmx")
    (folder / "notes" / "again.txt").write_text("Un.\nDau.\n", encoding="utf-8")
    return folder / "notes"


def test_a_corpus_is_described(studio, notes):
    facts = studio.json("corpus", notes, "--language", "cy", "--model", "model")
    assert facts["num_files"] == 6
    assert {note["format_name"] for note in facts["files"]} == {"ELAN", "table", "plain text", "Word", "TMX"}
    assert facts["num_segments"] == facts["num_read"] - 1
    assert [(step["name"], step["num_removed"]) for step in facts["cleaning"]] == [("duplicate", 1)]
    assert facts["cleaning"][0]["examples"][0]["before"] == "Un."
    # A token a byte.
    assert facts["tokens"] > facts["num_characters"]
    assert facts["tokens_per_word"] == pytest.approx(facts["tokens"] / facts["num_words"])
    assert facts["scripts"] == {"Latn": 1.0}
    text, _err = studio.run("corpus", notes, "--language", "Welsh")
    assert "Welsh (cy)" in text
    assert "1 x duplicate" in text


def test_clean_segments_are_written_and_read_back(studio, notes, tmp_path):
    out = tmp_path / "clean.jsonl"
    facts = studio.json("corpus", notes, "--language", "cy", "--clean", "check_script,-remove_duplicates", "--out", out)
    records = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(records) == facts["num_segments"] == facts["num_read"]
    assert records[-1]["text"] == SAMPLES["sgwrs.eaf"].segments[-1]
    assert records[-1]["speaker"] == "Huw"
    again = studio.json("corpus", out, "--language", "cy", "--clean=-remove_duplicates")
    assert again["num_segments"] == len(records)
    assert "exists already" in studio.refuse("corpus", notes, "--language", "cy", "--out", out)


def test_parts_are_listed_and_chosen(studio, notes):
    parts = studio.json("corpus", notes / "sgwrs.eaf", "--language", "cy", "--list-parts")
    assert {part["name"]: part["default"] for part in parts} == {"ft@Siân": False, "tx@Siân": True, "tx@Huw": True}
    facts = studio.json("corpus", notes / "sgwrs.eaf", "--language", "cy", "--parts", "ft@*")
    assert [segment[0] for segment in facts["preview"]] == ["The dog is sleeping."]
    facts = studio.json("corpus", notes / "llyfr.txt", "--language", "cy", "--encoding", "cp1252")
    assert [segment[0] for segment in facts["preview"]][1] != SAMPLES["llyfr.txt"].segments[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere.txt", "--language", "cy"], "nowhere.txt"),
        (["notes", "--language", "Welhs"], "did you mean Welsh (cy)"),
        (["notes/dewis.csv", "--language", "cy", "--parts", "nope"], "has no column nope"),
        (["notes/llyfr.txt", "--language", "cy", "--encoding", "cp99"], 'there is no encoding "cp99"'),
        (["notes", "--language", "cy", "--clean", "everything"], 'no cleaning step "everything"'),
        (["model", "--language", "cy"], "holds no files that can be read"),
    ],
)
def test_text_that_cannot_be_described_is_one_sentence(studio, notes, words, sentence):
    assert sentence in studio.refuse("corpus", *words)


def test_identification_reads_what_a_linguist_has(studio, notes, corpora, tmp_path):
    result = studio.json("identify", "model", *corpora[:2], "--corpus", f"cy={notes}", "--out", tmp_path / "run")
    expected = studio.json("corpus", notes, "--language", "cy", "--model", "model")["tokens"]
    assert result["tokens"]["cy"] == expected
