"""Neuron sets: each language's neurons by layer, as every later stage and the user's files know them.

In: a `Selection`, or a file. Out: the indices that training and analysis use, overlap, random controls, files.

File forms, all with indices counted from 0 and ascending within a layer:

- `.safetensors`: `indices` int64 [total], language after language and in each layer after layer; `lengths` int64
  [num_languages, num_layers]; metadata `format` and `description`, the JSON form without its `neurons`.
- `.json`: one object with `format`, `languages` (tags in order), `num_layers`, `intermediate_size`, `model_name`,
  `model_fingerprint` and `counts_fingerprint` (null where not known), `rule` (how the neurons were chosen), `neurons`:
  for each language a list over the layers of lists of indices. When read, all but `languages`, `num_layers`,
  `intermediate_size` and `neurons` may be missing.
- `.csv` (written only): a row for each language and neuron: `language,layer,neuron`.
"""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lapestudio.core.activation_counts import ActivationCounts
from lapestudio.core.atomic import write_text_atomically
from lapestudio.core.errors import UserError
from lapestudio.core.lape import Selection
from lapestudio.core.neuron_indices import (
    LayerIndices,
    check_ascending,
    draw_anywhere,
    draw_layer_matched,
    join,
    split_by_length,
)
from lapestudio.core.specs import first_problem
from lapestudio.core.tensor_file import cannot_write, check_is_file, damaged, read_tensor_file, write_tensor_file

FORM = "lapestudio.neurons.1"
RuleValue = str | int | float | bool | None
_WHAT = "a neuron set"


