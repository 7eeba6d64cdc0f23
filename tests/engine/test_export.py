"""Exports of every family against an independent dense computation, and every way in which they can go wrong."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from lapestudio.core.errors import UserError
from lapestudio.core.specs import ExportDtypeName
from lapestudio.engine import export as export_module
from lapestudio.engine.export import check_target, export_merged
from lapestudio.engine.ffn_layout import layout_for
from lapestudio.engine.loading import load_model
from lapestudio.engine.split_ffn import split_model
from lapestudio.engine.trained_rows import TrainedRows
from lapestudio.engine.verify_export import Verification, sample_ids, trained_logits, verify_export
from tests.engine.tiny_models import FAMILIES, VOCAB_SIZE, tiny_model
from tests.tiny_model_folder import write_model_folder

NEURONS = [np.array([0, 7, 33]), np.array([], dtype=np.int64), np.array([5])]


def trained(base: Path, neurons: list[np.ndarray] = NEURONS) -> TrainedRows:
    """Rows as a training leaves them: split, changed by steps of different sizes, read out."""
    model = load_model(str(base), dtype="float32", device="cpu")
    subnetwork = split_model(model, layout_for(model), neurons)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in subnetwork.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
    return subnetwork.trained_rows()


def dense_state(base: Path, rows: TrainedRows) -> dict[str, torch.Tensor]:
    """The expected weights, set element by element in the model that transformers loads."""
    model = AutoModelForCausalLM.from_pretrained(base)
    state = model.state_dict()
    for group in rows.groups:
        tensor = state[group.place.parameter]
        for number, neuron in enumerate(group.neurons.tolist()):
            index = group.place.start + neuron
            target = tensor[index] if group.place.axis == 0 else tensor[:, index]
            if tensor.ndim == 1:
                tensor[index] = group.values[number].to(tensor.dtype)
            else:
                target.copy_(group.values[number].to(tensor.dtype))
    return state


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_only_the_trained_rows_differ(family: str, dtype: torch.dtype, tmp_path: Path) -> None:
    base, out = tmp_path / "base", tmp_path / "adapted"
    tiny_model(family, dtype=dtype).save_pretrained(base)
    rows = trained(base)
    assert export_merged(str(base), rows, out, dtype="keep", card="card") is not None
    model, found = AutoModelForCausalLM.from_pretrained(out, output_loading_info=True)
    assert not found["missing_keys"]
    assert not found["unexpected_keys"]
    expected = dense_state(base, rows)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, expected[name]), name
    before, after = load_file(base / "model.safetensors"), load_file(out / "model.safetensors")
    assert list(before) == list(after)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert len(changed) == len({group.place.parameter for group in rows.groups})
    assert (out / "README.md").read_text(encoding="utf-8") == "card"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", ["keep", "bfloat16", "float16"])
def test_the_trained_models_logits_are_those_of_a_good_export(
    family: str, dtype: ExportDtypeName, tmp_path: Path
) -> None:
    """Rounding more than the weights while making the reference would condemn every converted export."""
    base, out = tmp_path / "base", tmp_path / "adapted"
    tiny_model(family, dtype=torch.bfloat16 if dtype == "keep" else torch.float32).save_pretrained(base)
    rows, ids = trained(base), sample_ids(VOCAB_SIZE)
    export_merged(str(base), rows, out, dtype=dtype, card="")
    with torch.inference_mode():
        found = AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32)(ids).logits
        untrained = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)(ids).logits
    expected = trained_logits(str(base), rows, ids, dtype)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=2e-5)
    assert (untrained - expected).abs().max() > 0.05


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write_model_folder(tmp_path / "base მოდელი")


def check(base: Path, rows: TrainedRows, out: Path, dtype: ExportDtypeName = "keep") -> Verification:
    rows_file = out.parent / "rows.safetensors"
    rows.save(rows_file)
    ids = sample_ids(VOCAB_SIZE)
    logits = trained_logits(str(base), rows, ids, dtype)
    verdict = verify_export(out, str(base), rows_file, ids=ids, logits=logits, dtype=dtype)
    assert verdict is not None
    return verdict


@pytest.mark.parametrize("dtype", ["keep", "bfloat16", "float16"])
def test_fresh_process_verifies(
    base: Path, tmp_path: Path, dtype: ExportDtypeName, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, out = trained(base), tmp_path / "adapted"
    # Must not be imported: the current folder may be a stranger's.
    (tmp_path / "safetensors.py").write_text("raise SystemExit('imported from the current folder')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    export_merged(str(base), rows, out, dtype=dtype, card="")
    verdict = check(base, rows, out, dtype)
    assert verdict.verified, verdict.problem
    assert verdict.num_changed_tensors == 6
    assert verdict.max_logit_difference < 1e-4
    if dtype != "keep":
        assert json.loads((out / "config.json").read_text(encoding="utf-8"))["dtype"] == dtype
        assert {tensor.dtype for tensor in load_file(out / "model.safetensors").values()} == {getattr(torch, dtype)}
    assert (out / "tokenizer.json").read_bytes() == (base / "tokenizer.json").read_bytes()


def test_stopping_ends_the_verification(base: Path, tmp_path: Path) -> None:
    rows, out, ids = trained(base), tmp_path / "adapted", sample_ids(VOCAB_SIZE)
    export_merged(str(base), rows, out, dtype="keep", card="")
    rows.save(tmp_path / "rows.safetensors")
    asked: list[psutil.Process] = []

    def should_stop() -> bool:
        asked.extend(psutil.Process().children())
        return True

    logits = trained_logits(str(base), rows, ids, "keep")
    rows_file = tmp_path / "rows.safetensors"
    stopped = verify_export(out, str(base), rows_file, ids=ids, logits=logits, dtype="keep", should_stop=should_stop)
    assert stopped is None
    assert len(asked) == 1
    assert not asked[0].is_running()


def flip_a_frozen_bit(weights: dict[str, torch.Tensor]) -> None:
    weights["model.layers.0.mlp.up_proj.weight"].view(torch.int32)[1, 0] ^= 1


def lose_the_training(weights: dict[str, torch.Tensor]) -> None:
    weights["model.layers.0.mlp.up_proj.weight"][7] = 0


def drop_a_tensor(weights: dict[str, torch.Tensor]) -> None:
    del weights["model.norm.weight"]


def add_a_tensor(weights: dict[str, torch.Tensor]) -> None:
    weights["extra.weight"] = torch.zeros(2)


def change_the_format(weights: dict[str, torch.Tensor]) -> None:
    weights["model.norm.weight"] = weights["model.norm.weight"].bfloat16()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (flip_a_frozen_bit, r"up_proj\.weight differs from the base"),
        (lose_the_training, r"up_proj\.weight does not hold the trained rows"),
        (drop_a_tensor, r"model\.norm\.weight is missing"),
        (add_a_tensor, r"extra\.weight is not in the base"),
        (change_the_format, r"model\.norm\.weight has another shape or number format"),
    ],
)
def test_fresh_process_finds_the_difference(
    base: Path, tmp_path: Path, damage: Callable[[dict[str, torch.Tensor]], None], problem: str
) -> None:
    rows, out = trained(base), tmp_path / "adapted"
    export_merged(str(base), rows, out, dtype="keep", card="")
    weights = {name: tensor.clone() for name, tensor in load_file(out / "model.safetensors").items()}
    damage(weights)
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    verdict = check(base, rows, out)
    assert not verdict.verified
    with pytest.raises(AssertionError, match=problem):
        raise AssertionError(verdict.problem)


def test_logits_are_compared_too(base: Path, tmp_path: Path) -> None:
    rows, out = trained(base), tmp_path / "adapted"
    export_merged(str(base), rows, out, dtype="keep", card="")
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    config["rms_norm_eps"] = 0.5
    (out / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert "logits differ" in check(base, rows, out).problem


def test_shards_keep_their_layout(tmp_path: Path) -> None:
    base, out = tmp_path / "base", tmp_path / "adapted"
    tiny_model("llama").save_pretrained(base, max_shard_size="30KB")
    shards = sorted(path.name for path in base.glob("*.safetensors"))
    assert len(shards) > 2
    rows = trained(base)
    export_merged(str(base), rows, out, dtype="keep", card="")
    assert sorted(path.name for path in out.glob("*.safetensors")) == shards
    names = "model.safetensors.index.json"
    before, after = (json.loads((folder / names).read_text(encoding="utf-8")) for folder in (base, out))
    assert before["weight_map"] == after["weight_map"]
    assert check(base, rows, out).verified


def test_tied_weights_stay_tied(tmp_path: Path) -> None:
    base, out = tmp_path / "base", tmp_path / "adapted"
    tiny_model("llama", tie_word_embeddings=True).save_pretrained(base)
    export_merged(str(base), trained(base), out, dtype="keep", card="")
    with safe_open(out / "model.safetensors", framework="pt") as file:
        assert "lm_head.weight" not in file.keys()  # noqa: SIM118 - not a mapping
    model = AutoModelForCausalLM.from_pretrained(out)
    assert model.lm_head.weight.data_ptr() == model.model.embed_tokens.weight.data_ptr()


def test_files_of_a_bare_body_are_patched(tmp_path: Path) -> None:
    """GPT-2's public files lack the prefix of the model with a head."""
    base, out = tmp_path / "base", tmp_path / "adapted"
    model = tiny_model("gpt2")
    model.save_pretrained(base)
    bare = {name.removeprefix("transformer."): tensor for name, tensor in load_file(base / "model.safetensors").items()}
    save_file(bare, base / "model.safetensors", metadata={"format": "pt"})
    rows = trained(base)
    export_merged(str(base), rows, out, dtype="keep", card="")
    assert list(load_file(out / "model.safetensors")) == list(load_file(base / "model.safetensors"))
    assert check(base, rows, out).verified


