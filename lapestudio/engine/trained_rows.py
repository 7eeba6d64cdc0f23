"""Trained rows: the weights of the trained neurons and where they belong in the base model.

In: what the split FFN trained. Out: `rows.safetensors`, from which alone a base model can be patched. It stands
between training and merging.

File form: for each group the tensors `<parameter>/<role>/neurons` (int64 [n]) and `<parameter>/<role>/values`
(float32 [n, ...], neuron-major: values[i] belongs to neurons[i]); in the metadata `format`, `model_name`,
`model_fingerprint`, `language` and `groups`, a JSON list with `layer, role, parameter, axis, start` of each group.
"""

import errno
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from lapestudio.core.atomic import replacing
from lapestudio.core.errors import UserError

FORMAT = "lapestudio.rows.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPlace:
    """Where one role of one layer's neurons lives: `parameter` along `axis`, neuron i at index `start + i`.

    Roles: `gate`, `up`, `down`, `gate_bias`, `up_bias`.
    """

    layer: int
    role: str
    parameter: str
    axis: int
    start: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowGroup:
    """The trained values of one place.

    Args:
        place: where they belong.
        neurons: (n,) int64, ascending, distinct.
        values: (n, ...) floating, neuron-major; float32 unless the model computes in float64.
    """

    place: RowPlace
    neurons: Tensor
    values: Tensor

    def put_into(self, tensor: Tensor) -> None:
        """Overwrite the trained rows (columns, entries) of `tensor`, the stored form of the parameter, in its dtype.

        Raises:
            ValueError: the shapes do not agree; `tensor` is then untouched.
        """
        index = (self.neurons + self.place.start).to(tensor.device)
        values = self.values.movedim(0, self.place.axis) if tensor.ndim > 1 else self.values
        expected = list(tensor.shape)
        expected[self.place.axis] = len(index)
        if list(values.shape) != expected or (len(index) and int(index.max()) >= tensor.shape[self.place.axis]):
            raise ValueError(f"{self.place.parameter} is {list(tensor.shape)}: these trained rows do not fit into it")
        tensor.index_copy_(self.place.axis, index, values.to(tensor.device, tensor.dtype))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainedRows:
    """All that merging needs: the groups, and which model and language they are for.

    Args:
        groups: one per layer and role, in the order of the layers; a layer without trained neurons has none.
        model_name: name of the base model, for people.
        model_fingerprint: of the base model; None where it is not known.
        language: BCP-47 tag that was taught; empty where it is not known.
    """

    groups: tuple[RowGroup, ...]
    model_name: str = ""
    model_fingerprint: str | None = None
    language: str = ""

    @property
    def num_values(self) -> int:
        """How many weights were trained."""
        return sum(group.values.numel() for group in self.groups)

    def save(self, path: Path) -> None:
        """Write the rows to `path` in one step.

        Raises:
            OSError: the folder is missing or not writable, or the disk is full.
        """
        tensors: dict[str, Tensor] = {}
        for group in self.groups:
            stem = f"{group.place.parameter}/{group.place.role}"
            # Cloned: the roles of a layer share their neurons, and safetensors refuses tensors that share memory.
            tensors[f"{stem}/neurons"] = group.neurons.cpu().clone()
            tensors[f"{stem}/values"] = group.values.detach().cpu().contiguous()
        metadata = {
            "format": FORMAT,
            "model_name": self.model_name,
            "language": self.language,
            "groups": json.dumps([asdict(group.place) for group in self.groups]),
        }
        if self.model_fingerprint is not None:
            metadata["model_fingerprint"] = self.model_fingerprint
        with replacing(path) as temporary:
            save_tensors(tensors, temporary, metadata)

    @classmethod
    def load(cls, path: Path) -> "TrainedRows":
        """Read what `save` wrote.

        Raises:
            UserError: the file is missing, damaged, or something else.
        """
        try:
            with safe_open(path, framework="pt") as file:
                metadata = file.metadata() or {}
                if metadata.get("format") != FORMAT:
                    raise UserError(f"{path} holds no trained rows; choose the rows.safetensors of a training run.")
                # Cloned: the file is mapped, and a mapped file can be neither replaced nor trusted to stay.
                tensors = {key: file.get_tensor(key).clone() for key in file.keys()}  # noqa: SIM118 - not a mapping
        except FileNotFoundError as error:
            raise UserError(f"{path} does not exist; choose the rows.safetensors of a training run.") from error
        except (SafetensorError, OSError) as error:
            raise UserError(f"{path} cannot be read as trained rows: {error}.") from error
        return cls(
            groups=_groups(path, metadata, tensors),
            model_name=metadata.get("model_name", ""),
            model_fingerprint=metadata.get("model_fingerprint"),
            language=metadata.get("language", ""),
        )


def save_tensors(tensors: Mapping[str, Tensor], path: Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write a safetensors file; no two tensors may share memory.

    Raises:
        OSError: not writable, or the disk is full; safetensors itself raises an error of its own kind.
    """
    try:
        save_file(dict(tensors), path, metadata=None if metadata is None else dict(metadata))
    except SafetensorError as error:
        raise OSError(errno.EIO, str(error), str(path)) from error


def _groups(path: Path, metadata: Mapping[str, str], tensors: Mapping[str, Tensor]) -> tuple[RowGroup, ...]:
    groups = []
    try:
        for entry in json.loads(metadata["groups"]):
            place = RowPlace(**entry)
            stem = f"{place.parameter}/{place.role}"
            neurons, values = tensors[f"{stem}/neurons"], tensors[f"{stem}/values"]
            if neurons.dtype != torch.int64 or neurons.ndim != 1 or len(neurons) != len(values):
                raise UserError(f"{path} is damaged: {stem} has {len(values)} rows for {len(neurons)} neurons.")
            groups.append(RowGroup(place=place, neurons=neurons, values=values))
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is damaged: its list of trained rows does not fit its content ({error}).") from error
    return tuple(groups)
