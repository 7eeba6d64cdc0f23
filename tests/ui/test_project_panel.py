"""The project panel and the job bar."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QTableView

from lapestudio.core.project import Project
from lapestudio.ui.job_details import JobDetails
from lapestudio.ui.steps import Step
from tests.ui import recorded
from tests.ui.conftest import WAIT_MS, wait_for_quiet


def click(qtbot, parent, name):
    qtbot.mouseClick(parent.findChild(QPushButton, name), Qt.MouseButton.LeftButton)


def test_the_next_step_is_named_and_led_to(qtbot, open_window, project):
    window = open_window(project)
    panel = window.view.panel(Step.PROJECT)
    qtbot.waitUntil(lambda: "Identify" in panel.findChild(QPushButton, "nextStep").text(), timeout=WAIT_MS)
    click(qtbot, panel, "nextStep")
    assert window.view.step is Step.IDENTIFY


def test_a_new_name_is_saved_and_an_empty_one_is_not(qtbot, open_window, project):
    window = open_window(project)
    panel = window.view.panel(Step.PROJECT)
    panel.name.setText("Other name")
    panel.name.editingFinished.emit()
    panel.name.setText(" ")
    panel.name.editingFinished.emit()
    assert Project.open(project.folder).document.name == "Other name"
    assert panel.name.text() == "Other name"


def test_runs_are_listed_and_shown(qtbot, open_window, project):
    recorded.write_identification(project)
    recorded.write_training(project)
    project.update(train_run=None)
    window = open_window(project)
    table = window.view.panel(Step.PROJECT).findChild(QTableView, "runs")
    names = [table.model().index(row, 0).data() for row in range(table.model().rowCount())]
    assert "Training · \u2068Maltese\u2069" in names
    table.selectRow(names.index("Training · \u2068Maltese\u2069"))
    click(qtbot, window.view, "showRun")
    assert window.view.step is Step.TRAIN
    assert Project.open(project.folder).document.train_run == "2026-12-01_1010_train_mt"
    wait_for_quiet(qtbot, window)


def test_the_job_bar_shows_stops_and_details_a_job(qtbot, open_window, project, worker):
    worker(project, "slow")
    window = open_window(project)
    bar = window.view.job_bar
    assert bar.rows == []
    window.view.session.start(recorded.identify_spec(project))
    [row] = bar.rows
    qtbot.waitUntil(lambda: "Counting activations" in row._progress._stage.text(), timeout=WAIT_MS)
    assert "30\u202f%" in row._progress._rest.text()
    assert "about 1 s left" in row._progress._rest.text()
    click(qtbot, row, "jobDetails")
    details = window.findChild(JobDetails)
    assert details.isVisible()
    details.accept()
    click(qtbot, row, "stopJob")
    assert row.findChild(QPushButton, "stopJob").text() == "End now"
    qtbot.waitUntil(lambda: row.followed.is_over, timeout=WAIT_MS)
    assert "Stopped before" in row._end.text()
    click(qtbot, row, "dismissJob")
    assert bar.rows == []
    assert bar._idle.isVisible()
    wait_for_quiet(qtbot, window)


def test_a_job_that_somebody_else_started_is_met(qtbot, open_window, project):
    run = recorded.write_running(project, "by-hand", recorded.identify_spec(project))
    window = open_window(project)
    qtbot.waitUntil(lambda: len(window.view.job_bar.rows) == 1, timeout=WAIT_MS)
    assert window.view.job_bar.rows[0].followed.run.path == run.path
