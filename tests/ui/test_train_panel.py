"""The train panel: what is asked for, live curves, stopping, resuming, and the result in words."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from lapestudio.core.neuron_set import load_neuron_set
from lapestudio.core.project import Project
from lapestudio.core.specs import TrainSettings
from lapestudio.ui.steps import Step
from tests.ui import recorded
from tests.ui.conftest import WAIT_MS, wait_for_quiet


@pytest.fixture
def show(qtbot, open_window, project):
    def show_it():
        window = open_window(project)
        window.view.show_step(Step.TRAIN)
        wait_for_quiet(qtbot, window)
        return window, window.view.panel(Step.TRAIN)

    return show_it


def click(qtbot, panel, name):
    button = panel.findChild(QPushButton, name)
    assert button.isVisible()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def curve(panel, name):
    rows = list(panel.curves.table())
    column = rows[0].index(name)
    return [(row[column - 1], row[column]) for row in rows[1:] if row[column] != ""]


def test_without_neurons_nothing_can_be_started(show):
    _window, panel = show()
    assert not panel.start_button.isEnabled()
    assert "Identify neurons first" in panel._missing.text()


def test_a_target_and_controls_are_suggested(show, project):
    recorded.write_identification(project)
    _window, panel = show()
    document = Project.open(project.folder).document
    assert document.target == "mt"
    assert document.controls == ("en", "ar")
    assert panel.start_button.isEnabled()


def test_a_new_target_is_no_control(show, project):
    recorded.write_identification(project)
    _window, panel = show()
    panel.what.target.choose("en")
    document = Project.open(project.folder).document
    assert document.target == "en"
    assert document.controls == ("ar",)
    offered = [panel.what.controls.item(row).data(Qt.ItemDataRole.UserRole) for row in range(2)]
    assert offered == ["ar", "mt"]
    panel.what.controls.item(1).setCheckState(Qt.CheckState.Checked)
    assert Project.open(project.folder).document.controls == ("ar", "mt")


def test_what_is_started_is_what_was_chosen(qtbot, show, project, worker):
    worker(project, "quick")
    recorded.write_identification(project)
    window, panel = show()
    panel.how.form.editor("max_steps").setValue(7)
    click(qtbot, panel, "startTrain")
    qtbot.waitUntil(lambda: panel.followed is not None and panel.followed.is_over, timeout=WAIT_MS)
    spec = panel.followed.run.read_spec()
    assert (spec.language, spec.model) == ("mt", str(project.folder / "model"))
    assert [control.language for control in spec.controls] == ["en", "ar"]
    assert spec.paths == (project.folder / "text" / "mt.txt",)
    assert spec.settings == TrainSettings(max_steps=7)
    neurons = load_neuron_set(spec.neurons)
    assert neurons == window.view.session.selection.current.neurons
    assert spec.neurons.is_relative_to(project.neurons_folder)
    wait_for_quiet(qtbot, window)


def test_text_kept_for_testing_is_validated_on(qtbot, show, project, worker):
    worker(project, "quick")
    recorded.write_identification(project)
    for code in ("mt", "en"):
        (project.folder / "text" / f"{code}-test.txt").write_text("Test.\n", encoding="utf-8")
    mt, en, ar = project.document.languages
    mt = mt.model_copy(update={"held_out": (project.folder / "text" / "mt-test.txt",)})
    en = en.model_copy(update={"held_out": (project.folder / "text" / "en-test.txt",)})
    project.update(languages=(mt, en, ar))
    window, panel = show()
    click(qtbot, panel, "startTrain")
    qtbot.waitUntil(lambda: panel.followed is not None and panel.followed.is_over, timeout=WAIT_MS)
    spec = panel.followed.run.read_spec()
    assert spec.validation_paths == (project.folder / "text" / "mt-test.txt",)
    assert spec.controls[0].paths == (project.folder / "text" / "en-test.txt",)
    assert spec.controls[1].paths == (project.folder / "text" / "ar.txt",)
    wait_for_quiet(qtbot, window)


def test_a_finished_training_is_shown_whole_with_its_result_in_words(show, project):
    recorded.write_identification(project)
    recorded.write_training(project)
    _window, panel = show()
    assert [step for step, _loss in curve(panel, "train_loss")] == list(range(recorded.NUM_STEPS + 1))
    assert [step for step, _loss in curve(panel, "control_loss/en")] == [0, 10, 20, 30, 40]
    assert panel.message.text == (
        "Maltese: learnt; the loss went from 5.00 to 3.26 nats a token. No control language got worse."
    )
    rows = [[panel._results.item(row, column).text() for column in range(5)] for row in range(2)]
    assert rows[0][1:3] == ["5.000", "3.264"]
    assert rows[0][4] == "learnt"
    assert rows[1][1:] == ["3.500", "3.504", "\u206633.1 → 33.2\u2069", "kept"]


def test_stop_keeps_a_checkpoint_and_resume_goes_on_from_it(qtbot, show, project, worker):
    worker(project, "slow")
    recorded.write_identification(project)
    window, panel = show()
    half = recorded.NUM_STEPS // 2
    click(qtbot, panel, "startTrain")
    qtbot.waitUntil(
        lambda: (
            panel.followed is not None
            and "train_loss" in panel.followed.history.metrics
            and panel.followed.history.metrics["train_loss"].steps[-1] == half
        ),
        timeout=WAIT_MS,
    )
    click(qtbot, panel, "stopTrain")
    qtbot.waitUntil(lambda: panel.followed.is_over, timeout=WAIT_MS)
    assert f"Stopped at step {half}" in panel.message.text
    worker(project, "quick")
    click(qtbot, panel, "resumeTrain")
    qtbot.waitUntil(lambda: panel.followed.is_over, timeout=WAIT_MS)
    assert [step for step, _loss in curve(panel, "train_loss")] == list(range(recorded.NUM_STEPS + 1))
    assert not panel.resume_button.isVisible()
    wait_for_quiet(qtbot, window)


def test_a_failed_training_with_a_checkpoint_can_be_resumed(show, project):
    recorded.write_identification(project)
    recorded.write_training(project, "failed")
    _window, panel = show()
    assert panel.message.text == "Memory ran out: use a smaller batch."
    assert panel.resume_button.isVisible()


def test_recipes_are_chosen_and_recognised(show, project):
    recorded.write_identification(project)
    _window, panel = show()
    recipe = panel.how.recipe
    panel.how.form.editor("max_steps").setValue(30)
    assert recipe.currentData() == "recommended"
    recipe.choose("published")
    saved = Project.open(project.folder).document.train
    assert saved == TrainSettings.published().model_copy(update={"max_steps": 30})
    panel.how.form.editor("learning_rate").setValue(0.5)
    assert recipe.currentData() == "own"
    recipe.choose("recommended")
    assert Project.open(project.folder).document.train == TrainSettings(max_steps=30)


def test_a_diverged_loss_is_called_broken(qtbot, show, project):
    from lapestudio.core.events import MetricsEvent, ResultEvent

    recorded.write_identification(project)
    metrics = [
        MetricsEvent(step=0, tokens=0, values={"train_loss": 4.0, "validation_loss": 4.0}),
        MetricsEvent(step=10, tokens=10, values={"train_loss": float("nan"), "validation_loss": float("nan")}),
    ]
    run = recorded.write_run(project, "diverged", recorded.train_spec(project), [*metrics, ResultEvent()])
    project.update(train_run=run.path.name)
    _window, panel = show()
    assert "broken" in panel.message.text
    assert panel.message.property("level") == "warning"


def test_what_was_forgotten_is_a_warning(show, project):
    from lapestudio.core.events import MetricsEvent, ResultEvent

    recorded.write_identification(project)
    before = {"validation_loss": 4.0, "control_loss/en": 3.0, "control_loss/ar": 3.0}
    after = {"validation_loss": 3.0, "control_loss/en": 3.5, "control_loss/ar": 3.05}
    metrics = [MetricsEvent(step=0, tokens=0, values=before), MetricsEvent(step=9, tokens=9, values=after)]
    run = recorded.write_run(project, "forgot", recorded.train_spec(project), [*metrics, ResultEvent()])
    project.update(train_run=run.path.name)
    _window, panel = show()
    assert panel.message.text.endswith("Worse: English.")
    assert panel.message.property("level") == "warning"
