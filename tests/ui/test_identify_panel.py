"""The identify panel: starting, the heatmap filling in, sliders that select at once, and saving."""

import json

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton

from lapestudio.core.lape import select_neurons
from lapestudio.core.neuron_set import load_neuron_set
from lapestudio.core.project import Project
from lapestudio.ui.steps import Step
from tests.ui import recorded
from tests.ui.conftest import WAIT_MS, wait_for_quiet


@pytest.fixture
def show(qtbot, open_window, project):
    def show_it():
        window = open_window(project)
        window.view.show_step(Step.IDENTIFY)
        wait_for_quiet(qtbot, window)
        return window, window.view.panel(Step.IDENTIFY)

    return show_it


def click(qtbot, panel, name):
    qtbot.mouseClick(panel.findChild(QPushButton, name), Qt.MouseButton.LeftButton)


def expected(top_rate=0.05, activity_quantile=0.95):
    counts = recorded.counts()
    return select_neurons(counts.over_zero / counts.num_tokens, top_rate=top_rate, activity_quantile=activity_quantile)


def test_what_is_missing_is_said_and_nothing_can_be_started(show, project):
    project.update(languages=project.document.languages[:1])
    _window, panel = show()
    assert not panel.start_button.isEnabled()
    assert "at least two languages" in panel._missing.text()


def test_the_selection_of_a_run_is_shown(show, project):
    recorded.write_identification(project)
    _window, panel = show()
    table = list(panel.pictures.heatmap.table())
    assert table[0] == ["layer", "Maltese", "English", "Arabic"]
    per_layer = np.array([row[1:] for row in table[1:]])
    np.testing.assert_array_equal(per_layer, expected().dense_members().sum(axis=1))
    assert f"{expected().num_selected} neurons kept" in panel.findChild(QLabel, "selectionSummary").text()


def test_sliders_select_at_once_and_are_saved(qtbot, show, project):
    recorded.write_identification(project)
    window, panel = show()
    card = panel.selection_card
    with qtbot.waitSignal(window.view.session.selection.selected, timeout=WAIT_MS):
        card.top_rate.slider.setValue(100)
    with qtbot.waitSignal(window.view.session.selection.selected, timeout=WAIT_MS):
        card.activity.slider.setValue(900)
    wait_for_quiet(qtbot, window)
    selected = window.view.session.selection.current.selection
    np.testing.assert_array_equal(selected.neurons, expected(0.1, 0.9).neurons)
    qtbot.waitUntil(lambda: Project.open(project.folder).document.selection.top_rate == 0.1, timeout=WAIT_MS)
    assert Project.open(project.folder).document.selection.activity_quantile == 0.9


def test_every_picture_shows_the_selection(qtbot, show, project):
    recorded.write_identification(project)
    _window, panel = show()
    pictures = panel.pictures
    for tab in range(pictures._tabs.count()):
        pictures._tabs.setCurrentIndex(tab)
    neurons = {tuple(row[:2]) for row in list(pictures.neuron_map.table())[1:]}
    flat = expected().neurons
    assert neurons == {(int(n) // recorded.WIDTH, int(n) % recorded.WIDTH) for n in flat}
    assert len(list(pictures.overlap.table())) == 4
    assert sum(row[-1] for row in list(pictures.histogram.table())[1:]) == recorded.NUM_LAYERS * recorded.WIDTH
    totals = [pictures.table.model().index(row, 1).data() for row in range(3)]
    assert totals == [str(n) for n in expected().members.sum(axis=0)]


@pytest.mark.parametrize("suffix", [".safetensors", ".json", ".csv"])
def test_the_neuron_set_is_saved(show, project, suffix):
    recorded.write_identification(project)
    _window, panel = show()
    path = project.folder / f"my neurons{suffix}"
    panel.selection_card.save_to(path)
    if suffix == ".csv":
        assert len(path.read_text(encoding="utf-8-sig").splitlines()) == 1 + int(expected().members.sum())
        return
    np.testing.assert_array_equal(load_neuron_set(path).counts().sum(axis=1), expected().members.sum(axis=0))


def test_a_neuron_set_that_cannot_be_written_is_told(show, project):
    recorded.write_identification(project)
    _window, panel = show()
    panel.selection_card.save_to(project.folder / "no such folder" / "n.json")
    assert "no such folder" in panel.selection_card._saved.text


def test_the_heatmap_fills_in_while_counting_and_stop_stops(qtbot, show, project, worker):
    worker(project, "slow")
    window, panel = show()
    click(qtbot, panel, "startIdentify")
    qtbot.waitUntil(lambda: panel.pictures.heatmap.isVisible(), timeout=WAIT_MS)
    table = np.array([row[1:] for row in list(panel.pictures.heatmap.table())[1:]])
    counts = recorded.counts()
    np.testing.assert_allclose(table, 100 * (counts.over_zero / counts.num_tokens).mean(axis=1), rtol=1e-6)
    assert not panel.start_button.isVisible()
    spec = json.loads((panel.followed.run.spec_file).read_text(encoding="utf-8"))
    assert [corpus["language"] for corpus in spec["corpora"]] == ["mt", "en", "ar"]
    click(qtbot, panel, "stopIdentify")
    qtbot.waitUntil(lambda: panel.followed.is_over, timeout=WAIT_MS)
    assert "Stopped before every language" in panel.message.text
    assert panel.start_button.isVisible()
    wait_for_quiet(qtbot, window)


def test_a_finished_count_is_selected_from_and_kept_in_the_project(qtbot, show, project, worker):
    worker(project, "quick")
    window, panel = show()
    click(qtbot, panel, "startIdentify")
    qtbot.waitUntil(lambda: window.view.session.selection.current is not None, timeout=WAIT_MS)
    assert Project.open(project.folder).document.identify_run == panel.followed.run.path.name
    np.testing.assert_array_equal(window.view.session.selection.current.selection.neurons, expected().neurons)
    wait_for_quiet(qtbot, window)


def test_settings_are_saved_as_they_are_made(qtbot, show, project):
    _window, panel = show()
    panel.form.editor("block_size").setValue(128)
    panel.more.editor("add_bos").setChecked(False)
    panel.form.editor("max_tokens").setValue(5000)
    saved = Project.open(project.folder).document.identify
    assert (saved.block_size, saved.add_bos, saved.max_tokens) == (128, False, 5000)


def test_a_failed_run_says_why_with_details_to_copy(qtbot, qapp, show, project, worker):
    worker(project, "fail")
    _window, panel = show()
    click(qtbot, panel, "startIdentify")
    qtbot.waitUntil(lambda: panel.followed is not None and panel.followed.is_over, timeout=WAIT_MS)
    assert panel.message.text == "The corpus is empty."
    panel.message.copy_button.click()
    assert qapp.clipboard().text() == "The corpus is empty.\n\nTraceback: here"
