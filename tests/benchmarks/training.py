"""A training step of the subnetwork against the floor (input gradients only), the published way, LoRA and the rest.

Every competitor computes the same loss on the same 2 x 512 tokens, forward, backward and optimiser step, its frozen
layers on the kernels that jobs use on this processor. The floor is
a frozen dense model whose backward pass forms gradients of its inputs alone, down to the lowest trained layer.
"""

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel

from lapestudio.engine.fast_linear import speed_up
from lapestudio.engine.ffn_layout import FfnLayout, layout_for
from lapestudio.engine.frozen_head import LanguageModelLoss
from lapestudio.engine.loading import load_model
from lapestudio.engine.split_ffn import split_model
from tests.benchmarks.measuring import PeakMemory, Report, seconds_by_turns
from tests.benchmarks.models import BLOCK_SIZE, gemma, late_neurons, smollm2

_BATCH = 2
Step = Callable[[], float]


def benchmark(rounds: int = 5) -> list[Report]:
    """Measure step times on SmolLM2."""
    base = load_model(str(smollm2()), dtype="float32", device="cpu")
    layout = layout_for(base)
    neurons = late_neurons(layout.num_layers, layout.intermediate_size)
    ids = torch.randint(100, 40_000, (_BATCH, BLOCK_SIZE), generator=torch.Generator().manual_seed(1))
    makers: dict[str, Callable[[PreTrainedModel], Step]] = {
        "subnetwork": lambda model: subnetwork_step(model, neurons, ids),
        "input gradients only": lambda model: floor_step(model, layout, neurons, ids),
        "cloned matrices": lambda model: cloned_step(model, layout, neurons, ids),
        "LoRA r=8": lambda model: lora_step(model, ids),
        "full fine-tuning": lambda model: full_step(model, ids),
    }
    steps = {name: make(_fast_copy(base)) for name, make in makers.items()}
    seconds = seconds_by_turns(steps, rounds=rounds)
    report = Report(name=f"Training step, SmolLM2-135M, {_BATCH} x {BLOCK_SIZE} tokens")
    trained = sum(3 * base.config.hidden_size * len(layer) for layer in neurons)
    report.figures = {f"{name}, s": time for name, time in seconds.items()} | {
        "trained weights": trained,
        "share of the model": trained / base.num_parameters(),
    }
    ours = seconds["subnetwork"]
    report.target("time, times the floor", ours / seconds["input gradients only"], at_most=1.05)
    report.target("speed, times cloned matrices", seconds["cloned matrices"] / ours, at_least=1.2)
    report.target("speed, times LoRA r=8", seconds["LoRA r=8"] / ours, at_least=1.2)
    report.figures["speed, times full fine-tuning"] = seconds["full fine-tuning"] / ours
    return [report]


def _fast_copy(model: PreTrainedModel) -> PreTrainedModel:
    copied = copy.deepcopy(model)
    speed_up(copied)
    return copied


def subnetwork_step(model: PreTrainedModel, neurons: list[NDArray[np.int64]], ids: Tensor) -> Step:
    """Split FFN and frozen head: what the program does."""
    subnetwork = split_model(model, layout_for(model), neurons)
    loss = LanguageModelLoss(model)
    return _step(lambda: loss(ids).mean(), subnetwork.parameters())


