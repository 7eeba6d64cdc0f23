"""Looking at an export with fresh eyes: a process of its own opens what was written and compares.

In: the written folder, the base model, the trained rows, and the logits that the trained model gives. Out: a verdict.
`verify_export` starts `python -m lapestudio.engine.verify_export REQUEST.json`, so that nothing the exporter holds in
memory can stand in for what is on disk.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM, PreTrainedModel

from lapestudio.core.errors import UserError
from lapestudio.core.specs import ExportDtypeName
from lapestudio.engine.export import EXPORT_DTYPES
from lapestudio.engine.ffn_layout import layout_for
from lapestudio.engine.loading import empty_model, load_config, load_model, resolve_source, weight_files
from lapestudio.engine.merging import (
    DTYPES,
    StoredTensor,
    groups_by_tensor,
    read_tensor,
    stored_tensors,
)
from lapestudio.engine.split_ffn import split_model
from lapestudio.engine.trained_rows import RowGroup, TrainedRows

# Two correct float32 runs of the same weights, one split and one dense, differ by rounding only.
_TOLERANCE = 1e-4
_LOOK_EVERY_S = 0.2
_SAMPLE_BLOCKS = 2
_SAMPLE_TOKENS = 96
_SAMPLE_SEED = 7


class Verification(BaseModel):
    """The verdict.

    Args:
        verified: whether the export is what it should be.
        problem: the first difference, in one sentence.
        num_tensors: compared with the base model.
        num_changed_tensors: those that hold trained rows.
        max_logit_difference: between the export and the trained model.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    verified: bool
    problem: str = ""
    num_tensors: int = 0
    num_changed_tensors: int = 0
    max_logit_difference: float = 0.0


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    out: Path
    base: str
    rows: Path
    reference: Path
    dtype: ExportDtypeName


class _DifferenceError(Exception):
    """The export is not what it should be; the text says where."""


def sample_ids(vocab_size: int) -> Tensor:
    """Return (2, 96) int64 ids to compare logits on: any ids show a wrong weight, and these need no text."""
    generator = torch.Generator().manual_seed(_SAMPLE_SEED)
    return torch.randint(0, vocab_size, (_SAMPLE_BLOCKS, _SAMPLE_TOKENS), generator=generator)


def trained_logits(base: str, rows: TrainedRows, ids: Tensor, dtype: ExportDtypeName) -> Tensor:
    """Return the logits of the trained model, its weights rounded to the number format of the export.

    The model is split as while training, so that nothing is shared with the way in which the export puts the rows
    into the full matrices. Only weights are rounded: converting the whole model would also round constants that it
    computes when it is loaded (rotary frequencies, Gemma's embedding scale), which no export holds.

    Args:
        base: the base model.
        rows: trained in it.
        ids: (batch_size, seq_len) int64.
        dtype: as asked for the export.

    Returns:
        (batch_size, seq_len, vocab_size) float32, on the CPU.
    """
    model = load_model(base, dtype="float32", device="cpu")
    target = EXPORT_DTYPES[dtype]
    if target is not None:
        for parameter in model.parameters():
            parameter.data = _rounded(parameter.data, target)
        rows = _rounded_rows(rows, [target] * len(rows.groups))
    elif resolve_source(base).form != "gguf":  # the weights of a GGUF file are written in float32, as they are
        stored = _BaseTensors(base, rows)
        rows = _rounded_rows(rows, [stored.dtype_of(group.place.parameter) for group in rows.groups])
    layout = layout_for(model)
    split_model(model, layout, _neurons(rows, len(layout.layers))).load_rows(rows)
    return logits_of(model, ids)


def _rounded(values: Tensor, dtype: torch.dtype) -> Tensor:
    return values.to(dtype).to(values.dtype)


def _rounded_rows(rows: TrainedRows, dtypes: Sequence[torch.dtype]) -> TrainedRows:
    """Return the rows with each group's values rounded to its number format."""
    groups = zip(rows.groups, dtypes, strict=True)
    return replace(rows, groups=tuple(replace(group, values=_rounded(group.values, dtype)) for group, dtype in groups))


