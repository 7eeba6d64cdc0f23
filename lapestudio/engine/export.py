"""The adapted model as a folder that every other tool loads.

In: the base model and trained rows. Out: a complete model folder with tokenizer, licence files and a model card. It
is written beside its place under another name and moved there at the end, so that nothing half-made looks finished.
"""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import PreTrainedModel

from lapestudio.core.atomic import default_mode, fsync_directory
from lapestudio.core.errors import UserError
from lapestudio.core.specs import ExportDtypeName
from lapestudio.engine.loading import (
    ModelSource,
    empty_model,
    load_config,
    load_model,
    load_tokenizer,
    resolve_source,
    weight_files,
    weight_index,
)
from lapestudio.engine.merging import (
    check_range,
    is_finite,
    merge_files,
    merged_size,
    patch_parameters,
    stored_tensors,
)
from lapestudio.engine.trained_rows import TrainedRows

EXPORT_DTYPES: dict[ExportDtypeName, torch.dtype | None] = {
    "keep": None,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
# What belongs to a model besides its weights; code, pickles and other forms of the weights are left behind.
_COPIED_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "*.jinja",
    "chat_template*",
    "LICENSE*",
    "LICENCE*",
    "NOTICE*",
    "USE_POLICY*",
)
_SPARE_BYTES = 64_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A file of the export."""

    name: str
    num_bytes: int


def check_target(out: Path, base: str) -> None:
    """Refuse a folder that cannot or must not be written, before any work.

    Raises:
        UserError: it has content, lies in the base model's folder, or no folder can be made there.
    """
    base_path = Path(base).expanduser()
    if base_path.is_dir() and out.resolve().is_relative_to(base_path.resolve()):
        raise UserError(f"{out} lies in the folder of the base model; choose another folder for the export.")
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise UserError(f"{out} exists already and is not empty; choose another folder for the export.")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out.parent} cannot be made: {error.strerror}.") from error
    if not os.access(out.parent, os.W_OK):
        raise UserError(f"{out.parent} cannot be written to; choose another folder for the export.")


def export_merged(
    base: str,
    rows: TrainedRows,
    out: Path,
    *,
    dtype: ExportDtypeName,
    card: str,
    on_progress: Callable[[int, int], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[WrittenFile] | None:
    """Write the merged model to `out` and return its files; None when it was stopped, and then nothing is left.

    Args:
        base: the base model: folder, .gguf file or hub id.
        rows: trained in this base model.
        out: a folder that does not exist or is empty.
        dtype: number format of the weights; keep: as in the base. A GGUF base is dequantised to float32, which keeps
            its frozen weights exactly as they were while training.
        card: text of the model card.
        on_progress: called with bytes done and bytes in all.
        should_stop: asked now and then.

    Raises:
        UserError: see `check_target`; or rows of a training that diverged, too little space, a full or failing disk,
            a base that the rows do not fit, weights too large for `dtype`.
    """
    check_target(out, base)
    _check_finite(rows)
    where = resolve_source(base)
    partial = out.parent / f".{out.name}.lapestudio-partial"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir()
        if where.form == "gguf":
            is_complete = _write_from_gguf(base, rows, partial, EXPORT_DTYPES[dtype])
        else:
            is_complete = _write_from_folder(
                where, rows, partial, EXPORT_DTYPES[dtype], on_progress=on_progress, should_stop=should_stop
            )
        if not is_complete or should_stop():
            return None
        (partial / "README.md").write_text(card, encoding="utf-8")
        _move_into_place(partial, out)
    except OSError as error:
        raise UserError(f"The model could not be written to {out}: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return written_files(out)


def written_files(folder: Path) -> list[WrittenFile]:
    """Return the files of an export by name."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [WrittenFile(name=path.relative_to(folder).as_posix(), num_bytes=path.stat().st_size) for path in paths]


def _write_from_folder(
    where: ModelSource,
    rows: TrainedRows,
    out: Path,
    dtype: torch.dtype | None,
    *,
    on_progress: Callable[[int, int], None] | None,
    should_stop: Callable[[], bool],
) -> bool:
    files = weight_files(where.path)
    _check_space(out, merged_size(files, dtype))
    prefix = empty_model(load_config(where)).base_model_prefix
    _copy_companions(where.path, out, dtype)
    if not merge_files(
        files,
        rows,
        out,
        base_model_prefix=prefix,
        dtype=dtype,
        on_progress=on_progress,
        should_stop=should_stop,
    ):
        return False
    index = weight_index(where.path)
    if index is not None:
        content = json.loads(index.read_text(encoding="utf-8"))
        sizes = (tensor.num_bytes for path in files for tensor in stored_tensors(out / path.name))
        content["metadata"] = {**content.get("metadata", {}), "total_size": sum(sizes)}
        (out / index.name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return True


def _write_from_gguf(base: str, rows: TrainedRows, out: Path, dtype: torch.dtype | None) -> bool:
    model = load_model(base, dtype="float32", device="cpu")
    _check_space(out, model.num_parameters() * (dtype or torch.float32).itemsize)
    patch_parameters({name: parameter.data for name, parameter in model.named_parameters()}, rows)
    _save_model(_in_dtype(model, dtype or torch.float32), out)
    load_tokenizer(base).save_pretrained(out)
    return True


def _in_dtype(model: PreTrainedModel, dtype: torch.dtype) -> PreTrainedModel:
    converted: PreTrainedModel = model.to(dtype=dtype)  # type: ignore[call-arg]  # the stubs lose Module.to
    for name, parameter in converted.named_parameters():
        check_range(name, parameter)
    return converted


def _check_finite(rows: TrainedRows) -> None:
    for group in rows.groups:
        if not is_finite(group.values):
            raise UserError(
                f"The trained weights of {group.place.parameter} are not finite numbers: the training has diverged; "
                "export its best checkpoint, or train again with a lower learning rate."
            )


def _save_model(model: PreTrainedModel, out: Path) -> None:
    model.save_pretrained(out)
    generation = out / "generation_config.json"
    # Settings that a GGUF file does not have are no settings of this model.
    if generation.is_file() and not json.loads(generation.read_text(encoding="utf-8")):
        generation.unlink()


def _copy_companions(base: Path, out: Path, dtype: torch.dtype | None) -> None:
    for pattern in _COPIED_FILES:
        for path in base.glob(pattern):
            if path.is_file() and path.suffix != ".py":
                shutil.copyfile(path, out / path.name)
    if dtype is None:
        return
    config = out / "config.json"
    content = json.loads(config.read_text(encoding="utf-8"))
    # Older configs say torch_dtype.
    name = str(dtype).removeprefix("torch.")
    content.update({key: name for key in ("dtype", "torch_dtype") if key in content} or {"dtype": name})
    config.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE_BYTES:
        raise UserError(
            f"The export needs {needed / 1e9:.2f} GB and only {free / 1e9:.2f} GB are free on the disk of "
            f"{folder.parent}; make space, or choose another folder."
        )


def _move_into_place(partial: Path, out: Path) -> None:
    for path in partial.iterdir():
        # save_pretrained makes files that nobody else can read.
        path.chmod(default_mode())
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    fsync_directory(partial)
    if out.is_dir():
        out.rmdir()
    partial.rename(out)
    fsync_directory(out.parent)
