"""The line in one process, on a tiny model: what a job leaves behind, refuses, and keeps when it is stopped."""

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from lapestudio.core.activation_counts import load_counts
from lapestudio.core.errors import UserError
from lapestudio.core.event_log import EventWriter
from lapestudio.core.events import NoticeEvent, ProgressEvent, ResultEvent, StageEvent, StoppedEvent
from lapestudio.core.neuron_set import load_neuron_set
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import (
    CorpusSource,
    EvaluateSpec,
    IdentifySettings,
    IdentifySpec,
    SelectionSettings,
    TrainSettings,
    TrainSpec,
)
from lapestudio.engine.recipes import run_job, started_event
from tests.tiny_model_folder import write_corpus, write_model_folder

LANGUAGES = ("mt", "cy", "en")
BLOCK_SIZE = 32


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipes")
    write_model_folder(folder / "model")
    for language in LANGUAGES:
        write_corpus(folder / f"{language}.txt", language, num_sentences=30)
    return folder


class Job:
    """Runs specs in numbered run folders and keeps what they say."""

    def __init__(self, folder):
        self.folder = folder
        self.events = []

    def run(self, spec, *, stop_when=lambda _: False, run=None):
        run = run or RunFolder.create(self.folder / f"run {len(list(self.folder.iterdir()))}", spec)
        stopped = []
        with EventWriter(run.events_file) as writer:

            def emit(event):
                self.events.append(event)
                writer.write(event)
                if stop_when(event):
                    stopped.append(event)

            return run, run_job(run, spec, emit, lambda: bool(stopped))

    def notices(self):
        return [event.text for event in self.events if isinstance(event, NoticeEvent)]


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


def corpora(folder, *languages):
    return tuple(CorpusSource(language=language, paths=(folder / f"{language}.txt",)) for language in languages)


@pytest.fixture(scope="module")
def identify_spec(folder):
    return IdentifySpec(
        model=str(folder / "model"),
        corpora=corpora(folder, *LANGUAGES),
        settings=IdentifySettings(block_size=BLOCK_SIZE, batch_size=2),
        selection=SelectionSettings(top_rate=0.3, activity_quantile=0.6),
    )


@pytest.fixture(scope="module")
def identified(identify_spec, tmp_path_factory):
    run, end = Job(tmp_path_factory.mktemp("identified")).run(identify_spec)
    assert isinstance(end, ResultEvent)
    return run


@pytest.fixture
def train_spec(folder, identified):
    return TrainSpec(
        model=str(folder / "model"),
        neurons=identified.path,
        language="mt",
        paths=(folder / "mt.txt",),
        controls=corpora(folder, "en"),
        settings=TrainSettings(
            block_size=BLOCK_SIZE, max_steps=6, validate_every=3, learning_rate=0.01, validation_share=0.3
        ),
    )


def changed(spec, **settings):
    return spec.model_copy(update={"settings": spec.settings.model_copy(update=settings)})


def test_counts_are_those_of_plain_forward_passes_over_the_text(identified, folder):
    """Computed again with the library alone: text lines joined, cut into blocks after BOS, hooks on the gates."""
    counts = load_counts(identified.counts_file)
    model = AutoModelForCausalLM.from_pretrained(folder / "model")
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    ids = tokenizer((folder / "cy.txt").read_text(encoding="utf-8").strip(), add_special_tokens=False).input_ids
    expected = torch.zeros(counts.num_layers, counts.intermediate_size, dtype=torch.int64)

    def hook(layer):
        def add(_module, _inputs, output):
            expected[layer] += (torch.nn.functional.silu(output[0, 1:]) > 0).sum(dim=0)

        return add

    for number, layer in enumerate(model.model.layers):
        layer.mlp.gate_proj.register_forward_hook(hook(number))
    with torch.no_grad():
        for start in range(0, len(ids), BLOCK_SIZE - 1):
            model(torch.tensor([[tokenizer.bos_token_id, *ids[start : start + BLOCK_SIZE - 1]]]))
    place = counts.languages.index("cy")
    assert counts.num_tokens[place] == len(ids)
    assert np.array_equal(counts.over_zero[:, :, place], expected.numpy())


def test_an_identification_leaves_counts_and_neurons_and_no_partial_file(identified):
    assert not identified.partial_counts_file.exists()
    neurons = load_neuron_set(identified.neurons_file)
    counts = load_counts(identified.counts_file)
    assert neurons.counts_fingerprint == counts.fingerprint
    assert neurons.model_fingerprint == counts.model_fingerprint
    assert neurons.model_name == "model"