@dataclass(frozen=True, kw_only=True, eq=False)
class NeuronSet:
    """Each language's neurons; equal when everything in them is equal.

    Args:
        languages: BCP-47 tags.
        neurons: [language][layer] -> ascending neuron indices; copied, and read-only afterwards. A language without
            neurons keeps its (empty) place.
        num_layers: layers of the model.
        intermediate_size: neurons of a layer.
        model_fingerprint: of the model the neurons were found in; None where it is not known.
        model_name: for people.
        counts_fingerprint: of the activation counts; None where it is not known.
        rule: how the neurons were chosen: `name`, and what it was told.

    Raises:
        ValueError: a language twice, wrong numbers of languages or layers, or indices that are not ascending or not in
            range; the message says where.
    """

    languages: tuple[str, ...]
    neurons: tuple[LayerIndices, ...]
    num_layers: int
    intermediate_size: int
    model_fingerprint: str | None = None
    model_name: str = ""
    counts_fingerprint: str | None = None
    rule: Mapping[str, RuleValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        languages = tuple(self.languages)
        if len(set(languages)) != len(languages) or not languages or "" in languages:
            raise ValueError("the languages must be named, each once")
        if len(self.neurons) != len(languages):
            raise ValueError(f"there are neurons for {len(self.neurons)} languages, but {len(languages)} are named")
        if self.num_layers < 1 or self.intermediate_size < 1:
            raise ValueError(f"a model of {self.num_layers} layers of {self.intermediate_size} neurons cannot be")
        for language, layers in zip(languages, self.neurons, strict=True):
            if len(layers) != self.num_layers:
                raise ValueError(f"language {language} has {len(layers)} layers instead of {self.num_layers}")
        indices, lengths = join(self.neurons)
        check_ascending(indices, lengths, self.intermediate_size, languages)
        indices.setflags(write=False)
        object.__setattr__(self, "languages", languages)
        object.__setattr__(self, "neurons", split_by_length(indices, lengths))

    @classmethod
    def from_selection(cls, selection: Selection, counts: ActivationCounts) -> Self:
        """Return the set of a selection from `counts`."""
        return cls(
            languages=counts.languages,
            neurons=selection.by_language(),
            num_layers=selection.num_layers,
            intermediate_size=selection.intermediate_size,
            model_fingerprint=counts.model_fingerprint or None,
            model_name=counts.model_name,
            counts_fingerprint=counts.fingerprint,
            rule={
                "name": "lape",
                "top_rate": selection.top_rate,
                "activity_quantile": selection.activity_quantile,
                "threshold": selection.threshold,
            },
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NeuronSet):
            return NotImplemented
        pairs = zip(self.neurons, other.neurons, strict=False)
        return self.description() == other.description() and all(
            np.array_equal(mine, theirs) for pair in pairs for mine, theirs in zip(*pair, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays cannot be hashed

    def of(self, language: str) -> LayerIndices:
        """Return the neurons of a language: for each layer ascending int64 indices.

        Raises:
            UserError: the set does not have this language; the message lists those that it has.
        """
        if language not in self.languages:
            raise UserError(f"The neuron set has no language {language}; it has {', '.join(self.languages)}.")
        return self.neurons[self.languages.index(language)]

    def counts(self) -> npt.NDArray[np.int64]:
        """Return how many neurons each language has in each layer: (num_languages, num_layers) int64."""
        return np.array([[len(layer) for layer in language] for language in self.neurons], dtype=np.int64)

    def flat(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return all memberships as two int64 arrays of the same length.

        Returns:
            The flat index (layer * intermediate_size + neuron), ascending for each language, and the language's place.
        """
        indices, lengths = join(self.neurons)
        starts = np.tile(np.arange(self.num_layers) * self.intermediate_size, len(self.languages))
        flat = indices + np.repeat(starts, lengths.ravel())
        return flat, np.repeat(np.arange(len(self.languages)), lengths.sum(axis=1))

    def jaccard(self) -> npt.NDArray[np.float64]:
        """Return how much the languages share: neurons that both have / neurons that either has.

        Returns:
            (num_languages, num_languages) float64, symmetric, in [0, 1]; 0 where neither has neurons.
        """
        flat, languages = self.flat()
        distinct, rows = np.unique(flat, return_inverse=True)
        # float32 multiplies fast, and counts exactly up to 16 million neurons.
        belongs = np.zeros((len(distinct), len(self.languages)), dtype=np.float32)
        belongs[rows, languages] = 1
        shared = (belongs.T @ belongs).astype(np.float64)
        sizes = np.diag(shared)
        either = sizes[:, None] + sizes - shared
        return np.divide(shared, either, out=np.zeros_like(shared), where=either > 0)

    def random_control(self, language: str, *, seed: int, layer_matched: bool = False) -> Self:
        """Return as many random neurons as `language` has, under its name, as a control for training.

        Args:
            language: whose number of neurons is taken.
            seed: the same seed gives the same neurons.
            layer_matched: draw in each layer as many as the language has there, never one of its own; otherwise
                uniformly from the whole FFN, its own included (as published).

        Raises:
            UserError: the language is not in the set, or a layer has too few other neurons.
        """
        own = self.of(language)
        draw = draw_layer_matched if layer_matched else draw_anywhere
        drawn = draw(own, self.intermediate_size, np.random.default_rng(seed))
        return type(self)(
            languages=(language,),
            neurons=(drawn,),
            num_layers=self.num_layers,
            intermediate_size=self.intermediate_size,
            model_fingerprint=self.model_fingerprint,
            model_name=self.model_name,
            counts_fingerprint=self.counts_fingerprint,
            rule={"name": "random", "seed": seed, "layer_matched": layer_matched},
        )

    def check_model(
        self, num_layers: int, intermediate_size: int, fingerprint: str | None, *, insist: bool = False
    ) -> tuple[str, ...]:
        """Make sure that the set belongs to a model.

        Args:
            num_layers: of the model.
            intermediate_size: of the model.
            fingerprint: of the model; None where it is not known.
            insist: use the set although it was made with another model of the same size.

        Returns:
            What the user should know although the set can be used.

        Raises:
            UserError: the sizes differ, or the fingerprints differ and nobody insists.
        """
        if (num_layers, intermediate_size) != (self.num_layers, self.intermediate_size):
            raise UserError(
                f"The neuron set is for {self._model}, {self.num_layers} layers of {self.intermediate_size} neurons, "
                f"this model has {num_layers} of {intermediate_size}. Choose the neuron set of this model."
            )
        if self.model_fingerprint is None or fingerprint is None:
            return ("It cannot be checked that the neuron set was made with this model: only the sizes agree.",)
        if self.model_fingerprint == fingerprint:
            return ()
        if insist:
            return (f"The neuron set was made with {self._model}, another model of the same size; used as you insist.",)
        raise UserError(
            f"The neuron set was made with {self._model}, another model of the same size. Identify the neurons of this "
            "model, or insist on using these."
        )

    @property
    def _model(self) -> str:
        return self.model_name or "a model without a name"

    def description(self) -> dict[str, Any]:
        """Return the JSON form without the neurons."""
        return {
            "format": FORM,
            "languages": list(self.languages),
            "num_layers": self.num_layers,
            "intermediate_size": self.intermediate_size,
            "model_name": self.model_name,
            "model_fingerprint": self.model_fingerprint,
            "counts_fingerprint": self.counts_fingerprint,
            "rule": dict(self.rule),
        }

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        neurons = {
            language: [layer.tolist() for layer in layers]
            for language, layers in zip(self.languages, self.neurons, strict=True)
        }
        return {**self.description(), "neurons": neurons}


class _Description(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    format: Literal["lapestudio.neurons.1"] = "lapestudio.neurons.1"
    languages: list[str] = Field(min_length=1)
    num_layers: int = Field(ge=1)
    intermediate_size: int = Field(ge=1)
    model_name: str = ""
    model_fingerprint: str | None = None
    counts_fingerprint: str | None = None
    rule: dict[str, RuleValue] = Field(default_factory=dict)


class _Document(_Description):
    neurons: dict[str, list[list[int]]]


def save_neuron_set(neurons: NeuronSet, path: Path) -> None:
    """Write a set to `path` in one step, in the form that its suffix names: .safetensors, .json or .csv.

    Raises:
        UserError: another suffix, or the file cannot be written; what was there is untouched.
    """
    path = Path(path)
    match path.suffix.lower():
        case ".safetensors":
            indices, lengths = join(neurons.neurons)
            metadata = {"description": json.dumps(neurons.description(), ensure_ascii=False)}
            write_tensor_file(path, {"indices": indices, "lengths": lengths}, form=FORM, metadata=metadata)
        case ".json":
            _write_text(path, _json_text(neurons))
        case ".csv":
            _write_text(path, _csv_text(neurons))
        case _:
            raise UserError(f"{path} does not end in .safetensors, .json or .csv: choose one of these forms.")


def load_neuron_set(path: Path) -> NeuronSet:
    """Read a set from .safetensors or .json.

    Raises:
        UserError: the file is missing, damaged or of another kind; the message names it.
    """
    path = Path(path)
    check_is_file(path)
    try:
        match path.suffix.lower():
            case ".safetensors":
                return _from_safetensors(path)
            case ".json":
                document = _Document.model_validate_json(path.read_bytes())
                _check_names(document)
                lists = tuple(
                    tuple(np.array(layer, dtype=np.int64) for layer in document.neurons[language])
                    for language in document.languages
                )
                return NeuronSet(neurons=lists, **_fields(document))
            case _:
                raise UserError(
                    f"{path} is neither .safetensors nor .json. A published mask (a pickle) has to be imported with "
                    "the names of its languages; a CSV table cannot be read back."
                )
    except ValidationError as error:
        raise damaged(path, _WHAT, first_problem(error).rstrip(".")) from error
    except (ValueError, OverflowError, OSError) as error:
        raise damaged(path, _WHAT, str(error)) from error


def _from_safetensors(path: Path) -> NeuronSet:
    tensors, metadata = read_tensor_file(path, form=FORM, what=_WHAT, names=("indices", "lengths"))
    description = _Description.model_validate_json(metadata.get("description", ""))
    if {array.dtype for array in tensors.values()} != {np.dtype(np.int64)}:
        raise ValueError("its indices or lengths are no 64-bit whole numbers")
    indices, lengths = (tensors[name].astype(np.int64, copy=False) for name in ("indices", "lengths"))
    if lengths.shape != (len(description.languages), description.num_layers) or lengths.min() < 0:
        raise ValueError("its lengths do not fit its languages and layers")
    if indices.shape != (lengths.sum(),):
        raise ValueError("its indices do not fit its lengths")
    return NeuronSet(neurons=split_by_length(indices, lengths), **_fields(description))


def _fields(description: _Description) -> dict[str, Any]:
    fields = description.model_dump(exclude={"format", "neurons"})
    return {**fields, "languages": tuple(description.languages)}


def _check_names(document: _Document) -> None:
    if set(document.languages) != set(document.neurons):
        raise ValueError("the languages named in `languages` and in `neurons` are not the same")


def _write_text(path: Path, text: str) -> None:
    try:
        write_text_atomically(path, text)
    except OSError as error:
        raise cannot_write(path, error) from error


def _json_text(neurons: NeuronSet) -> str:
    """One line a language: a table of two million numbers can still be looked at, and compared line by line."""
    document = neurons.document()
    languages = document.pop("neurons")
    lines = (f"  {json.dumps(tag, ensure_ascii=False)}: {json.dumps(layers)}" for tag, layers in languages.items())
    head = json.dumps(document, ensure_ascii=False, indent=1).removesuffix("\n}")
    return head + ',\n "neurons": {\n' + ",\n".join(lines) + "\n }\n}\n"


def _csv_text(neurons: NeuronSet) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["language", "layer", "neuron"])
    for language, layers in zip(neurons.languages, neurons.neurons, strict=True):
        for layer, indices in enumerate(layers):
            writer.writerows((language, layer, index) for index in indices.tolist())
    return text.getvalue()
