"""How much memory identifying and training will take, part by part, before anything is loaded.

In: the sizes of a model. Out: estimates for the settings that the window begins with. They are meant to say whether it
fits, not to the megabyte.
"""

import torch

from lapestudio.core.model_report import MemoryEstimate
from lapestudio.engine.devices import device_reports, resolve_dtype

# Part of the free memory that a job may plan with; the system and the libraries need the rest.
_USABLE_SHARE = 0.9
_LIBRARIES_BYTES = 600_000_000
_IDENTIFICATION_TOKENS = 2048
_IDENTIFICATION_LANGUAGES = 12
_TRAINING_TOKENS = 1024
_TRAINED_SHARE_OF_FFN = 0.01
# A trained weight has a float32 master, a gradient and two moments.
_BYTES_A_TRAINED_WEIGHT = 16
_COUNT_BYTES = 8
# Tensors of hidden_size that a layer keeps for the backward pass: its input, two norms, query, key, value, attention.
_KEPT_HIDDEN = 9
_KEPT_INTERMEDIATE = 2
_HEAD_CHUNK_TOKENS = 512


def identification_estimate(
    *,
    num_layers: int,
    intermediate_size: int,
    hidden_size: int,
    vocab_size: int,
    num_parameters: int,
    num_ffn_parameters: int,  # noqa: ARG001 - the same arguments as for training
    device: torch.device,
    is_packed: bool,
) -> MemoryEstimate:
    """Estimate counting activations of twelve languages, 2,048 tokens at a time; `is_packed`: from a GGUF file."""
    width = resolve_dtype("auto", device).itemsize
    neurons = num_layers * intermediate_size
    return _estimate(
        {
            "activations": _IDENTIFICATION_TOKENS * (8 * hidden_size + 3 * intermediate_size) * width,
            "counts": neurons * _COUNT_BYTES * (_IDENTIFICATION_LANGUAGES + 2),
        },
        device,
        weights_bytes=num_parameters * width,
        unpacking_bytes=num_parameters * width + vocab_size * hidden_size * 4 if is_packed else 0,
    )


def training_estimate(
    *,
    num_layers: int,
    intermediate_size: int,
    hidden_size: int,
    vocab_size: int,
    num_parameters: int,
    num_ffn_parameters: int,
    device: torch.device,
    is_packed: bool,
) -> MemoryEstimate:
    """Estimate training one percent of the FFN weights, 1,024 tokens at a time; `is_packed`: from a GGUF file."""
    width = resolve_dtype("auto", device).itemsize
    kept = _KEPT_HIDDEN * hidden_size + _KEPT_INTERMEDIATE * intermediate_size
    return _estimate(
        {
            "trained weights, gradients and optimiser": int(num_ffn_parameters * _TRAINED_SHARE_OF_FFN)
            * _BYTES_A_TRAINED_WEIGHT,
            "activations": _TRAINING_TOKENS * num_layers * kept * width,
            "vocabulary head": 3 * _HEAD_CHUNK_TOKENS * vocab_size * 4,
        },
        device,
        weights_bytes=num_parameters * width,
        unpacking_bytes=num_parameters * width + vocab_size * hidden_size * 4 if is_packed else 0,
    )


def _estimate(
    stage: dict[str, int], device: torch.device, *, weights_bytes: int, unpacking_bytes: int
) -> MemoryEstimate:
    """Return weights, libraries and what the stage takes.

    A packed file's weights are unpacked beside the model's own, in the computer's memory: they are given back before
    the stage begins, so only what exceeds the stage's memory is added.
    """
    parts = {"weights": weights_bytes, **stage, "program and libraries": _LIBRARIES_BYTES}
    if device.type == "cpu" and unpacking_bytes > sum(stage.values()):
        parts["unpacking the file"] = unpacking_bytes - sum(stage.values())
    total = sum(parts.values())
    free = next(report.free_bytes for report in device_reports() if torch.device(report.name) == device)
    return MemoryEstimate(parts=parts, total_bytes=total, device=str(device), fits=total <= free * _USABLE_SHARE)
