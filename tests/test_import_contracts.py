"""Who may import whom: the declared layers, and what is really imported when a module is loaded."""

import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import lapestudio

MODEL_LIBRARIES = ("torch", "transformers", "datasets", "accelerate", "peft")
WINDOW_LIBRARIES = ("PySide6", "shiboken6", "pyqtgraph")

# Seen by the interpreter itself, so that no way of importing (importlib, a library's own laziness) gets round it.
_IMPORT_WITH_BLOCKER = """
import importlib, sys
modules, blocked = sys.argv[1].split(","), set(sys.argv[2].split(","))
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise AssertionError(f"{name} was imported")
sys.meta_path.insert(0, Blocker())
for module in modules:
    importlib.import_module(module)
"""


def modules_of(*packages):
    names = []
    for package in packages:
        found = pkgutil.walk_packages(lapestudio.__path__, "lapestudio.")
        names += [module.name for module in found if f"{module.name}.".startswith(f"lapestudio.{package}.")]
    return names


def import_with_blocker(modules, blocked, repository):
    command = [sys.executable, "-c", _IMPORT_WITH_BLOCKER, ",".join(modules), ",".join(blocked)]
    return subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=300, check=False)


def test_the_declared_layers_hold(repository):
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_blocker_blocks(repository):
    done = import_with_blocker(["lapestudio.engine.training"], ["torch"], repository)
    assert done.returncode != 0
    assert "torch was imported" in done.stderr


@pytest.mark.parametrize("package", ["core", "corpora", "jobs", "cli", "__main__"])
def test_the_headless_part_of_the_windows_process_loads_no_model_library_and_no_qt(package, repository):
    modules = modules_of(package)
    assert modules
    done = import_with_blocker(modules, MODEL_LIBRARIES + WINDOW_LIBRARIES, repository)
    assert done.returncode == 0, done.stderr


def test_the_window_loads_no_model_library(repository, monkeypatch):
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    done = import_with_blocker(modules_of("ui"), MODEL_LIBRARIES, repository)
    assert done.returncode == 0, done.stderr


def test_the_engine_loads_no_qt(repository):
    done = import_with_blocker(modules_of("engine"), WINDOW_LIBRARIES, repository)
    assert done.returncode == 0, done.stderr
