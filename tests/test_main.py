import subprocess
import sys
from pathlib import Path

import pytest

from lapestudio import __main__ as program
from lapestudio.cli import COMMANDS, application


@pytest.fixture
def opened(monkeypatch):
    """The projects that the window was opened with."""
    projects = []

    def open_window(project):
        projects.append(project)
        return 0

    monkeypatch.setattr(program, "_open_window", open_window)
    return projects


def test_without_a_word_the_window_opens(opened):
    assert program.run([]) == 0
    assert opened == [None]


def test_a_project_folder_or_its_document_opens_the_window(opened, tmp_path):
    assert program.run([str(tmp_path)]) == 0
    assert program.run([str(tmp_path / "project.json")]) == 0
    assert opened == [tmp_path, tmp_path / "project.json"]


def test_a_command_is_a_command_although_a_folder_has_its_name(opened, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("identify").mkdir()
    assert program.run(["identify"]) == 2
    assert opened == []
    assert "MODEL" in capsys.readouterr().err


def test_what_is_neither_is_wrong_usage(opened, capsys):
    assert program.run(["paint"]) == 2
    assert opened == []
    assert "paint" in capsys.readouterr().err


def test_all_commands_are_listed():
    registered = {command.name for command in application.app.registered_commands}
    assert registered == set(COMMANDS)


def test_the_window_does_not_wait_for_the_command_lines_libraries(repository):
    code = "import lapestudio.__main__, sys; sys.exit('typer' in sys.modules or 'psutil' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=repository, check=False).returncode == 0