def test_a_stopped_identification_keeps_what_was_counted_of_every_language(job, identify_spec):
    def after_a_third(event):
        return isinstance(event, ProgressEvent) and event.stage == "count" and 3 * event.done > event.total

    run, end = job.run(identify_spec, stop_when=after_a_third)
    assert isinstance(end, StoppedEvent)
    assert not end.resumable
    counts = load_counts(run.counts_file)
    assert counts.num_tokens.all()
    assert f"{counts.num_tokens.sum():,} tokens" in end.text
    assert load_neuron_set(run.neurons_file).languages == LANGUAGES


def test_an_identification_that_is_stopped_early_selects_nothing(job, identify_spec):
    run, end = job.run(identify_spec, stop_when=lambda event: isinstance(event, StageEvent) and event.name == "load")
    assert isinstance(end, StoppedEvent)
    assert not run.neurons_file.exists()


def test_only_rows_of_the_language_are_trained_and_the_figures_are_those_of_the_best_step(job, train_spec):
    run, end = job.run(train_spec)
    assert isinstance(end, ResultEvent)
    summary = end.summary
    assert list(summary["loss_before"]) == ["mt", "en"]
    assert summary["loss_after"]["mt"] < summary["loss_before"]["mt"]
    metrics = {event.step: event.values for event in job.events if "validation_loss" in getattr(event, "values", {})}
    assert sorted(metrics) == [0, 3, 6]
    best = min(metrics, key=lambda step: metrics[step]["validation_loss"])
    assert summary["best_step"] == best
    assert summary["loss_after"]["en"] == metrics[best]["control_loss/en"]
    rows = load_file(run.rows_file("best"))
    neurons = load_neuron_set(run.neurons_file).of("mt")
    trained = {name: tensor for name, tensor in rows.items() if name.endswith("/neurons")}
    assert trained
    for name, tensor in trained.items():
        assert tensor.tolist() == neurons[int(name.split(".layers.")[1].split(".")[0])].tolist()


def test_a_stopped_training_goes_on_to_the_rows_of_one_that_was_not(job, train_spec):
    uninterrupted, _end = job.run(train_spec)
    run, end = job.run(
        train_spec,
        stop_when=lambda event: isinstance(event, ProgressEvent) and event.stage == "train" and event.done == 4,
    )
    assert isinstance(end, StoppedEvent)
    assert end.resumable
    assert started_event(run, train_spec, {}).resumed_step == 4
    assert isinstance(job.run(train_spec, run=run)[1], ResultEvent)
    rows, expected = load_file(run.rows_file("last")), load_file(uninterrupted.rows_file("last"))
    assert all(torch.equal(rows[name], expected[name]) for name in expected)


def test_text_that_is_validated_on_is_not_trained_on(job, train_spec, tmp_path):
    validation = tmp_path / "validation.txt"
    lines = train_spec.paths[0].read_text(encoding="utf-8").splitlines()
    validation.write_text("\n".join(line.upper() for line in lines[:10]), encoding="utf-8")
    spec = train_spec.model_copy(update={"validation_paths": (validation,)})
    job.run(spec)
    assert any(text.startswith("10 segments occur in the validation text") for text in job.notices())
    with pytest.raises(UserError, match="All of the training text"):
        job.run(spec.model_copy(update={"validation_paths": spec.paths}))


def test_a_broken_line_is_passed_over_and_told_once(job, identify_spec, tmp_path):
    broken = tmp_path / "mt.jsonl"
    good = [json.dumps({"text": f"sentenza numru {number}"}) for number in range(50)]
    broken.write_text("\n".join([*good[:25], "{", *good[25:]]), encoding="utf-8")
    (tmp_path / "folder").mkdir()
    broken.rename(tmp_path / "folder" / broken.name)
    (tmp_path / "folder" / "picture.png").write_bytes(b"\x89PNG")
    source = CorpusSource(language="mt", paths=(tmp_path / "folder",))
    job.run(identify_spec.model_copy(update={"corpora": (source, *identify_spec.corpora[1:])}))
    assert sum("mt.jsonl, line 26" in text for text in job.notices()) == 1
    assert any("1 files in" in text for text in job.notices())


def test_a_language_without_neurons_cannot_be_trained(job, train_spec, identified, tmp_path):
    document = load_neuron_set(identified.neurons_file).document()
    document["neurons"]["mt"] = [[] for _ in document["neurons"]["mt"]]
    file = tmp_path / "set.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(UserError, match=r"no neurons for mt.*top rate"):
        job.run(train_spec.model_copy(update={"neurons": file}))


