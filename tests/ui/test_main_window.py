"""The window from the first start: ways to begin, the steps, themes, and what closing leaves alone."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidget, QPushButton

from lapestudio.core.project import Project
from lapestudio.core.run_folder import RunFolder
from lapestudio.jobs import stopping
from lapestudio.ui.new_project import NewProjectDialog
from lapestudio.ui.recent import recent_projects
from lapestudio.ui.steps import Step
from lapestudio.ui.style import is_dark
from tests.ui import recorded
from tests.ui.conftest import WAIT_MS, wait_for_quiet


def click(qtbot, parent, name):
    button = parent.findChild(QPushButton, name)
    assert button is not None, name
    assert button.isVisible(), name
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_the_first_start_offers_three_ways_and_no_recent_projects(open_window):
    window = open_window()
    for name in ("openExample", "newProject", "openProject"):
        assert window.start_page.findChild(QPushButton, name).isVisible()
    assert window.start_page.findChild(QListWidget, "recentProjects").isHidden()


def test_the_example_is_written_once_and_then_opened(qtbot, open_window, monkeypatch, tmp_path):
    from lapestudio.jobs import example

    written = []

    def write_example(folder):
        written.append(folder)
        return recorded.write_project(folder)

    monkeypatch.setattr(example, "write_example", write_example)
    window = open_window()
    with qtbot.waitSignal(window.project_opened, timeout=WAIT_MS):
        click(qtbot, window, "openExample")
    wait_for_quiet(qtbot, window)
    window.close_project()
    with qtbot.waitSignal(window.project_opened, timeout=WAIT_MS):
        click(qtbot, window, "openExample")
    assert written == [tmp_path / "projects" / "Example"]


def test_an_example_that_cannot_be_written_is_told(qtbot, open_window, monkeypatch):
    from lapestudio.core.errors import UserError
    from lapestudio.jobs import example

    def write_example(_folder):
        raise UserError("The disk is full.")

    monkeypatch.setattr(example, "write_example", write_example)
    window = open_window()
    click(qtbot, window, "openExample")
    qtbot.waitUntil(lambda: window.start_page.message.text == "The disk is full.", timeout=WAIT_MS)


def test_a_new_project_is_made_where_the_dialog_says(qtbot, open_window, tmp_path):
    window = open_window()
    click(qtbot, window, "newProject")
    dialog = window.findChild(NewProjectDialog)
    dialog.findChild(QLineEdit, "projectName").setText("Malti/日本")
    click(qtbot, dialog, "createProject")
    assert window.view.step is Step.MODEL
    assert Project.open(tmp_path / "projects" / "Malti-日本").document.name == "Malti/日本"
    assert "Malti/日本" in window.windowTitle()


def test_a_folder_that_holds_a_project_already_is_not_overwritten(qtbot, open_window, project):
    window = open_window()
    dialog = NewProjectDialog(project.folder.parent, window)
    dialog.name.setText(project.folder.name)
    dialog.open()
    click(qtbot, dialog, "createProject")
    assert dialog.isVisible()
    assert "holds a project already" in dialog.findChildren(type(window.start_page.message))[0].text
    dialog.done(QDialog.DialogCode.Rejected)
    assert Project.open(project.folder).document == project.document


def test_opened_projects_are_offered_again(qtbot, open_window, project, settings):
    window = open_window(project)
    window.close_project()
    recent = window.start_page.findChild(QListWidget, "recentProjects")
    assert recent_projects(settings) == [project.folder]
    with qtbot.waitSignal(window.project_opened, timeout=WAIT_MS):
        recent.itemActivated.emit(recent.item(0))


def test_a_damaged_project_is_told_and_the_start_page_stays(open_window, project):
    project.file.write_text("{", encoding="utf-8")
    window = open_window()
    assert not window.open_project(project.folder)
    assert window.view is None
    assert "project.json is damaged" in window.start_page.message.text


@pytest.mark.parametrize(("key", "step"), list(enumerate(Step, start=1)))
def test_every_step_has_a_shortcut(qtbot, open_window, project, key, step):
    window = open_window(project)
    qtbot.keyClick(window, Qt.Key(Qt.Key.Key_0 + key), Qt.KeyboardModifier.ControlModifier)
    assert window.view.step is step
    assert window.view.panel(step).isVisible()
    wait_for_quiet(qtbot, window)


def test_the_rail_says_how_far_each_step_is(qtbot, open_window, project):
    recorded.write_identification(project)
    window = open_window(project)
    kinds = {step: button.state.kind for step, button in window.view.rail.buttons.items()}
    qtbot.waitUntil(lambda: window.view.rail.buttons[Step.TRAIN].state.kind == "ready", timeout=WAIT_MS)
    kinds = {step: button.state.kind for step, button in window.view.rail.buttons.items()}
    assert kinds == {
        Step.PROJECT: "done",
        Step.MODEL: "done",
        Step.LANGUAGES: "done",
        Step.IDENTIFY: "done",
        Step.TRAIN: "ready",
        Step.EXPORT: "todo",
    }


def test_the_chosen_theme_is_kept(qapp, open_window, theme, settings):
    window = open_window()
    theme.set_name("dark")
    assert is_dark()
    shot = window.grab().toImage()
    assert shot.pixelColor(window.width() // 2, window.height() - 20).lightness() < 60
    theme.set_name("light")
    assert not is_dark()
    assert settings.value("view/theme") == "light"


def test_closing_the_window_leaves_the_job_and_the_next_one_sees_and_stops_it(qtbot, open_window, project, worker):
    worker(project, "slow")
    recorded.write_identification(project)
    project.update(target="mt", controls=("en",))
    window = open_window(project)
    window.view.show_step(Step.TRAIN)
    wait_for_quiet(qtbot, window)
    click(qtbot, window.view, "startTrain")
    qtbot.waitUntil(lambda: len(window.view.session.shown("train").history.metrics) > 2, timeout=WAIT_MS)
    half = recorded.NUM_STEPS // 2
    followed = window.view.session.shown("train")
    qtbot.waitUntil(lambda: followed.history.metrics["train_loss"].steps[-1] == half, timeout=WAIT_MS)
    run = RunFolder(followed.run.path)
    window.close()
    assert stopping.survivors(run)

    again = open_window()
    again.open_project(project.folder)
    again.view.show_step(Step.TRAIN)
    panel = again.view.panel(Step.TRAIN)
    qtbot.waitUntil(lambda: panel.is_working and bool(panel.followed.history.metrics), timeout=WAIT_MS)
    assert panel.followed.history.metrics["train_loss"].steps == list(range(half + 1))
    assert list(panel.curves.table())[half + 1][0] == half
    click(qtbot, again.view.job_bar, "stopJob")
    qtbot.waitUntil(lambda: panel.followed.is_over, timeout=WAIT_MS)
    assert "Stopped at step" in panel.message.text
    qtbot.waitUntil(lambda: not stopping.survivors(run), timeout=WAIT_MS)
