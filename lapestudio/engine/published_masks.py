"""The published form of neuron sets: a pickle of index tensors, read safely, written so that it reads back the same.

In: a file of `torch.save`, list[language][layer] -> ascending 1-D int64 tensor. Out: a `NeuronSet`; and back. The form
holds no names, no model and no sizes: the user states them. Only `weights_only=True` is ever used.

Source: the file form of the public code of arXiv 2402.16438 and 2510.13580. That code leaves out languages at the end
that have no neurons; written from here, every language keeps its place.
"""

import io
import pickle
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lapestudio.core.atomic import write_bytes_atomically
from lapestudio.core.errors import UserError
from lapestudio.core.neuron_indices import LayerIndices
from lapestudio.core.neuron_set import NeuronSet
from lapestudio.core.tensor_file import cannot_write, check_is_file, damaged

_WHAT = "a published mask"


def read_published_mask(
    path: Path, languages: Sequence[str], *, num_layers: int | None = None, intermediate_size: int
) -> NeuronSet:
    """Read a published mask.

    Args:
        path: the file.
        languages: their BCP-47 tags in the file's order, one for each.
        num_layers: of the model, to be compared with the file's; None: the file's are taken.
        intermediate_size: of the model.

    Raises:
        UserError: the file is missing, damaged, not loadable without running code, of another structure, of another
            number of languages, or does not fit the model's sizes.
    """
    path = Path(path)
    check_is_file(path)
    mask = _by_layer(path, _load(path))
    if len(mask) != len(languages):
        raise UserError(
            f"{path} holds neurons of {len(mask)} languages, but {len(languages)} are named ({', '.join(languages)}). "
            "Name them all in the order of the file; the published code drops languages at the end without neurons."
        )
    if num_layers is not None and len(mask[0]) != num_layers:
        raise UserError(f"{path} is for a model of {len(mask[0])} layers; this one has {num_layers}.")
    try:
        return NeuronSet(
            languages=tuple(languages),
            neurons=mask,
            num_layers=len(mask[0]),
            intermediate_size=intermediate_size,
            rule={"name": "published mask", "file": path.name},
        )
    except ValueError as error:
        raise UserError(
            f"{path} does not fit a model with layers of {intermediate_size} neurons: {error}. Is it the mask of "
            "another model?"
        ) from error


def write_published_mask(neurons: NeuronSet, path: Path) -> None:
    """Write a set in the published form, in one step.

    Raises:
        UserError: the file cannot be written; what was there is untouched.
    """
    # Copied: torch does not know read-only memory, and would store the whole array that a slice belongs to.
    mask = [[torch.from_numpy(layer.copy()) for layer in language] for language in neurons.neurons]
    # Through memory: torch writes the name of the file that it saves to, here a temporary one, into the file.
    buffer = io.BytesIO()
    torch.save(mask, buffer)
    try:
        write_bytes_atomically(Path(path), buffer.getvalue())
    except OSError as error:
        raise cannot_write(path, error) from error


def _load(path: Path) -> Any:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise UserError(
            f"{path} is refused: it is no published mask, or it holds more than numbers and reading it could run code "
            "that somebody put into it."
        ) from error
    except (OSError, EOFError, RuntimeError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise damaged(path, _WHAT, str(error).splitlines()[0] if str(error) else "it ends too early") from error


def _by_layer(path: Path, mask: Any) -> tuple[LayerIndices, ...]:
    expected = "it must hold a list of languages, each a list of as many layers, each a row of whole numbers"
    if not isinstance(mask, list | tuple) or not mask or not all(isinstance(part, list | tuple) for part in mask):
        raise damaged(path, _WHAT, expected)
    num_layers = len(mask[0])
    tensors = [tensor for language in mask for tensor in language]
    if num_layers == 0 or any(len(language) != num_layers for language in mask):
        raise damaged(path, _WHAT, expected)
    if not all(isinstance(tensor, torch.Tensor) and _is_index_row(tensor) for tensor in tensors):
        raise damaged(path, _WHAT, expected)
    return tuple(tuple(tensor.numpy().astype(np.int64) for tensor in language) for language in mask)


def _is_index_row(tensor: torch.Tensor) -> bool:
    # Nobody names the format of an empty tensor: it may be torch's default, which is floating.
    return tensor.ndim == 1 and (tensor.numel() == 0 or tensor.dtype in {torch.int64, torch.int32})
