"""Real models on real text, by command: identify twelve languages, train one, export, and look at every weight."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from lapestudio.core.activation_counts import load_counts
from lapestudio.core.neuron_set import NeuronSet, load_neuron_set
from lapestudio.engine.ffn_layout import activation_of, layout_for
from lapestudio.engine.loading import load_model
from lapestudio.engine.tokens import TokenBlocks

# Opening a GGUF file takes half a minute on two cores, and every command opens it anew.
pytestmark = [pytest.mark.realmodel, pytest.mark.slow, pytest.mark.timeout(1800)]

LANGUAGES = {
    "mt": "mlt", "cy": "cym", "is": "isl", "ka": "kat", "ne": "nep", "sl": "slv",
    "et": "est", "en": "eng", "it": "ita", "ar": "arb", "af": "afr", "lt": "lit",
}  # fmt: skip
TARGET = "mt"
MAX_TOKENS = 1024
STEPS = 50


def studio(*words: object, folder: Path) -> Any:
    """Run a command and return its document."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    process = subprocess.run(
        [sys.executable, "-m", "lapestudio", *map(str, words), "--json"],
        cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


@pytest.fixture(scope="module", params=["smollm2", "gemma"])
def model_file(request: pytest.FixtureRequest) -> Path:
    return Path(request.getfixturevalue(f"{request.param}_gguf"))


@pytest.fixture(scope="module")
def work(model_file: Path, shared_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an identification, a training of fifty steps and an export."""
    folder = tmp_path_factory.mktemp("real")
    texts = {code: shared_dir / "data" / "udhr" / f"{name}.txt" for code, name in LANGUAGES.items()}
    corpora = [word for code, path in texts.items() for word in ("--corpus", f"{code}={path}")]
    studio("identify", model_file, *corpora, "--out", "identify", "--max-tokens", MAX_TOKENS, folder=folder)
    settings = ["--max-steps", STEPS, "--block", 32, "--batch", 2, "--validate-every", STEPS, "--learning-rate", 1e-3]
    studio(
        "train", model_file, "--neurons", "identify", "--language", TARGET, "--corpus", texts[TARGET],
        "--control", f"en={texts['en']}", "--max-validation-tokens", 256, *settings, "--out", "train",
        folder=folder,
    )  # fmt: skip
    summary = studio("export", "train", "--to", "merged", "--out", "adapted", folder=folder)
    assert summary["verified"] is True
    return folder


@pytest.fixture(scope="module")
def base(model_file: Path) -> Any:
    return load_model(str(model_file), dtype="float32", device="cpu")


def neuron_set(work: Path) -> NeuronSet:
    return load_neuron_set(work / "identify" / "neurons.safetensors")


def test_counts_equal_a_full_forward_pass(work: Path, base: Any) -> None:
    counts = load_counts(work / "identify" / "counts.safetensors")
    blocks = TokenBlocks(work / "identify" / "blocks" / f"{TARGET}.arrow")
    layout = layout_for(base)
    totals = torch.zeros(layout.num_layers, layout.intermediate_size, dtype=torch.int64)
    seen: list[torch.Tensor] = []
    hooks = [
        activation_of(base, layer).register_forward_hook(lambda _m, _i, output: seen.append(output[0]))
        for layer in layout.layers
    ]
    for index in range(len(blocks)):
        seen.clear()
        with torch.inference_mode():
            base(blocks[index][None])
        first = 1 if blocks.has_bos else 0
        totals += torch.stack([(output[first:] > 0).sum(dim=0) for output in seen])
    for hook in hooks:
        hook.remove()
    found = counts.over_zero[:, :, counts.languages.index(TARGET)]
    assert counts.num_tokens[counts.languages.index(TARGET)] == MAX_TOKENS
    # Two batch sizes round differently: a value next to zero may fall on either side.
    assert np.abs(found - totals.numpy()).max() <= 2
    assert (found != totals.numpy()).mean() < 0.01


def test_every_language_has_neurons_and_the_rule_holds(work: Path) -> None:
    neurons = neuron_set(work)
    assert neurons.languages == tuple(LANGUAGES)
    distinct = len(np.unique(neurons.flat()[0]))
    assert distinct == round(0.05 * neurons.num_layers * neurons.intermediate_size)
    assert (neurons.counts().sum(axis=1) > 0).all()


def test_training_lowers_the_targets_loss(work: Path) -> None:
    summary = json.loads((work / "train" / "events.jsonl").read_text(encoding="utf-8").splitlines()[-1])["summary"]
    assert summary["loss_after"][TARGET] < summary["loss_before"][TARGET]


def test_only_the_selected_rows_and_columns_differ(work: Path, base: Any) -> None:
    written = load_file(work / "adapted" / "model.safetensors")
    state = base.state_dict()
    layout = layout_for(base)
    chosen = neuron_set(work).of(TARGET)
    trained = {part.parameter: (part, chosen[layer.index]) for layer in layout.layers for part in layer.slices}
    for name, tensor in written.items():
        before = state[name]
        assert tensor.dtype == before.dtype
        if name not in trained or not len(trained[name][1]):
            assert tensor.numpy().tobytes() == before.numpy().tobytes(), name
            continue
        part, neurons = trained[name][0], trained[name][1].copy()
        others = np.setdiff1d(np.arange(layout.intermediate_size), neurons)
        axis = part.axis
        assert torch.equal(tensor.index_select(axis, torch.from_numpy(others)),
                           before.index_select(axis, torch.from_numpy(others))), name  # fmt: skip
        rows = [values.index_select(axis, torch.from_numpy(neurons)) for values in (tensor, before)]
        assert not torch.equal(*rows), name


def test_export_gives_the_trained_models_logits(work: Path, base: Any) -> None:
    exported, found = AutoModelForCausalLM.from_pretrained(
        work / "adapted", dtype=torch.float32, output_loading_info=True
    )
    assert not found["missing_keys"]
    assert not found["unexpected_keys"]
    rows = load_file(work / "train" / "checkpoints" / "best" / "rows.safetensors")
    chosen = neuron_set(work).of(TARGET)
    state = {name: parameter.detach().clone() for name, parameter in base.named_parameters()}
    for layer in layout_for(base).layers:
        for part in layer.slices:
            values = rows.get(f"{part.parameter}/{part.role}/values")
            for number, neuron in enumerate(chosen[layer.index].tolist()):
                assert values is not None
                state[part.parameter].select(part.axis, part.start + neuron).copy_(values[number])
    ids = torch.randint(100, 40_000, (1, 48), generator=torch.Generator().manual_seed(4))
    with torch.inference_mode():
        expected = torch.func.functional_call(base, state, (ids,)).logits
        logits = exported(ids).logits
        original = base(ids).logits
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-3)
    assert (logits - original).abs().max() > 0.01
