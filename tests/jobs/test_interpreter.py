import json
import sys
from pathlib import Path

import pytest

from lapestudio.core.errors import UserError
from lapestudio.jobs import interpreter


@pytest.fixture(autouse=True)
def _own_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv(interpreter.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr(interpreter, "settings_file", lambda: tmp_path / "config" / "settings.json")


@pytest.fixture
def other_python(tmp_path):
    program = tmp_path / "python of the engine"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def test_without_a_setting_the_own_python_is_used():
    assert interpreter.engine_python() == Path(sys.executable)


def test_the_setting_is_used_and_the_environment_beats_it(other_python, monkeypatch):
    interpreter.save_interpreter(other_python)
    assert interpreter.engine_python() == other_python
    monkeypatch.setenv(interpreter.ENVIRONMENT_VARIABLE, sys.executable)
    assert interpreter.engine_python() == Path(sys.executable)


def test_a_setting_can_be_withdrawn(other_python):
    interpreter.save_interpreter(other_python)
    interpreter.save_interpreter(None)
    assert interpreter.engine_python() == Path(sys.executable)


def test_a_frozen_program_never_starts_itself(monkeypatch, other_python):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(UserError, match="engine environment"):
        interpreter.engine_python()
    interpreter.save_interpreter(other_python)
    assert interpreter.engine_python() == other_python


def test_a_missing_interpreter_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv(interpreter.ENVIRONMENT_VARIABLE, str(tmp_path / "gone"))
    with pytest.raises(UserError, match="gone"):
        interpreter.engine_python()
    with pytest.raises(UserError, match="gone"):
        interpreter.save_interpreter(tmp_path / "gone")


@pytest.mark.parametrize("content", ["{", "[1]", json.dumps("text")])
def test_damaged_settings_are_named(content):
    file = interpreter.settings_file()
    file.parent.mkdir(parents=True)
    file.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match="settings"):
        interpreter.engine_python()
