"""Models as users have them: complete, incomplete, damaged, of the wrong form, and behind a hub that says no."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
import torch
from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError, RepositoryNotFoundError
from transformers import AutoTokenizer

from lapestudio.core.errors import UserError
from lapestudio.engine import loading
from lapestudio.engine.devices import best_device, device_reports, resolve_dtype
from lapestudio.engine.ffn_layout import UnsupportedArchitectureError
from lapestudio.engine.loading import (
    inspect_model,
    load_model,
    load_tokenizer,
    model_fingerprint,
    resolve_source,
    weight_files,
)
from tests.engine.tiny_models import FAMILIES, INTERMEDIATE_SIZE, NUM_LAYERS, VOCAB_SIZE, tiny_model
from tests.tiny_model_folder import write_model_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model_folder(tmp_path / "мodel with space")


def test_report_of_a_folder(folder: Path) -> None:
    report = inspect_model(str(folder))
    assert report.supported
    assert (report.form, report.model_type, report.architecture) == ("folder", "llama", "LlamaForCausalLM")
    assert (report.num_layers, report.intermediate_size, report.hidden_size) == (NUM_LAYERS, INTERMEDIATE_SIZE, 32)
    model = load_model(str(folder))
    assert report.num_parameters == sum(parameter.numel() for parameter in model.parameters())
    assert report.num_ffn_parameters == NUM_LAYERS * 3 * 32 * INTERMEDIATE_SIZE
    assert (report.dtype, report.adds_bos) == ("float32", True)
    assert report.size_bytes == (folder / "model.safetensors").stat().st_size
    for estimate in (report.identification, report.training):
        assert estimate is not None
        assert sum(estimate.parts.values()) == estimate.total_bytes
    assert report.devices[-1].name == "cpu"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_loaded_as_it_was_saved(family: str, tmp_path: Path) -> None:
    model = tiny_model(family)
    model.save_pretrained(tmp_path)
    loaded = load_model(str(tmp_path), device="cpu")
    ids = torch.randint(3, VOCAB_SIZE, (1, 8), generator=torch.Generator().manual_seed(1))
    assert torch.equal(loaded(ids).logits, model(ids).logits)
    assert not loaded.training
    assert not any(parameter.requires_grad for parameter in loaded.parameters())


def test_dtype_is_as_asked(folder: Path) -> None:
    assert load_model(str(folder), dtype="bfloat16", device="cpu").dtype is torch.bfloat16
    assert load_model(str(folder), device="cpu").dtype is torch.float32
    assert resolve_dtype("auto", torch.device("cpu")) is torch.float32


def test_fingerprint_is_of_the_content(folder: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(folder, tmp_path / "copy")
    assert model_fingerprint(str(moved)) == model_fingerprint(str(folder)) == inspect_model(str(folder)).fingerprint
    other = write_model_folder(tmp_path / "other", seed=1)
    assert model_fingerprint(str(other)) != model_fingerprint(str(folder))


def break_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def drop_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def pickle_weights(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def drop_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def break_config(folder: Path) -> None:
    (folder / "config.json").write_text("{", encoding="utf-8")


def change_config(*dropped: str, **changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "config.json"
        content = {**json.loads(path.read_text(encoding="utf-8")), **changes}
        path.write_text(json.dumps({key: content[key] for key in content if key not in dropped}), encoding="utf-8")

    return change


def list_for_config(folder: Path) -> None:
    (folder / "config.json").write_text("[]", encoding="utf-8")


def list_for_index(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text("[]", encoding="utf-8")


def lose_a_shard(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    index = {"metadata": {}, "weight_map": {"lm_head.weight": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")


def point_outside(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    index = {"metadata": {}, "weight_map": {"lm_head.weight": "../secret.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (break_weights, "cannot be loaded"),
        (drop_weights, r"has no weights: there is no model\.safetensors beside"),
        (pickle_weights, r"pytorch_model\.bin, a form that can run code"),
        (drop_config, r"it has no config\.json"),
        (break_config, r"config\.json is damaged"),
        (change_config(model_type="mamba"), "'mamba' are not supported"),
        (list_for_config, r"config\.json is damaged"),
        (list_for_index, r"index\.json is damaged"),
        (change_config(num_hidden_layers="x"), "cannot be read as a model: .*num_hidden_layers.*expected int"),
        (change_config(num_attention_heads=7), "cannot be read as a model: .*not a multiple"),
        (change_config(hidden_act="nope"), "'nope' is not known"),
        (change_config(dtype="float7"), "float7"),
        (change_config(vocab_size=55), r"incomplete: lm_head\.weight is missing or has another shape"),
        (change_config("model_type", auto_map={"AutoModelForCausalLM": "e.M"}), "code of its own, which is never"),
        (change_config(num_hidden_layers=4), r"incomplete: model\.layers\.3"),
        (change_config(quantization_config={"quant_method": "gptq"}), "are quantised"),
        (lose_a_shard, "its index names model-00002-of-00002"),
        (point_outside, "its index names"),
    ],
)
def test_faults_are_named(folder: Path, damage: Callable[[Path], None], sentence: str) -> None:
    damage(folder)
    with pytest.raises(UserError, match=sentence) as caught:
        load_model(str(folder))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "damage", [list_for_config, change_config(hidden_act="nope"), change_config(num_hidden_layers="x")]
)
def test_report_of_a_damaged_model_says_so(folder: Path, damage: Callable[[Path], None]) -> None:
    damage(folder)
    report = inspect_model(str(folder))
    assert not report.supported
    assert report.reason


def test_files_beside_the_weights_are_not_taken_for_weights(folder: Path) -> None:
    expected, size = model_fingerprint(str(folder)), inspect_model(str(folder)).size_bytes
    (folder / "consolidated.safetensors").write_bytes(b"the same weights in another layout")
    (folder / "adapter_model.safetensors").write_bytes(b"not of this model alone")
    lost = {"weight_map": {"x": "model-00001-of-00001.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(lost), encoding="utf-8")
    # transformers loads model.safetensors where there is one, whatever an index says.
    assert weight_files(folder) == [folder / "model.safetensors"]
    assert model_fingerprint(str(folder)) == expected
    assert inspect_model(str(folder)).size_bytes == size
    load_model(str(folder))


def test_shards_are_loaded_and_fingerprinted_as_their_index_says(folder: Path, tmp_path: Path) -> None:
    model = load_model(str(folder), device="cpu")
    model.save_pretrained(tmp_path / "shards", max_shard_size="20KB")
    files = weight_files(tmp_path / "shards")
    assert len(files) > 1
    (tmp_path / "shards" / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    (tmp_path / "shards" / "tokenizer_config.json").write_bytes((folder / "tokenizer_config.json").read_bytes())
    assert inspect_model(str(tmp_path / "shards")).size_bytes == sum(file.stat().st_size for file in files)
    ids = torch.tensor([[5, 6, 7]])
    assert torch.equal(load_model(str(tmp_path / "shards"), device="cpu")(ids).logits, model(ids).logits)
    before = model_fingerprint(str(tmp_path / "shards"))
    content = bytearray(files[-1].read_bytes())
    content[-1] ^= 1
    files[-1].write_bytes(content)
    assert model_fingerprint(str(tmp_path / "shards")) != before


def test_lack_of_memory_is_not_blamed_on_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(loading.AutoModelForCausalLM, "from_pretrained", fail)
    with pytest.raises(RuntimeError, match="DefaultCPUAllocator"):
        load_model(str(folder))


def test_report_says_why_a_model_is_not_supported(folder: Path) -> None:
    change_config(model_type="mamba", architectures=["MambaForCausalLM"])(folder)
    report = inspect_model(str(folder))
    assert not report.supported
    assert "'mamba'" in report.reason
    assert report.architecture == "MambaForCausalLM"


def test_code_of_a_repository_is_never_run(folder: Path, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    (folder / "evil.py").write_text(f"open({str(trace)!r}, 'w')\n", encoding="utf-8")
    change_config(model_type="evil", auto_map={"AutoConfig": "evil.C", "AutoModelForCausalLM": "evil.M"})(folder)
    with pytest.raises(UnsupportedArchitectureError, match="'evil'"):
        load_model(str(folder))
    change_config(model_type="llama")(folder)
    load_model(str(folder))
    assert not trace.exists()


@pytest.mark.parametrize("name", ["no such place/at all/here", "a file.txt", "/nowhere"])
def test_sources_that_are_none(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a file.txt").write_text("x", encoding="utf-8")
    with pytest.raises(UserError):
        resolve_source(name)


def test_damaged_gguf_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(200))
    with pytest.raises(UserError, match=r"broken\.gguf"):
        load_model(str(tmp_path / "broken.gguf"))


def hub_error(kind: type[Exception]) -> Exception:
    if kind is LocalEntryNotFoundError:
        return LocalEntryNotFoundError("offline")
    response = httpx2.Response(403, request=httpx2.Request("GET", "https://hub.example/api"))
    return kind("no", response=response)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (GatedRepoError, "gated"),
        (RepositoryNotFoundError, "neither a folder nor a hub model"),
        (LocalEntryNotFoundError, "the hub cannot be reached"),
    ],
)
def test_what_the_hub_says_becomes_one_sentence(
    kind: type[Exception], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_options: object) -> str:
        raise hub_error(kind)

    monkeypatch.setattr(loading, "snapshot_download", refuse)
    with pytest.raises(UserError, match=sentence):
        load_model("name/model")


@pytest.mark.parametrize("name", ["модель", "модель/ñandú", "a--b/c", "-x/y", "name.git", "x" * 120 + "/y"])
def test_names_that_the_hub_cannot_have(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for read in (load_model, inspect_model, load_tokenizer, model_fingerprint):
        with pytest.raises(UserError, match="no hub model can have that name"):
            read(name)


def test_hub_model_is_read_from_the_downloaded_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def download(name: str, *, allow_patterns: list[str]) -> str:
        assert name == "name/model"
        asked.append(allow_patterns)
        return str(folder)

    monkeypatch.setattr(loading, "snapshot_download", download)
    report = inspect_model("name/model")
    assert (report.form, report.supported) == ("hub", True)
    assert not any("safetensors" in pattern for pattern in asked[0])
    assert load_model("name/model").num_parameters() == report.num_parameters
    assert "model*.safetensors" in asked[-1]
    assert not any(pattern.endswith((".py", ".bin")) for patterns in asked for pattern in patterns)


def test_unknown_device_names_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"'cuda:9'.*cpu"):
        best_device("cuda:9")
    assert {report.name for report in device_reports()} >= {"cpu"}


def test_tokenizer_of_a_folder(folder: Path) -> None:
    assert load_tokenizer(str(folder)).encode("a") == AutoTokenizer.from_pretrained(folder).encode("a")


def test_missing_tokenizer_is_named(folder: Path) -> None:
    for path in folder.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(UserError, match="tokenizer of"):
        load_tokenizer(str(folder))


@pytest.mark.parametrize("content", ["{", "[]", '{"model": {"type": "Nope"}}'])
def test_damaged_tokenizer_is_named(folder: Path, content: str) -> None:
    (folder / "tokenizer.json").write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match="tokenizer of"):
        load_tokenizer(str(folder))


@pytest.mark.realmodel
def test_gguf_files_are_described_and_loaded(smollm2_gguf: Path, tmp_path: Path) -> None:
    report = inspect_model(str(smollm2_gguf))
    assert report.supported
    assert (report.form, report.model_type) == ("gguf", "llama")
    assert (report.num_layers, report.intermediate_size, report.num_parameters) == (30, 1536, 134_515_008)
    model = load_model(str(smollm2_gguf), device="cpu")
    model.save_pretrained(tmp_path)
    again = load_model(str(tmp_path), device="cpu")
    ids = torch.tensor([[504, 3575, 282, 4649, 314]])
    assert torch.equal(model(ids).logits, again(ids).logits)


@pytest.mark.realmodel
def test_gemma_is_described(gemma_gguf: Path) -> None:
    report = inspect_model(str(gemma_gguf))
    assert (report.model_type, report.num_layers, report.intermediate_size) == ("gemma3_text", 18, 2048)
    assert report.vocab_size == 262_144
