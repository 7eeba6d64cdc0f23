"""The model panel over reports as the engine gives them."""

import threading

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton

from lapestudio.core.errors import UserError
from lapestudio.core.project import Project
from lapestudio.ui.steps import Step
from lapestudio.ui.widgets.message_bar import MessageBar
from tests.ui import recorded
from tests.ui.conftest import WAIT_MS, wait_for_quiet


@pytest.fixture
def show(qtbot, open_window, project):
    def show_it():
        window = open_window(project)
        window.view.show_step(Step.MODEL)
        return window, window.view.panel(Step.MODEL)

    return show_it


def texts(panel):
    return " ".join(label.text() for label in panel.findChildren(QLabel) if label.isVisible())


def test_facts_and_estimates_are_shown(show):
    _window, panel = show()
    shown = texts(panel)
    for fact in ("LlamaForCausalLM", "4 layers of 64 neurons", "1.5\u202fM", "60\u202f%", "float32", "1,000 tokens"):
        assert fact in shown, fact
    assert "fits" in shown
    assert "does not fit" in shown
    assert "activations 9.0 GB" in shown


def test_why_a_model_is_not_supported(show, engine):
    engine["report"] = lambda source: recorded.model_report(source, supported=False)
    window, panel = show()
    assert "type mamba are not supported" in panel.findChild(QLabel, "modelSupport").text()
    assert window.view.rail.buttons[Step.MODEL].state.kind in ("done", "failed")
    window.view.rail.refresh()
    assert window.view.rail.buttons[Step.MODEL].state.kind == "failed"
    assert window.view.rail.buttons[Step.IDENTIFY].state.kind == "todo"


def test_a_model_that_cannot_be_read_is_told_in_one_sentence(show, engine):
    def report(_source):
        raise UserError("The folder has no weights.")

    engine["report"] = report
    _window, panel = show()
    bars = [bar for bar in panel.findChildren(MessageBar) if bar.text]
    assert [bar.text for bar in bars] == ["The folder has no weights."]


def test_another_model_is_kept_in_the_project_and_inside_it_relative(qtbot, show, project):
    window, panel = show()
    (project.folder / "other model").mkdir()
    panel.source.setText(str(project.folder / "other model"))
    qtbot.mouseClick(panel.findChild(QPushButton, "useModel"), Qt.MouseButton.LeftButton)
    wait_for_quiet(qtbot, window)
    assert Project.open(project.folder).document.model == "other model"
    assert window.view.session.report.source == str(project.folder / "other model")


def test_a_reopened_project_shows_its_model_before_the_engine_answers(qtbot, show, engine, open_window, project):
    window, _panel = show()
    window.close()
    gate = threading.Event()

    def report(source):
        gate.wait(WAIT_MS / 1000)
        return recorded.model_report(source)

    engine["report"] = report
    again = open_window()
    again.open_project(project.folder)
    before_the_answer = again.view.session.report
    gate.set()
    assert before_the_answer is not None
    qtbot.waitUntil(lambda: not again.view.session.is_inspecting, timeout=WAIT_MS)
