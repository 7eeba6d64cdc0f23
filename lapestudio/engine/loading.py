"""Models from a folder, a GGUF file or the hub: described without their weights, and loaded.

In: what the user typed. Out: a `ModelReport`, a tokenizer, a model in evaluation mode without gradients. It is the
first stage of every job.

No code of a model repository is ever run, and weights come from safetensors or GGUF only.
"""

import copy
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import torch
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    StrictDataclassError,
)
from safetensors import SafetensorError, safe_open
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from lapestudio.core.errors import UserError
from lapestudio.core.model_report import ModelReport
from lapestudio.core.specs import DtypeName
from lapestudio.engine.devices import best_device, device_reports, resolve_dtype
from lapestudio.engine.ffn_layout import (
    SUPPORTED_MODEL_TYPES,
    FfnLayout,
    UnsupportedArchitectureError,
    check_supported,
    layout_for,
)
from lapestudio.engine.memory import identification_estimate, training_estimate
from lapestudio.engine.out_of_memory import is_out_of_memory

_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
_DESCRIPTION_FILES = ("*.json", "*.model", "*.jinja", "merges.txt", "vocab.txt", "LICENSE*", "NOTICE*", "README.md")
# What transformers loads; a repository may hold the same weights once more in another layout ("consolidated").
_WEIGHT_FILE = "model.safetensors"
_WEIGHT_INDEX = "model.safetensors.index.json"
_WEIGHT_FILES = "model*.safetensors"
# What the libraries raise over a config that says something impossible.
_CONFIG_ERRORS = (
    OSError, ValueError, KeyError, TypeError, AttributeError, ImportError, RuntimeError, ZeroDivisionError,
    StrictDataclassError,
)  # fmt: skip
_SAMPLE_BYTES = 4096
_NUM_SAMPLES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSource:
    """Where a model's files lie.

    Args:
        form: what the user named.
        path: the folder, or the GGUF file.
    """

    form: Literal["folder", "gguf", "hub"]
    path: Path

    @property
    def arguments(self) -> dict[str, Any]:
        """How transformers is told of it."""
        if self.form == "gguf":
            return {"pretrained_model_name_or_path": str(self.path.parent), "gguf_file": self.path.name}
        return {"pretrained_model_name_or_path": str(self.path)}


def resolve_source(source: str, *, with_weights: bool = True) -> ModelSource:
    """Find a model's files; those of a hub id are downloaded unless they are here.

    Args:
        source: a folder, a .gguf file or a hub id.
        with_weights: False: the files that describe the model suffice.

    Raises:
        UserError: nothing there, no weights, or the hub refuses or cannot be reached.
    """
    path = Path(source).expanduser()
    if path.is_dir():
        _check_folder(path, with_weights=with_weights)
        return ModelSource(form="folder", path=path.absolute())
    if path.is_file():
        if path.suffix.lower() != ".gguf":
            raise UserError(f"{path} is no model: choose the model's folder, a .gguf file, or a hub id.")
        return ModelSource(form="gguf", path=path.absolute())
    if not _HUB_ID.fullmatch(source):
        raise UserError(
            f"There is no model at {source}; choose a folder, a .gguf file, or a hub id such as name/model."
        )
    folder = _from_hub(source, with_weights=with_weights)
    _check_folder(folder, with_weights=with_weights)
    return ModelSource(form="hub", path=folder)


def _check_folder(folder: Path, *, with_weights: bool) -> None:
    if not (folder / "config.json").is_file():
        raise UserError(f"{folder} is no model folder: it has no config.json.")
    if not with_weights or weight_files(folder):
        return
    other = sorted(path.name for pattern in ("*.bin", "*.pt", "*.pth") for path in folder.glob(pattern))
    if other:
        raise UserError(
            f"{folder} has its weights in {other[0]}, a form that can run code when it is opened; get the model in "
            "safetensors form."
        )
    raise UserError(f"{folder} has no weights: there is no {_WEIGHT_FILE} beside its config.json.")