def _neurons(rows: TrainedRows, num_layers: int) -> list[NDArray[np.int64]]:
    """Return the trained neurons by layer."""
    by_layer: dict[int, NDArray[np.int64]] = {group.place.layer: group.neurons.numpy() for group in rows.groups}
    return [by_layer.get(layer, np.empty(0, dtype=np.int64)) for layer in range(num_layers)]


@torch.inference_mode()
def logits_of(model: PreTrainedModel, ids: Tensor) -> Tensor:
    """Return (batch_size, seq_len, vocab_size) float32."""
    logits: Tensor = model(input_ids=ids, use_cache=False).logits
    return logits.float()


def verify_export(
    out: Path,
    base: str,
    rows_file: Path,
    *,
    ids: Tensor,
    logits: Tensor,
    dtype: ExportDtypeName,
    should_stop: Callable[[], bool] = lambda: False,
) -> Verification | None:
    """Let a fresh process compare an export with the base model and the trained one; None when it was stopped.

    Args:
        out: the written folder.
        base: the base model.
        rows_file: the trained rows.
        ids: (batch_size, seq_len) int64.
        logits: what the trained model gives for them, see `trained_logits`.
        dtype: as asked for the export.
        should_stop: asked several times a second.
    """
    with tempfile.TemporaryDirectory() as name:
        reference, request = Path(name) / "reference.safetensors", Path(name) / "request.json"
        save_file({"ids": ids, "logits": logits.contiguous()}, reference)
        document = _Request(out=out, base=base, rows=rows_file, reference=reference, dtype=dtype)
        request.write_text(document.model_dump_json(), encoding="utf-8")
        return _answer(request, should_stop)