def test_neurons_of_a_model_of_the_same_size_need_insistence(job, train_spec, tmp_path):
    other = str(write_model_folder(tmp_path / "other model", seed=1))
    spec = train_spec.model_copy(update={"model": other})
    with pytest.raises(UserError, match="another model of the same size"):
        job.run(spec)
    job.run(spec.model_copy(update={"insist": True}))
    assert any("as you insist" in text for text in job.notices())


def test_evaluation_of_trained_rows_is_the_loss_of_the_patched_model(job, train_spec, folder):
    training, _end = job.run(train_spec)
    spec = EvaluateSpec(
        model=train_spec.model,
        trained=training.path,
        corpora=corpora(folder, "cy"),
        block_size=BLOCK_SIZE,
        batch_size=3,
    )
    run, end = job.run(spec)
    found = end.summary["languages"]["cy"]
    # Again with the library alone: rows put in by hand, block by block.
    model = AutoModelForCausalLM.from_pretrained(folder / "model")
    rows = load_file(training.rows_file("best"))
    parameters = dict(model.named_parameters())
    for name in (name for name in rows if name.endswith("/values")):
        parameter, role, _ = name.split("/")
        index = rows[f"{parameter}/{role}/neurons"]
        with torch.no_grad():
            if role == "down":
                parameters[parameter][:, index] = rows[name].T
            else:
                parameters[parameter][index] = rows[name]
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    ids = tokenizer((folder / "cy.txt").read_text(encoding="utf-8").strip(), add_special_tokens=False).input_ids
    total = 0.0
    with torch.no_grad():
        for start in range(0, len(ids), BLOCK_SIZE - 1):
            block = torch.tensor([[0, *ids[start : start + BLOCK_SIZE - 1]]])
            logits = model(block).logits[0, :-1].double()
            total += torch.nn.functional.cross_entropy(logits, block[0, 1:], reduction="sum").item()
    assert found["tokens"] == len(ids)
    assert found["loss_nats"] == pytest.approx(total / len(ids), abs=1e-6)
    assert found["perplexity"] == pytest.approx(np.exp(total / len(ids)), rel=1e-5)
    assert json.loads(run.results_file.read_text(encoding="utf-8"))["languages"]["cy"] == found


def test_rows_are_refused_for_another_model(job, train_spec, folder, tmp_path):
    training, _end = job.run(train_spec)
    other = str(write_model_folder(tmp_path / "other model", seed=1))
    spec = EvaluateSpec(model=other, trained=training.path, corpora=corpora(folder, "cy"))
    with pytest.raises(UserError, match="trained in model"):
        job.run(spec)


def test_a_text_without_a_predictable_token_is_named(job, folder, tmp_path):
    (tmp_path / "x.txt").write_text("x", encoding="utf-8")
    source = CorpusSource(language="mt", paths=(tmp_path / "x.txt",))
    settings = {"model": str(folder / "model"), "block_size": BLOCK_SIZE}
    # With BOS before it, one token can be predicted; without text there is nothing to predict.
    assert isinstance(job.run(EvaluateSpec(corpora=(source,), **settings))[1], ResultEvent)
    (tmp_path / "x.txt").write_text(" \n", encoding="utf-8")
    with pytest.raises(UserError, match=r"x\.txt"):
        job.run(EvaluateSpec(corpora=(source,), **settings))


def test_a_device_that_is_not_here_is_refused(job, train_spec):
    with pytest.raises(UserError, match="cuda:77"):
        started_event(RunFolder(job.folder), changed(train_spec, device="cuda:77"), {})


def test_blocks_longer_than_the_model_reads_are_refused_before_any_work(job, folder, train_spec, tmp_path):
    model = tmp_path / "short model"
    shutil.copytree(folder / "model", model)
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    (model / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 16}), encoding="utf-8")
    text = corpora(folder, "mt", "cy")
    for spec in (
        IdentifySpec(model=str(model), corpora=text, settings=IdentifySettings(block_size=17)),
        EvaluateSpec(model=str(model), corpora=text, block_size=17),
        train_spec.model_copy(update={"model": str(model), "insist": True}),
    ):
        with pytest.raises(UserError, match="short model reads at most 16 tokens at a time"):
            job.run(spec)
    assert not list(job.folder.rglob("*.arrow"))
