"""The export panel: which training, where to, and what was written."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton

from lapestudio.core.project import Project
from lapestudio.ui.steps import Step
from tests.ui import recorded
from tests.ui.conftest import WAIT_MS, wait_for_quiet


@pytest.fixture
def show(qtbot, open_window, project):
    def show_it():
        window = open_window(project)
        window.view.show_step(Step.EXPORT)
        wait_for_quiet(qtbot, window)
        return window, window.view.panel(Step.EXPORT)

    return show_it


def test_before_a_training_there_is_nothing_to_write(show):
    _window, panel = show()
    assert not panel.start_button.isEnabled()
    assert "Train first" in panel._missing.text()


def test_an_export_is_started_into_a_new_folder_and_its_files_are_listed(qtbot, show, project, worker):
    worker(project, "quick")
    recorded.write_training(project)
    window, panel = show()
    panel.number_format.choose("float32")
    panel.checkpoint.choose("last")
    qtbot.mouseClick(panel.findChild(QPushButton, "startExport"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: panel.followed is not None and panel.followed.is_over, timeout=WAIT_MS)
    spec = panel.followed.run.read_spec()
    assert spec.out.parent == project.folder / "exports"
    assert (spec.dtype, spec.checkpoint) == ("float32", "last")
    assert panel.verified.text == "Written and verified."
    shown = [label.text() for label in panel.findChildren(QLabel) if label.isVisible()]
    assert any("model.safetensors" in text for text in shown)
    assert Project.open(project.folder).document.export_dtype == "float32"
    wait_for_quiet(qtbot, window)
    assert panel.folder.text() != str(spec.out)


def test_the_last_export_is_shown_again(show, project):
    recorded.write_training(project)
    recorded.write_export(project)
    window, panel = show()
    assert panel.verified.text == "The model was written and verified."
    window.view.rail.refresh()
    assert window.view.rail.buttons[Step.EXPORT].state.kind == "done"


def test_a_stopped_training_can_be_exported(show, project):
    recorded.write_training(project, "stopped")
    _window, panel = show()
    assert panel.start_button.isEnabled()


def test_a_folder_that_is_gone_is_said(show, project):
    recorded.write_training(project)
    run = recorded.write_export(project)
    for file in run.read_spec().out.iterdir():
        file.unlink()
    run.read_spec().out.rmdir()
    _window, panel = show()
    assert "not there any more" in panel.verified.text
