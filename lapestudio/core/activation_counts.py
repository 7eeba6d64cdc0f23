"""Activation counts: on how many tokens of each language each neuron was active; how they are stored and followed.

In: what the engine counts. Out: `counts.safetensors` for the selection, and, while counting runs, a memory-mapped file
from which the window fills its heatmap (`PartialCounts`).

File form (safetensors): `over_zero` int64 [num_layers, intermediate_size, num_languages], `tokens` int64
[num_languages]; metadata `format`, `languages` (JSON list), `model_name`, `model_fingerprint`, `corpus_fingerprints`
(JSON object), `fingerprint`. Read as well: .npz with the arrays `over_zero`, `tokens`, `languages`.
"""

import hashlib
import json
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from lapestudio.core.errors import UserError
from lapestudio.core.partial_file import IncompleteFileError, PartialFile, PartialHeader
from lapestudio.core.tensor_file import check_is_file, damaged, read_tensor_file, write_tensor_file

FORM = "lapestudio.counts.1"
_WHAT = "activation counts"
_NUM_AXES = 3
# 80 layers x 28,672 neurons x 200 languages in int64 take 3.7 GB.
_MAX_UNPACKED_BYTES = 16 * 2**30
# A change takes about a millisecond; together the looks wait ten.
_LOOKS = 20
_BETWEEN_LOOKS_S = 0.0005

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, eq=False)
class ActivationCounts:
    """What was counted, and on what.

    Args:
        over_zero: (num_layers, intermediate_size, num_languages) int, tokens on which the neuron was active; becomes
            int64.
        num_tokens: (num_languages,) int, counted tokens; becomes int64. Zero is allowed here (counting may have just
            begun), the selection refuses it.
        languages: BCP-47 tags in the order of the last axis.
        model_name: for people.
        model_fingerprint: empty where it is not known.
        corpus_fingerprints: by language.
        stored_fingerprint: as a file states it, so that it need not be computed again.

    Raises:
        ValueError: the shapes do not agree, a language is given twice, or the numbers are no counts.
    """

    over_zero: npt.NDArray[np.int64]
    num_tokens: npt.NDArray[np.int64]
    languages: tuple[str, ...]
    model_name: str = ""
    model_fingerprint: str = ""
    corpus_fingerprints: dict[str, str] = field(default_factory=dict)
    stored_fingerprint: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        for name in ("over_zero", "num_tokens"):
            array = np.asarray(getattr(self, name))
            if not np.issubdtype(array.dtype, np.integer):
                raise ValueError(f"{name} has the number format {array.dtype} instead of whole numbers")
            object.__setattr__(self, name, array.astype(np.int64, copy=False))
        object.__setattr__(self, "languages", tuple(self.languages))
        self._check()

    def _check(self) -> None:
        num_languages = len(self.languages)
        if self.over_zero.ndim != _NUM_AXES or self.over_zero.shape[2] != num_languages or 0 in self.over_zero.shape:
            raise ValueError(f"the counts have the shape {list(self.over_zero.shape)} for {num_languages} languages")
        if self.num_tokens.shape != (num_languages,):
            raise ValueError(f"there are {self.num_tokens.size} token numbers for {num_languages} languages")
        if len(set(self.languages)) != num_languages:
            raise ValueError("a language is given twice")
        if int(self.over_zero.min()) < 0 or (self.over_zero.max(axis=(0, 1)) > self.num_tokens).any():
            raise ValueError("a neuron is active on fewer than none or on more than all tokens")

    @property
    def num_layers(self) -> int:
        """Layers of the model."""
        return int(self.over_zero.shape[0])

    @property
    def intermediate_size(self) -> int:
        """Neurons of a layer."""
        return int(self.over_zero.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """Hash of counts, token numbers and languages: neuron sets say by it what they were selected from."""
        if self.stored_fingerprint:
            return self.stored_fingerprint
        digest = hashlib.sha256(json.dumps([self.over_zero.shape, self.languages]).encode("utf-8"))
        for array in (self.num_tokens, *self.over_zero):
            digest.update(np.ascontiguousarray(array, dtype="<i8").data)
        return digest.hexdigest()[:32]

    def probabilities_of(self, layer: int, neuron: int) -> npt.NDArray[np.float64]:
        """Return one neuron's (num_languages,) activation probabilities; NaN where no token was counted."""
        return shares(self.over_zero[layer, neuron], self.num_tokens)

    def save(self, path: Path) -> None:
        """Write the counts to `path` in one step.

        Raises:
            UserError: the file cannot be written.
        """
        metadata = {
            "languages": json.dumps(self.languages, ensure_ascii=False),
            "model_name": self.model_name,
            "model_fingerprint": self.model_fingerprint,
            "corpus_fingerprints": json.dumps(self.corpus_fingerprints, ensure_ascii=False),
            "fingerprint": self.fingerprint,
        }
        tensors = {"over_zero": self.over_zero, "tokens": self.num_tokens}
        write_tensor_file(Path(path), tensors, form=FORM, metadata=metadata)


def shares(part: npt.NDArray[np.int64], whole: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return part / whole element by element; NaN where `whole` is zero."""
    result: npt.NDArray[np.float64] = np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)
    return result


def load_counts(path: Path) -> ActivationCounts:
    """Read counts from .safetensors (what `save` wrote) or .npz.

    Raises:
        UserError: the file is missing, damaged or of another form; the message names it.
    """
    path = Path(path)
    check_is_file(path)
    match path.suffix.lower():
        case ".safetensors":
            fields = _from_safetensors(path)
        case ".npz":
            fields = _from_npz(path)
        case _:
            raise UserError(f"{path} is neither .safetensors nor .npz: activation counts are stored in these.")
    try:
        return ActivationCounts(**fields)
    except ValueError as error:
        raise damaged(path, _WHAT, str(error)) from error


def _from_safetensors(path: Path) -> dict[str, Any]:
    tensors, metadata = read_tensor_file(path, form=FORM, what=_WHAT, names=("over_zero", "tokens"))
    try:
        languages = json.loads(metadata["languages"])
        corpora = json.loads(metadata["corpus_fingerprints"])
    except (KeyError, ValueError) as error:
        raise damaged(path, _WHAT, f"its list of languages or corpora is missing or broken ({error})") from error
    if not isinstance(languages, list) or not isinstance(corpora, dict):
        raise damaged(path, _WHAT, "its list of languages or corpora is broken")
    return {
        "over_zero": tensors["over_zero"],
        "num_tokens": tensors["tokens"],
        "languages": tuple(str(language) for language in languages),
        "model_name": metadata.get("model_name", ""),
        "model_fingerprint": metadata.get("model_fingerprint", ""),
        "corpus_fingerprints": {str(language): str(value) for language, value in corpora.items()},
        "stored_fingerprint": metadata.get("fingerprint", ""),
    }


def _from_npz(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > _MAX_UNPACKED_BYTES:
                raise damaged(path, _WHAT, "it unpacks to more than 16 GiB")
        with np.load(path, allow_pickle=False) as arrays:
            over_zero, tokens, languages = (arrays[name] for name in ("over_zero", "tokens", "languages"))
    except KeyError as error:
        raise damaged(path, _WHAT, f"{error.args[0]}") from error
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise damaged(path, _WHAT, str(error)) from error
    return {"over_zero": over_zero, "num_tokens": tokens, "languages": tuple(str(name) for name in languages.ravel())}


class PartialCounts:
    """The counts of a job that is still counting, shared through a memory-mapped file.

    One process writes (`create`, `add`), any number read (`open`, `layer_activity`, `snapshot`); nobody waits for
    anybody. Each language has a version number that is odd while its counts are being changed: a reader that meets a
    change looks again, and after a few looks (a killed writer leaves an odd number for ever) takes what is there.

    Args:
        file: the open file; `close` closes it.
    """

    def __init__(self, file: PartialFile) -> None:
        self._file = file

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        languages: Sequence[str],
        num_layers: int,
        intermediate_size: int,
        model_name: str = "",
        model_fingerprint: str = "",
        corpus_fingerprints: Mapping[str, str] | None = None,
    ) -> Self:
        """Make the file with all counts zero and open it for writing; it appears under its name only when whole.

        Raises:
            UserError: the file cannot be written, or the disk has no room for it.
        """
        header = PartialHeader(
            languages=tuple(languages),
            num_layers=num_layers,
            intermediate_size=intermediate_size,
            model_name=model_name,
            model_fingerprint=model_fingerprint,
            corpus_fingerprints=dict(corpus_fingerprints or {}),
        )
        return cls(PartialFile.create(Path(path), header))

    @classmethod
    def open(cls, path: Path) -> Self | None:
        """Open the file for reading; nothing where it does not exist yet or is not whole yet.

        Raises:
            UserError: the file is something else.
        """
        try:
            return cls(PartialFile(Path(path), writable=False))
        except (FileNotFoundError, IncompleteFileError):
            return None

    def add(self, language: str, over_zero: npt.NDArray[np.integer], num_tokens: int) -> None:
        """Add what was counted on some more tokens of a language.

        Args:
            language: one of those given to `create`.
            over_zero: (num_layers, intermediate_size) int, tokens on which the neuron was active.
            num_tokens: counted tokens.
        """
        file, k = self._file, self.languages.index(language)
        file.versions[k] += 1
        file.counts[k] += over_zero
        file.layer_sums[k] += over_zero.sum(axis=1, dtype=np.int64)
        file.tokens[k] += num_tokens
        file.versions[k] += 1

    @property
    def languages(self) -> tuple[str, ...]:
        """In the order of the counts."""
        return self._file.header.languages

    @property
    def num_tokens(self) -> npt.NDArray[np.int64]:
        """(num_languages,) int64: tokens counted so far."""
        return self._file.tokens.copy()

    def layer_activity(self) -> npt.NDArray[np.float64]:
        """Return the mean activation probability of each layer and language so far, without touching the counts.

        Returns:
            (num_layers, num_languages) float64, in [0, 1]; NaN where no token was counted yet.
        """
        rows = [self._settled(k, self._layer_shares) for k in range(len(self.languages))]
        return np.minimum(np.stack(rows, axis=1), 1.0)

    def snapshot(self) -> ActivationCounts:
        """Return a copy of the counts so far; each language's counts and tokens belong together."""
        header = self._file.header
        # In the file's order, language by language: copying into the order of the axes takes several times as long.
        over_zero = np.empty(self._file.counts.shape, dtype=np.int64)
        num_tokens = np.zeros(len(header.languages), dtype=np.int64)

        def copy(k: int) -> None:
            over_zero[k] = self._file.counts[k]
            # A killed writer leaves counts that are ahead of their tokens.
            num_tokens[k] = max(int(self._file.tokens[k]), int(over_zero[k].max()))

        for k in range(len(header.languages)):
            self._settled(k, copy)
        return ActivationCounts(
            over_zero=over_zero.transpose(1, 2, 0),
            num_tokens=num_tokens,
            languages=header.languages,
            model_name=header.model_name,
            model_fingerprint=header.model_fingerprint,
            corpus_fingerprints=header.corpus_fingerprints,
        )

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _layer_shares(self, k: int) -> npt.NDArray[np.float64]:
        sums = self._file.layer_sums[k].copy()
        return shares(sums, np.full_like(sums, self._file.tokens[k] * self._file.header.intermediate_size))

    def _settled(self, k: int, read: Callable[[int], _T]) -> _T:
        """Return what `read` gives for language `k` while nobody writes it, or else the last try."""
        for _ in range(_LOOKS):
            version = int(self._file.versions[k])
            value = read(k)
            if version % 2 == 0 and version == int(self._file.versions[k]):
                break
            time.sleep(_BETWEEN_LOOKS_S)
        return value
