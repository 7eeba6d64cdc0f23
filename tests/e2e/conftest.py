"""The real window, whose jobs the real engine runs."""

import os

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    """Jobs leave some of the machine to the window and to other tests."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