def weight_index(folder: Path) -> Path | None:
    """Return the file that says which weight file holds which tensor, or nothing where one file holds them all."""
    index = folder / _WEIGHT_INDEX
    return index if index.is_file() and not (folder / _WEIGHT_FILE).is_file() else None


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files of the model in `folder`, the same that transformers loads; none where none are.

    Raises:
        UserError: the index is damaged, or names a file that is not there.
    """
    if (folder / _WEIGHT_FILE).is_file():
        return [folder / _WEIGHT_FILE]
    index = weight_index(folder)
    if index is None:
        return []
    try:
        names = sorted({str(name) for name in json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{index} is damaged; get the model anew.") from error
    for name in names:
        if Path(name).name != name or not (folder / name).is_file():
            raise UserError(f"{folder} is incomplete: its index names {name}, which is not there.")
    return [folder / name for name in names]


def _from_hub(name: str, *, with_weights: bool) -> Path:
    patterns = [*_DESCRIPTION_FILES, *([_WEIGHT_FILES] if with_weights else [])]
    with _hub_errors(name):
        return Path(snapshot_download(name, allow_patterns=patterns))


@contextmanager
def _hub_errors(name: str) -> Iterator[None]:
    """Turn the hub's refusals into one sentence each."""
    try:
        yield
    except GatedRepoError as error:
        raise UserError(
            f"{name} is a gated model: accept its conditions on its hub page, then give your access token in HF_TOKEN."
        ) from error
    except RepositoryNotFoundError as error:
        raise UserError(
            f"There is neither a folder nor a hub model called {name}; check the spelling, or give your access token "
            "if it is private."
        ) from error
    except HFValidationError as error:
        raise UserError(
            f"There is no folder {name}, and no hub model can have that name; choose a folder, a .gguf file, or a hub "
            "id such as name/model."
        ) from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise UserError(
            f"There is no folder {name}, and the hub cannot be reached to look for a model of that name; check the "
            "network, or choose a folder."
        ) from error


def load_tokenizer(source: str) -> PreTrainedTokenizerBase:
    """Return the tokenizer of a model.

    Raises:
        UserError: no model there, or no usable tokenizer.
    """
    where = resolve_source(source, with_weights=False)
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(**where.arguments, trust_remote_code=False)
    except Exception as error:  # the tokenizers library raises plain exceptions over a damaged file
        raise UserError(
            f"The tokenizer of {source} cannot be loaded ({_first_line(error)}); check that the model is complete."
        ) from error
    return tokenizer