def floor_step(model: PreTrainedModel, layout: FfnLayout, neurons: list[NDArray[np.int64]], ids: Tensor) -> Step:
    """Frozen dense model; the input of the lowest trained layer's MLP wants a gradient, nothing else does."""
    loss = LanguageModelLoss(model)
    lowest = next(index for index, layer in enumerate(neurons) if len(layer))

    def want_gradient(_module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (inputs[0].detach().requires_grad_(), *inputs[1:])

    model.get_submodule(layout.layers[lowest].mlp_module).register_forward_pre_hook(want_gradient)
    return _step(lambda: loss(ids).mean(), [])


class _ClonedMlp(nn.Module):
    """The published way: full matrices are cloned at each forward, the trained rows written into the clones."""

    def __init__(self, mlp: Any, neurons: NDArray[np.int64]) -> None:
        super().__init__()
        self.mlp = mlp
        self.index = torch.from_numpy(neurons)
        self.gate = nn.Parameter(mlp.gate_proj.weight[self.index].clone())
        self.up = nn.Parameter(mlp.up_proj.weight[self.index].clone())
        self.down = nn.Parameter(mlp.down_proj.weight[:, self.index].clone())

    def forward(self, hidden: Tensor) -> Tensor:
        gate, up, down = (getattr(self.mlp, name).weight.clone() for name in ("gate_proj", "up_proj", "down_proj"))
        gate[self.index] = self.gate
        up[self.index] = self.up
        down[:, self.index] = self.down
        inner = self.mlp.act_fn(functional.linear(hidden, gate)) * functional.linear(hidden, up)
        return functional.linear(inner, down)


def cloned_step(model: PreTrainedModel, layout: FfnLayout, neurons: list[NDArray[np.int64]], ids: Tensor) -> Step:
    """Cloned matrices and the usual loss."""
    trained: list[nn.Parameter] = []
    for layer, chosen in zip(layout.layers, neurons, strict=True):
        if len(chosen):
            cloned = _ClonedMlp(model.get_submodule(layer.mlp_module), chosen)
            model.set_submodule(layer.mlp_module, cloned)
            trained += [cloned.gate, cloned.up, cloned.down]
    return _step(lambda: model(input_ids=ids, labels=ids, use_cache=False).loss, trained)


def lora_step(model: PreTrainedModel, ids: Tensor) -> Step:
    """PEFT LoRA on gate, up and down, and the usual loss."""
    adapted = get_peft_model(model, LoraConfig(r=8, target_modules=["gate_proj", "up_proj", "down_proj"]))
    trained = [parameter for parameter in adapted.parameters() if parameter.requires_grad]
    return _step(lambda: adapted(input_ids=ids, labels=ids, use_cache=False).loss, trained)


def full_step(model: PreTrainedModel, ids: Tensor) -> Step:
    """Everything is trained, with the usual loss."""
    model.requires_grad_(requires_grad=True)
    return _step(lambda: model(input_ids=ids, labels=ids, use_cache=False).loss, list(model.parameters()))


def _step(loss: Callable[[], Tensor], parameters: list[nn.Parameter]) -> Step:
    optimizer = torch.optim.AdamW(parameters, lr=1e-5) if parameters else None

    def step() -> float:
        value = loss()
        value.backward()
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad()
        return float(value.detach())

    return step


def memory_benchmark(rounds: int = 3) -> list[Report]:
    """Measure step time and peak memory on Gemma, the subnetwork with the frozen head and with the usual loss.

    Peaks are of processes of their own, so that none inherits another's.
    """
    found = {
        way: json.loads(
            subprocess.run(
                [sys.executable, "-m", "tests.benchmarks.training", way, str(gemma()), str(rounds)],
                check=True,
                stdout=subprocess.PIPE,
            ).stdout.splitlines()[-1]
        )
        for way in ("frozen head", "usual loss")
    }
    report = Report(name=f"Memory, Gemma-3-270M, {_BATCH} x {BLOCK_SIZE} tokens, subnetwork")
    for way, figures in found.items():
        report.figures |= {f"{way}, {what}": value for what, value in figures.items()}
    ours, usual = found["frozen head"], found["usual loss"]
    report.figures["peak over the loaded model, ratio"] = (ours["peak, MB"] - ours["loaded, MB"]) / (
        usual["peak, MB"] - usual["loaded, MB"]
    )
    report.figures["step time, ratio"] = ours["step, s"] / usual["step, s"]
    report.target("peak memory, times the usual loss's", ours["peak, MB"] / usual["peak, MB"], at_most=0.6)
    return [report]


def _measure_memory(way: str, folder: Path, rounds: int) -> dict[str, float]:
    model = load_model(str(folder), dtype="float32", device="cpu")
    speed_up(model)
    layout = layout_for(model)
    neurons = late_neurons(layout.num_layers, layout.intermediate_size)
    ids = torch.randint(100, 200_000, (_BATCH, BLOCK_SIZE), generator=torch.Generator().manual_seed(1))
    if way == "frozen head":
        step = subnetwork_step(model, neurons, ids)
    else:
        subnetwork = split_model(model, layout, neurons)
        step = _step(lambda: model(input_ids=ids, labels=ids, use_cache=False).loss, subnetwork.parameters())
    with PeakMemory() as memory:
        seconds = seconds_by_turns({"step": step}, rounds=rounds)["step"]
    return {"loaded, MB": memory.start / 1e6, "peak, MB": memory.peak / 1e6, "step, s": seconds}


if __name__ == "__main__":
    torch.set_num_threads(2)
    print(json.dumps(_measure_memory(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
