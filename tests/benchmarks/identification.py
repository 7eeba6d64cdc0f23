"""Counting activations against the usual way (whole model with hooks) and against the bare body without hooks.

All of them run one model on the same kernels, those that jobs use on this processor.
"""

import tempfile
from pathlib import Path

import torch

from lapestudio.engine.activation import count_activations
from lapestudio.engine.fast_linear import speed_up
from lapestudio.engine.ffn_layout import activation_of, layout_for
from lapestudio.engine.loading import load_model
from tests.benchmarks.measuring import Report, seconds_by_turns
from tests.benchmarks.models import BLOCK_SIZE, gemma, smollm2
from tests.engine.block_files import write_blocks

_BATCH = 4


def benchmark(rounds: int = 7) -> list[Report]:
    """Measure both models at 4 x 512 tokens."""
    return [
        _benchmark("SmolLM2-135M", smollm2(), rounds, hooks_target=1.4, body_target=0.97),
        _benchmark("Gemma-3-270M", gemma(), rounds, hooks_target=None, body_target=None),
    ]


def _benchmark(
    name: str, folder: Path, rounds: int, *, hooks_target: float | None, body_target: float | None
) -> Report:
    model = load_model(str(folder), dtype="float32", device="cpu")
    speed_up(model)
    layout = layout_for(model)
    ids = torch.randint(100, 40_000, (_BATCH, BLOCK_SIZE), generator=torch.Generator().manual_seed(1))
    with tempfile.TemporaryDirectory() as temporary:
        blocks = write_blocks(Path(temporary) / "blocks", list(ids), block_size=BLOCK_SIZE)

        def ours() -> None:
            count_activations(model, layout, {"x": blocks}, on_counts=lambda *_: None, batch_size=_BATCH)

        def hooks() -> None:
            counts = [torch.zeros(layout.intermediate_size, dtype=torch.int64) for _layer in layout.layers]

            def hook_of(index: int):
                return lambda _module, _inputs, output: counts[index].add_((output > 0).sum(dim=(0, 1)))

            handles = [
                activation_of(model, layer).register_forward_hook(hook_of(layer.index)) for layer in layout.layers
            ]
            with torch.inference_mode():
                model(ids, use_cache=False)
            for handle in handles:
                handle.remove()

        def body() -> None:
            with torch.inference_mode():
                model.base_model(ids, use_cache=False)

        seconds = seconds_by_turns({"ours": ours, "whole model with hooks": hooks, "bare body": body}, rounds=rounds)
    report = Report(name=f"Identification, {name}, {_BATCH} x {BLOCK_SIZE} tokens")
    report.figures = {f"{what}, tokens/s": _BATCH * BLOCK_SIZE / time for what, time in seconds.items()}
    against_hooks, against_body = (seconds[what] / seconds["ours"] for what in ("whole model with hooks", "bare body"))
    if hooks_target is None or body_target is None:
        report.figures |= {"times hooks": against_hooks, "times bare body": against_body}
    else:
        report.target("throughput, times whole model with hooks", against_hooks, at_least=hooks_target)
        report.target("throughput, times bare body", against_body, at_least=body_target)
    return report
