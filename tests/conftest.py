"""Fixtures that every tier of the tests shares."""

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