def test_unused_tensors_are_copied_and_dangerous_files_are_not(base: Path, tmp_path: Path) -> None:
    weights = load_file(base / "model.safetensors")
    weights["steps"] = torch.tensor([3])
    save_file(weights, base / "model.safetensors", metadata={"format": "pt"})
    for name in ("pytorch_model.bin", "modeling.py", "model.gguf", "training_args.bin"):
        (base / name).write_bytes(b"x")
    (base / "LICENSE.txt").write_text("terms", encoding="utf-8")
    (base / "chat_template.jinja").write_text("{{ x }}", encoding="utf-8")
    out = tmp_path / "adapted"
    export_merged(str(base), trained(base), out, dtype="bfloat16", card="")
    assert load_file(out / "model.safetensors")["steps"].tolist() == [3]
    names = {path.name for path in out.iterdir()}
    assert {"LICENSE.txt", "chat_template.jinja"} <= names
    assert not names & {"pytorch_model.bin", "modeling.py", "model.gguf", "training_args.bin"}


def test_existing_content_is_never_overwritten(base: Path, tmp_path: Path) -> None:
    out = tmp_path / "adapted"
    out.mkdir()
    (out / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(UserError, match="exists already and is not empty"):
        export_merged(str(base), trained(base), out, dtype="keep", card="")
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]


