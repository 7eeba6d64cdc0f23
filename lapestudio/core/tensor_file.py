"""Our safetensors files as numpy arrays: a form name in the metadata, written in one step, read with plain errors.

In and out: named arrays and a flat dictionary of texts. Activation counts and neuron sets are stored through it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from lapestudio.core.atomic import replacing
from lapestudio.core.errors import UserError

Array = npt.NDArray[Any]


def write_tensor_file(path: Path, tensors: Mapping[str, Array], *, form: str, metadata: Mapping[str, str]) -> None:
    """Write `tensors` to `path`, with `form` as the entry `format` of the metadata.

    Raises:
        UserError: the folder is missing or not writable, or the disk is full; what was there is untouched.
    """
    # save_file writes the memory as it lies, whatever the strides.
    contiguous = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    try:
        with replacing(path) as temporary:
            save_file(contiguous, temporary, metadata={"format": form, **metadata})
    except (OSError, SafetensorError) as error:
        raise cannot_write(path, error) from error


def read_tensor_file(
    path: Path, *, form: str, what: str, names: Sequence[str]
) -> tuple[dict[str, Array], dict[str, str]]:
    """Return the arrays `names` and the metadata of a file of the form `form`.

    Args:
        path: the file.
        form: what the entry `format` of its metadata must say.
        what: its content in the user's words, for messages.
        names: of the arrays to read; others are left alone.

    Raises:
        UserError: the file is missing, damaged or of another form.
    """
    check_is_file(path)
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != form:
                raise UserError(
                    f"{path} holds no {what}: its format is {metadata.get('format', 'not named')}, not {form}."
                )
            missing = [name for name in names if name not in set(file.keys())]
            if missing:
                raise damaged(path, what, f"{missing[0]} is missing")
            return {name: file.get_tensor(name) for name in names}, metadata
    except (SafetensorError, OSError, TypeError) as error:
        # TypeError: a number format that numpy does not have.
        raise damaged(path, what, str(error)) from error


def check_is_file(path: Path) -> None:
    """Refuse what is not a file.

    Raises:
        UserError: nothing there, or a folder.
    """
    if not path.exists():
        raise UserError(f"{path} does not exist.")
    if not path.is_file():
        raise UserError(f"{path} is a folder; choose a file in it.")


def damaged(path: Path, what: str, reason: str) -> UserError:
    """Return the error for a file that is not what it should be."""
    return UserError(f"{path} cannot be read as {what}: {reason}. It is damaged or of another kind; make it anew.")


def cannot_write(path: Path, error: Exception) -> UserError:
    """Return the error for a file that cannot be written."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return UserError(f"{path} cannot be written: {reason}. Choose another place or make room.")