def adds_bos(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Say whether the tokenizer begins a text with its begin-of-sequence token by itself."""
    if tokenizer.bos_token_id is None:
        return False
    ids = tokenizer("a").input_ids
    return bool(ids) and ids[0] == tokenizer.bos_token_id


def load_config(where: ModelSource) -> PretrainedConfig:
    """Return a model's config, of a supported type.

    Raises:
        UnsupportedArchitectureError: the type is not supported.
        UserError: the config cannot be read, or the weights are quantised.
    """
    if where.form != "gguf":
        _check_config_file(where.path / "config.json")
    file = where.path if where.form == "gguf" else where.path / "config.json"
    try:
        config = _parsed_config(where, file.stat().st_mtime_ns)
    except _CONFIG_ERRORS as error:
        raise _not_a_model(where, error) from error
    check_supported(config.model_type)
    return copy.deepcopy(config)


@lru_cache(maxsize=4)
def _parsed_config(where: ModelSource, _changed_ns: int) -> PretrainedConfig:
    """Read a config once a process: a GGUF file's takes seconds, since its whole vocabulary lies before it."""
    config: PretrainedConfig = AutoConfig.from_pretrained(**where.arguments, trust_remote_code=False)
    return config


def _check_config_file(path: Path) -> None:
    """Look at config.json before transformers does, which would ask for leave to run the model's own code."""
    content = _config_content(path)
    model_type = str(content.get("model_type", ""))
    if "auto_map" in content and model_type not in SUPPORTED_MODEL_TYPES:
        raise UnsupportedArchitectureError(
            f"The model in {path.parent} (type {model_type!r}) needs program code of its own, which is never run; "
            f"choose a model of one of these types: {', '.join(SUPPORTED_MODEL_TYPES)}."
        )
    check_supported(model_type)
    if "quantization_config" in content:
        raise UserError(
            f"The weights beside {path} are quantised, and single neurons of them cannot be trained; "
            "get the model in bfloat16 or float32."
        )


def _config_content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged; get the model anew.") from error
    if not isinstance(content, dict):
        raise UserError(f"{path} is damaged; get the model anew.")
    return content


def _not_a_model(where: ModelSource, error: BaseException) -> UserError:
    return UserError(f"{where.path} cannot be read as a model: {_first_line(error)}.")


def load_model(source: str, *, dtype: DtypeName = "auto", device: str = "auto") -> PreTrainedModel:
    """Return a model in evaluation mode, without gradients, on `device`.

    Args:
        source: folder, .gguf file or hub id; the weights of a GGUF file are dequantised.
        dtype: auto: float32 on the CPU and on Apple's chips, bfloat16 on CUDA devices that compute in it.
        device: auto: the first CUDA device, else Apple's, else the CPU.

    Raises:
        UserError: no model, an unsupported or damaged one, or no such device.
    """
    where = resolve_source(source)
    config = load_config(where)
    target = best_device(device)
    model: Any
    found: dict[str, Any]
    try:
        # With loading information the result is a pair, which the stubs do not know.
        model, found = AutoModelForCausalLM.from_pretrained(  # type: ignore[misc]
            **where.arguments,
            config=config,
            dtype=resolve_dtype(dtype, target),
            trust_remote_code=False,
            use_safetensors=True,
            # Tensors of another shape are refused below, by name.
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    except (*_CONFIG_ERRORS, SafetensorError) as error:
        if is_out_of_memory(error):
            raise
        raise UserError(f"The weights of {source} cannot be loaded: {_first_line(error)}.") from error
    missing = sorted([*found["missing_keys"], *(key[0] for key in found["mismatched_keys"])])
    if missing:
        raise UserError(f"The weights of {source} are incomplete: {missing[0]} is missing or has another shape.")
    quantizer = getattr(model, "hf_quantizer", None)
    if quantizer is not None:
        # The weights of a GGUF file are dequantised; with this left in, the model could not be saved.
        quantizer.remove_quantization_config(model)
    model.requires_grad_(requires_grad=False)
    loaded: PreTrainedModel = model.to(target).eval()
    return loaded


def empty_model(config: PretrainedConfig) -> PreTrainedModel:
    """Return the model of a config without memory for its weights (meta device)."""
    with torch.device("meta"):
        model: PreTrainedModel = AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
            config, trust_remote_code=False
        )
    return model


def inspect_model(source: str) -> ModelReport:
    """Describe a model without loading its weights; what is not supported is said in the report.

    Raises:
        UserError: no model there, or a damaged one.
    """
    where = resolve_source(source, with_weights=not _is_hub_id(source))
    common = {"source": source, "form": where.form, "devices": device_reports()}
    try:
        model = _described_model(where)
        layout = layout_for(model)
    except UserError as error:
        return ModelReport(**common, supported=False, reason=str(error), **_names(where))
    return ModelReport(**common, supported=True, **_facts(where, source, model, layout))


def _described_model(where: ModelSource) -> PreTrainedModel:
    config = load_config(where)
    try:
        return empty_model(config)
    except _CONFIG_ERRORS as error:
        raise _not_a_model(where, error) from error


def _facts(where: ModelSource, source: str, model: PreTrainedModel, layout: FfnLayout) -> dict[str, Any]:
    config = model.config
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    ffn = {part.parameter for layer in layout.layers for part in layer.slices}
    target = best_device("auto")
    size_bytes, stored_dtype = _stored(where, source)
    shape = {
        "num_layers": layout.num_layers,
        "intermediate_size": layout.intermediate_size,
        "hidden_size": int(config.hidden_size),
        "vocab_size": int(config.vocab_size),
        "num_parameters": num_parameters,
        "num_ffn_parameters": sum(model.get_parameter(name).numel() for name in ffn),
    }
    return {
        **shape,
        "model_type": layout.model_type,
        "architecture": type(model).__name__,
        "fingerprint": model_fingerprint(source) if where.form != "hub" else "",
        "max_positions": int(getattr(config, "max_position_embeddings", 0) or 0),
        "dtype": stored_dtype,
        "size_bytes": size_bytes,
        # The tokenizer of a GGUF file takes ten seconds and more to read.
        "adds_bos": adds_bos(load_tokenizer(source)) if where.form != "gguf" else None,
        "identification": identification_estimate(**shape, device=target, is_packed=where.form == "gguf"),
        "training": training_estimate(**shape, device=target, is_packed=where.form == "gguf"),
    }


def _is_hub_id(source: str) -> bool:
    return not Path(source).expanduser().exists() and _HUB_ID.fullmatch(source) is not None


def _names(where: ModelSource) -> dict[str, str]:
    """Return the type and architecture as far as the files say, for the report of an unsupported model."""
    if where.form == "gguf":
        return {"model_type": "", "architecture": ""}
    try:
        content = _config_content(where.path / "config.json")
    except UserError:
        return {"model_type": "", "architecture": ""}
    architectures = content.get("architectures") or [""]
    return {"model_type": str(content.get("model_type", "")), "architecture": str(architectures[0])}


def _stored(where: ModelSource, source: str) -> tuple[int, str]:
    """Return the size of the weight files in bytes and the number format of their weights."""
    if where.form == "gguf":
        return where.path.stat().st_size, "quantised (GGUF)"
    files = weight_files(where.path)
    if not files:
        with _hub_errors(source):
            siblings = HfApi().model_info(source, files_metadata=True).siblings or []
        return sum(file.size or 0 for file in siblings if fnmatch(file.rfilename, _WEIGHT_FILES)), ""
    with _opened(files[0]) as header:
        dtypes = [header.get_slice(name).get_dtype() for name in header.keys()]  # noqa: SIM118 - not a mapping
    names = {"F32": "float32", "BF16": "bfloat16", "F16": "float16", "F64": "float64"}
    commonest = max(set(dtypes), key=dtypes.count) if dtypes else ""
    return sum(file.stat().st_size for file in files), names.get(commonest, commonest)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except SafetensorError as error:
        raise UserError(f"{path} is damaged ({error}); get the model anew.") from error


def model_fingerprint(source: str) -> str:
    """Return a hash that tells models apart, whatever their folder is called.

    It covers the names, shapes and number formats of all tensors and samples of their bytes: a second, not a minute,
    for a large model. Two models that differ in a few unsampled weights only have the same fingerprint.

    Raises:
        UserError: no model there, or a damaged one.
    """
    where = resolve_source(source)
    files = [where.path] if where.form == "gguf" else weight_files(where.path)
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.stat().st_size.to_bytes(8, "little"))
        _sample(path, digest)
    return digest.hexdigest()


def _sample(path: Path, digest: Any) -> None:
    """Add the beginning of a file, which describes its tensors, and samples spread over all of it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        digest.update(file.read(_SAMPLE_BYTES * _NUM_SAMPLES))
        for number in range(_NUM_SAMPLES):
            file.seek(size * number // _NUM_SAMPLES)
            digest.update(file.read(_SAMPLE_BYTES))


def _first_line(error: BaseException) -> str:
    """Return what an exception says, in one line."""
    if isinstance(error, KeyError):
        return f"{error} is not known or missing"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    # A heading says nothing without what follows.
    return " ".join(lines[: 2 if lines[0].endswith(":") else 1]).rstrip(".")
