"""Trained rows into plain weights, tensor by tensor.

In: the weight files of a base model and trained rows. Out: weight files of the same layout, in which only the trained
rows and columns differ. It stands between training and export.

Memory holds one tensor at a time, whatever the model's size. Nothing is renamed, added or left out: tied weights stay
tied, and tensors that the model does not use are copied too. What is not trained is copied byte for byte unless another
number format is asked for.
"""

import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor

from lapestudio.core.errors import UserError
from lapestudio.engine.trained_rows import RowGroup, TrainedRows

DTYPES: dict[str, torch.dtype] = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
}
_DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_COPY_BYTES = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTensor:
    """One tensor of a safetensors file; `start` is where its bytes begin in the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    num_bytes: int


def stored_tensors(path: Path) -> list[StoredTensor]:
    """Return the tensors of a safetensors file in the order of their bytes.

    Raises:
        UserError: the file is damaged.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(min(length, size)))
        tensors = [
            StoredTensor(
                name=name,
                dtype=entry["dtype"],
                shape=tuple(entry["shape"]),
                start=8 + length + entry["data_offsets"][0],
                num_bytes=entry["data_offsets"][1] - entry["data_offsets"][0],
            )
            for name, entry in header.items()
            if name != "__metadata__"
        ]
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged; get the model anew.") from error
    if any(tensor.start + tensor.num_bytes > size for tensor in tensors):
        raise UserError(f"{path} is cut off; get the model anew.")
    return sorted(tensors, key=lambda tensor: tensor.start)


def read_tensor(file: BinaryIO, tensor: StoredTensor) -> Tensor:
    """Return a tensor in a memory of its own; one whose number format is not floating as plain bytes, flat."""
    file.seek(tensor.start)
    values = bytearray(file.read(tensor.num_bytes))
    dtype = DTYPES.get(tensor.dtype)
    if not values:
        return torch.empty(tensor.shape, dtype=dtype or torch.uint8)
    flat = torch.frombuffer(values, dtype=dtype or torch.uint8)
    return flat if dtype is None else flat.reshape(tensor.shape)


def groups_by_tensor(
    files: Sequence[Path], rows: TrainedRows, base_model_prefix: str
) -> dict[str, tuple[RowGroup, ...]]:
    """Return the trained rows by the name that their tensor has in the files.

    Files of a bare body lack the prefix of the model with a head, and the other way round.

    Raises:
        UserError: a trained parameter is not in the files.
    """
    names = {tensor.name for path in files for tensor in stored_tensors(path)}
    found: dict[str, list[RowGroup]] = {}
    for group in rows.groups:
        parameter = group.place.parameter
        candidates = (parameter, parameter.removeprefix(f"{base_model_prefix}."), f"{base_model_prefix}.{parameter}")
        name = next((candidate for candidate in candidates if candidate in names), None)
        if name is None:
            raise UserError(
                f"{files[0].parent} has no tensor {parameter}, which was trained; it is not the model of the training."
            )
        found.setdefault(name, []).append(group)
    return {name: tuple(groups) for name, groups in found.items()}


def merge_files(
    files: Sequence[Path],
    rows: TrainedRows,
    out: Path,
    *,
    base_model_prefix: str,
    dtype: torch.dtype | None,
    on_progress: Callable[[int, int], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Write patched copies of the weight files into `out`; False when it was stopped before the end.

    Args:
        files: safetensors files of the base model.
        rows: trained rows of this model.
        out: an existing folder.
        base_model_prefix: of the model's class.
        dtype: number format of the written floating tensors; None: as it is.
        on_progress: called with bytes read and bytes in all.
        should_stop: asked before each tensor.

    Raises:
        UserError: damaged files, rows of another model, or weights too large for the number format.
        OSError: `out` cannot be written.
    """
    groups = groups_by_tensor(files, rows, base_model_prefix)
    total = sum(path.stat().st_size for path in files)
    done = 0
    for path in files:
        tensors = stored_tensors(path)
        with path.open("rb") as source, (out / path.name).open("wb") as target:
            target.write(_header(tensors, dtype))
            for tensor in tensors:
                if should_stop():
                    return False
                for chunk in _written(source, tensor, groups.get(tensor.name, ()), dtype):
                    target.write(chunk)
                done += tensor.num_bytes
                if on_progress is not None:
                    on_progress(done, total)
    return True


def merged_size(files: Sequence[Path], dtype: torch.dtype | None) -> int:
    """Return how many bytes `merge_files` will write."""
    tensors = [stored_tensors(path) for path in files]
    headers = sum(len(_header(of_file, dtype)) for of_file in tensors)
    return headers + sum(_new_size(tensor, dtype) for of_file in tensors for tensor in of_file)


def _header(tensors: Sequence[StoredTensor], dtype: torch.dtype | None) -> bytes:
    """Return the head of a safetensors file: its length (8 bytes, little endian) and JSON, padded to 8 bytes."""
    entries: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for tensor in tensors:
        end = offset + _new_size(tensor, dtype)
        entries[tensor.name] = {
            "dtype": _new_dtype(tensor, dtype),
            "shape": list(tensor.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def _new_dtype(tensor: StoredTensor, dtype: torch.dtype | None) -> str:
    return tensor.dtype if dtype is None or tensor.dtype not in DTYPES else _DTYPE_NAMES[dtype]


def _new_size(tensor: StoredTensor, dtype: torch.dtype | None) -> int:
    if _new_dtype(tensor, dtype) == tensor.dtype:
        return tensor.num_bytes
    return tensor.num_bytes // DTYPES[tensor.dtype].itemsize * DTYPES[_new_dtype(tensor, dtype)].itemsize


def _written(
    source: BinaryIO, tensor: StoredTensor, groups: Sequence[RowGroup], dtype: torch.dtype | None
) -> Iterator[bytes | memoryview]:
    """Yield the bytes to write for a tensor."""
    new_dtype = _new_dtype(tensor, dtype)
    if not groups and new_dtype == tensor.dtype:
        source.seek(tensor.start)
        left = tensor.num_bytes
        while left:
            chunk = source.read(min(left, _COPY_BYTES))
            left -= len(chunk)
            yield chunk
        return
    before = read_tensor(source, tensor)
    was_finite = is_finite(before)
    values = before.to(DTYPES[new_dtype])
    for group in groups:
        try:
            group.put_into(values)
        except ValueError as error:
            raise UserError(f"The trained rows do not fit the base model: {error}.") from error
    if was_finite:
        check_range(tensor.name, values)
    yield values.contiguous().view(-1).view(torch.uint8).numpy().data


def is_finite(values: Tensor) -> bool:
    """Say whether all values are finite numbers, without a copy of them."""
    if not values.numel():
        return True
    low, high = values.aminmax()  # a NaN anywhere comes out of both
    return bool(low.isfinite() & high.isfinite())


def check_range(name: str, values: Tensor) -> None:
    """Refuse weights that were finite before they were converted and are not any more.

    Raises:
        UserError: names the tensor.
    """
    if not is_finite(values):
        dtype = str(values.dtype).removeprefix("torch.")
        raise UserError(f"{name} has weights too large for {dtype}; export in bfloat16 or float32.")


def patch_parameters(parameters: Mapping[str, Tensor], rows: TrainedRows) -> None:
    """Put trained rows into weights in memory.

    Args:
        parameters: by name, without gradients; changed in place.
        rows: trained rows of this model.
    """
    for group in rows.groups:
        group.put_into(parameters[group.place.parameter])