def test_an_empty_folder_may_be_filled(base: Path, tmp_path: Path) -> None:
    out = tmp_path / "adapted"
    out.mkdir()
    assert export_merged(str(base), trained(base), out, dtype="keep", card="") is not None


def test_the_base_models_own_folder_is_refused(base: Path) -> None:
    with pytest.raises(UserError, match="folder of the base model"):
        check_target(base / "adapted", str(base))


def test_lack_of_space_is_told_before_the_first_byte(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = trained(base)
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(export_module.shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(UserError, match="GB are free"):
        export_merged(str(base), rows, tmp_path / "adapted", dtype="keep", card="")
    assert not (tmp_path / "adapted").exists()
    assert not list(tmp_path.glob(".adapted*"))


def test_a_disk_that_fills_up_leaves_nothing(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = trained(base)

    def fail(*_arguments: object, **_options: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export_module, "merge_files", fail)
    with pytest.raises(UserError, match="No space left on device"):
        export_merged(str(base), rows, tmp_path / "adapted", dtype="keep", card="")
    assert not (tmp_path / "adapted").exists()
    assert not list(tmp_path.glob(".adapted*"))


def test_stopping_leaves_nothing(base: Path, tmp_path: Path) -> None:
    asked = iter([False, False, True])
    out = tmp_path / "adapted"
    stopped = export_merged(str(base), trained(base), out, dtype="keep", card="", should_stop=lambda: next(asked, True))
    assert stopped is None
    assert sorted(path.name for path in tmp_path.iterdir()) == [base.name]


_EXPORT_THAT_DIES = """
import os, sys
from pathlib import Path
from lapestudio.engine.export import export_merged
from lapestudio.engine.trained_rows import TrainedRows

def die(done, total):
    if done > total / 2:
        os._exit(9)

rows = TrainedRows.load(Path(sys.argv[2]))
export_merged(sys.argv[1], rows, Path(sys.argv[3]), dtype="keep", card="", on_progress=die)
"""


def test_a_killed_export_looks_unfinished_and_does_not_stand_in_the_way(base: Path, tmp_path: Path) -> None:
    rows, rows_file, out = trained(base), tmp_path / "rows.safetensors", tmp_path / "adapted"
    rows.save(rows_file)
    command = [sys.executable, "-c", _EXPORT_THAT_DIES, str(base), str(rows_file), str(out)]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 9
    left = tmp_path / ".adapted.lapestudio-partial"
    assert (left / "model.safetensors").is_file()
    assert not out.exists()
    (tmp_path / ".other.lapestudio-partial").mkdir()
    export_merged(str(base), rows, out, dtype="keep", card="")
    assert not left.exists()
    assert (tmp_path / ".other.lapestudio-partial").is_dir()
    assert check(base, rows, out).verified


def changed(rows: TrainedRows, value: float) -> TrainedRows:
    """The rows with one value set."""
    values = rows.groups[0].values.clone()
    values[0, 0] = value
    return replace(rows, groups=(replace(rows.groups[0], values=values), *rows.groups[1:]))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_diverged_training_is_not_exported(base: Path, tmp_path: Path, value: float) -> None:
    with pytest.raises(UserError, match=r"gate_proj\.weight are not finite numbers"):
        export_merged(str(base), changed(trained(base), value), tmp_path / "adapted", dtype="keep", card="")
    assert not (tmp_path / "adapted").exists()


def test_weights_that_the_number_format_cannot_hold_are_told(base: Path, tmp_path: Path) -> None:
    rows = changed(trained(base), 1e6)
    with pytest.raises(UserError, match=r"gate_proj\.weight has weights too large for float16"):
        export_merged(str(base), rows, tmp_path / "adapted", dtype="float16", card="")
    assert [path.name for path in tmp_path.iterdir()] == [base.name]
    assert export_merged(str(base), rows, tmp_path / "adapted", dtype="bfloat16", card="") is not None


def test_rows_of_another_model_are_refused(base: Path, tmp_path: Path) -> None:
    other = write_model_folder(tmp_path / "other", intermediate_size=64)
    rows = trained(other, [np.array([60]), np.array([1]), np.array([2])])
    with pytest.raises(UserError, match="do not fit"):
        export_merged(str(base), rows, tmp_path / "adapted", dtype="keep", card="")
    assert not (tmp_path / "adapted").exists()


@pytest.mark.parametrize("content", [b"", b"\xff" * 20, b"\x08\0\0\0\0\0\0\0{}      "])
def test_damaged_base_is_named(base: Path, tmp_path: Path, content: bytes) -> None:
    rows = trained(base)
    (base / "model.safetensors").write_bytes(content)
    with pytest.raises(UserError, match=r"damaged|no tensor"):
        export_merged(str(base), rows, tmp_path / "adapted", dtype="keep", card="")
