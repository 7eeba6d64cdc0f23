"""A training in a process of its own, which kills itself at a given moment: FOLDER event|fsync|never NUMBER."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from lapestudio.core.events import Event
from lapestudio.engine.ffn_layout import layout_for
from lapestudio.engine.frozen_head import LanguageModelLoss
from lapestudio.engine.split_ffn import split_model
from lapestudio.engine.training import train
from tests.engine.test_training import ListedBlocks
from tests.engine.tiny_models import tiny_model


def countdown(number: int) -> Callable[[], None]:
    remaining = number

    def count() -> None:
        nonlocal remaining
        remaining -= 1
        if remaining == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return count


def main(folder: Path, kind: str, number: int) -> None:
    at_event, at_fsync = (countdown(number if kind == name else 0) for name in ("event", "fsync"))
    fsync = os.fsync

    def counted_fsync(descriptor: int) -> None:
        at_fsync()
        fsync(descriptor)

    os.fsync = counted_fsync  # type: ignore[assignment]
    model = tiny_model("llama")
    neurons = [np.array(layer, dtype=np.int64) for layer in ((), (1, 5, 9), (0, 2, 40, 47))]
    subnetwork = split_model(model, layout_for(model), neurons, language="mt")
    if not folder.exists():
        (folder / "base").mkdir(parents=True)
        subnetwork.save_weights(folder / "base")
    generator = torch.Generator().manual_seed(3)
    blocks = ListedBlocks(torch.randint(3, 101, (length,), generator=generator) for length in [16] * 9 + [5])
    loss = LanguageModelLoss(model)

    def emit(_event: Event) -> None:
        at_event()

    train(
        method=subnetwork,
        loss=loss,
        blocks=blocks,
        validate=lambda: {"validation_loss": float(loss(blocks[0][None]).mean())},
        emit=emit,
        should_stop=lambda: False,
        checkpoints=folder,
        resume=(folder / "last").exists() or (folder / "last.previous").exists(),
        learning_rate=1e-2,
        schedule="cosine",
        warmup_share=0.1,
        weight_decay=0.01,
        gradient_clip=1.0,
        batch_size=2,
        accumulation=2,
        max_steps=12,
        max_tokens=None,
        epochs=1.0,
        validate_every=3,
        seed=1,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
