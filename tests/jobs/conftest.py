"""Runs of a scripted worker, ended and checked for leftovers after each test."""

import sys
import time
from pathlib import Path

import psutil
import pytest

from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import TrainSpec
from lapestudio.jobs import processes, stopping
from lapestudio.jobs.starting import start

_SCRIPT = Path(__file__).with_name("scripted_worker.py")
_PATIENCE_S = 20


@pytest.fixture
def make_run(tmp_path):
    """Make run folders; at the end, nothing of their jobs may be left."""
    runs = []

    def make(name="run of Malti 日本"):
        spec = TrainSpec(model="m", neurons=tmp_path / "n.safetensors", language="mt", paths=(tmp_path / "a.txt",))
        runs.append(RunFolder.create(tmp_path / "runs" / name, spec))
        return runs[-1]

    yield make
    for run in runs:
        stopping.kill(run)
        wait_until(lambda run=run: not stopping.survivors(run) and is_reaped(run))


@pytest.fixture
def start_scripted(repository, monkeypatch):
    """Start the scripted worker on a run folder."""
    monkeypatch.setenv("PYTHONPATH", str(repository))

    def start_it(run, behaviour):
        return start(run, command=[sys.executable, str(_SCRIPT), str(run.path), behaviour])

    return start_it


def is_reaped(run):
    status = run.read_status()
    if status is None:
        return True
    processes.exit_code(status.pid)
    try:
        return psutil.Process(status.pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until(condition, patience_s=_PATIENCE_S):
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def poll_to_end(watcher, patience_s=_PATIENCE_S):
    events = []
    deadline = time.monotonic() + patience_s
    while not watcher.is_over:
        events += watcher.poll()
        assert time.monotonic() < deadline, f"no end; last events: {events[-3:]}"
        time.sleep(0.01)
    return events