def _answer(request: Path, should_stop: Callable[[], bool]) -> Verification | None:
    # -P: a file named like a library in the current folder must not be imported.
    command = [sys.executable, "-P", "-m", "lapestudio.engine.verify_export", str(request)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        # No time limit: a large model takes as long as it takes.
        while True:
            try:
                answer, _nothing = process.communicate(timeout=_LOOK_EVERY_S)
                break
            except subprocess.TimeoutExpired:
                if should_stop():
                    process.kill()
                    return None
    if process.returncode:
        return Verification(verified=False, problem="the process that looks at the export failed, see the run's log")
    return Verification.model_validate_json(answer)


class _BaseTensors:
    """The base model's tensors by the names that the export gives them, one at a time."""

    def __init__(self, base: str, rows: TrainedRows) -> None:
        where = resolve_source(base)
        self._stored: dict[str, tuple[Path, StoredTensor]] = {}
        self._loaded: dict[str, Tensor] = {}
        self.tied: set[str] = set()
        if where.form == "gguf":
            state = load_model(base, dtype="float32", device="cpu").state_dict()
            first_name: dict[int, str] = {}
            for name, tensor in state.items():
                if first_name.setdefault(tensor.data_ptr(), name) == name:
                    self._loaded[name] = tensor
                else:
                    self.tied.add(name)
            self.groups: Mapping[str, tuple[RowGroup, ...]] = {
                name: tuple(group for group in rows.groups if group.place.parameter == name)
                for name in {group.place.parameter for group in rows.groups}
            }
            return
        files = weight_files(where.path)
        self._stored = {tensor.name: (path, tensor) for path in files for tensor in stored_tensors(path)}
        self.groups = groups_by_tensor(files, rows, empty_model(load_config(where)).base_model_prefix)

    @property
    def names(self) -> set[str]:
        return set(self._loaded) | set(self._stored)

    def dtype_of(self, parameter: str) -> torch.dtype:
        """Return the number format of a trained parameter of a model in a folder, told by its name in the model."""
        for name, groups in self.groups.items():
            if any(group.place.parameter == parameter for group in groups):
                return DTYPES[self._stored[name][1].dtype]
        raise KeyError(parameter)

    def read(self, name: str) -> Tensor:
        if name in self._loaded:
            return self._loaded[name]
        path, tensor = self._stored[name]
        with path.open("rb") as file:
            return read_tensor(file, tensor)


def _compare_tensors(request: _Request, rows: TrainedRows) -> tuple[int, int]:
    """Return how many tensors were compared, and how many of them hold trained rows."""
    base = _BaseTensors(request.base, rows)
    written = {tensor.name: (path, tensor) for path in weight_files(request.out) for tensor in stored_tensors(path)}
    if missing := sorted(base.names - set(written)):
        raise _DifferenceError(f"the tensor {missing[0]} is missing")
    if added := sorted(set(written) - base.names - base.tied):
        raise _DifferenceError(f"the tensor {added[0]} is not in the base model")
    target = EXPORT_DTYPES[request.dtype]
    for name in sorted(base.names):
        path, tensor = written[name]
        with path.open("rb") as file:
            found = read_tensor(file, tensor)
        expected = base.read(name)
        if target is not None and expected.is_floating_point():
            expected = expected.to(target)
        _compare_tensor(name, found, expected, base.groups.get(name, ()))
    return len(base.names), len(base.groups)


def _compare_tensor(name: str, found: Tensor, expected: Tensor, groups: tuple[RowGroup, ...]) -> None:
    """Compare everything outside the trained rows with the base, byte by byte, and the rows with what was trained."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        raise _DifferenceError(f"{name} has another shape or number format than in the base model")
    difference = _DifferenceError(f"{name} differs from the base model in weights that were not trained")
    if not groups:
        if not torch.equal(_bytes(found), _bytes(expected)):
            raise difference
        return
    is_frozen = torch.ones(found.shape, dtype=torch.bool)
    for group in groups:
        index = group.neurons + group.place.start
        rows = found.movedim(group.place.axis, 0)[index]
        if not torch.equal(rows, group.values.to(found.dtype)):
            raise _DifferenceError(f"{name} does not hold the trained rows")
        is_frozen.movedim(group.place.axis, 0)[index] = False
    elements = is_frozen.reshape(-1)
    if not torch.equal(_bytes(found)[elements], _bytes(expected)[elements]):
        raise difference


def _bytes(tensor: Tensor) -> Tensor:
    """Return (num_elements, bytes an element) uint8."""
    return tensor.contiguous().view(-1).view(torch.uint8).view(-1, tensor.element_size())


def _compare_logits(request: _Request) -> float:
    """Return the largest difference between the export's logits and the trained model's."""
    model: PreTrainedModel
    found: dict[str, set[str]]
    # With loading information the result is a pair, which the stubs do not know.
    model, found = AutoModelForCausalLM.from_pretrained(  # type: ignore[misc]
        str(request.out), dtype=torch.float32, trust_remote_code=False, use_safetensors=True, output_loading_info=True
    )
    for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if found[problem]:
            raise _DifferenceError(f"it loads with {problem.replace('_', ' ')}: {sorted(map(str, found[problem]))[0]}")
    reference = load_file(request.reference)
    difference = float((logits_of(model, reference["ids"]) - reference["logits"]).abs().max())
    if not difference <= _TOLERANCE * max(1.0, float(reference["logits"].abs().max())):
        raise _DifferenceError(f"its logits differ from the trained model's by up to {difference:.3g}")
    return difference


def _verify(request: _Request) -> Verification:
    rows = TrainedRows.load(request.rows)
    try:
        num_tensors, num_changed = _compare_tensors(request, rows)
        difference = _compare_logits(request)
    except (_DifferenceError, UserError) as error:
        return Verification(verified=False, problem=str(error))
    return Verification(
        verified=True, num_tensors=num_tensors, num_changed_tensors=num_changed, max_logit_difference=difference
    )


@contextmanager
def _clean_output() -> Iterator[list[str]]:
    """Keep standard output for what is put into the list; libraries print there too."""
    out = sys.stdout
    sys.stdout = sys.stderr
    lines: list[str] = []
    yield lines
    sys.stdout = out
    sys.stdout.write("".join(lines))


def main() -> None:
    """Answer a request."""
    request = _Request.model_validate(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    with _clean_output() as lines:
        lines.append(_verify(request).model_dump_json())


if __name__ == "__main__":
    main()
