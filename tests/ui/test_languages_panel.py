"""The languages panel: searching, adding, files by hand and by mouse, previews in the right direction, problems."""

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QPushButton

from lapestudio.core.project import Project
from lapestudio.ui.steps import Step
from lapestudio.ui.widgets.message_bar import MessageBar
from tests.ui.conftest import wait_for_quiet


@pytest.fixture
def shown(qtbot, open_window, project):
    window = open_window(project)
    window.view.show_step(Step.LANGUAGES)
    return window, window.view.panel(Step.LANGUAGES)


def saved(project):
    return Project.open(project.folder).document


def drop(widget, paths, position=None):
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    place = position or QPoint(5, 5)
    actions, button = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    none = Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(place, actions, mime, button, none)
    QApplication.sendEvent(widget, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(widget, QDropEvent(QPointF(place), actions, mime, button, none))


def figure(panel, name):
    return panel.findChild(QLabel, f"figure-{name}").text()


def test_sizes_and_the_beginning_of_the_text_are_shown(shown):
    _window, panel = shown
    assert panel.current_code() == "mt"
    assert [panel.preview.list.item(row).text() for row in range(2)] == [
        "Il-bnedmin kollha jitwieldu ħielsa.",
        "Il-lingwa Maltija tinkiteb b'ittri Latini.",
    ]
    assert figure(panel, "characters") == "77"
    assert figure(panel, "words") == "9"
    assert figure(panel, "tokens") == "1,234"
    assert panel.preview.list.layoutDirection() == Qt.LayoutDirection.LeftToRight


def test_text_that_is_read_from_the_right_is_shown_so(shown):
    _window, panel = shown
    panel.select("ar")
    assert panel.preview.list.layoutDirection() == Qt.LayoutDirection.RightToLeft


def test_a_language_is_found_by_name_and_added_with_the_keyboard(qtbot, shown, project):
    _window, panel = shown
    qtbot.keyClicks(panel.search.field, "welsh")
    assert panel.search.results.isVisible()
    qtbot.keyClick(panel.search.field, Qt.Key.Key_Return)
    assert panel.current_code() == "cy"
    assert [language.code for language in saved(project).languages] == ["mt", "en", "ar", "cy"]
    qtbot.keyClicks(panel.search.field, "cymraeg")
    qtbot.keyClick(panel.search.field, Qt.Key.Key_Return)
    assert len(saved(project).languages) == 4


def test_the_arrow_keys_walk_the_results(qtbot, shown):
    _window, panel = shown
    qtbot.keyClicks(panel.search.field, "mal")
    first = panel.search.results.currentIndex().data()
    qtbot.keyClick(panel.search.field, Qt.Key.Key_Down)
    assert panel.search.results.currentIndex().data() != first
    qtbot.keyClick(panel.search.field, Qt.Key.Key_Escape)
    assert panel.search.field.text() == ""
    assert panel.search.results.isHidden()


def test_files_are_dropped_on_the_list_and_read(qtbot, shown, project):
    window, panel = shown
    new = project.folder / "text" / "more Malti.txt"
    new.write_text("Sentenza ġdida.\n", encoding="utf-8")
    drop(panel.details.files, [new])
    wait_for_quiet(qtbot, window)
    assert [path.name for path in saved(project).languages[0].paths] == ["mt.txt", "more Malti.txt"]
    assert figure(panel, "segments") == "3"
    assert figure(panel, "characters") == "92"


def test_files_are_dropped_on_a_row_of_another_language(qtbot, shown, project):
    window, panel = shown
    new = project.folder / "english.txt"
    new.write_text("More.\n", encoding="utf-8")
    row = panel.table.visualRect(panel.table.model().index(1, 0)).center()
    drop(panel.table.viewport(), [new], row)
    wait_for_quiet(qtbot, window)
    assert panel.current_code() == "en"
    assert len(saved(project).languages[1].paths) == 2


def test_files_dropped_where_there_is_no_language_are_explained(qtbot, shown, project):
    _window, panel = shown
    for code in ("mt", "en", "ar"):
        panel.details.remove_requested.emit(code)
    drop(panel, [project.folder / "text" / "mt.txt"])
    assert "Add or choose a language first" in panel.message.text
    assert saved(project).languages == ()


def test_files_are_chosen_in_a_dialog_and_removed(qtbot, shown, project, monkeypatch):
    window, panel = shown
    new = project.folder / "new.txt"
    new.write_text("Test.\n", encoding="utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: ([str(new)], ""))
    qtbot.mouseClick(panel.findChild(QPushButton, "addFiles"), Qt.MouseButton.LeftButton)
    assert panel.details.files.count() == 2
    panel.details.files.item(1).setSelected(True)
    qtbot.mouseClick(panel.findChild(QPushButton, "removeFiles"), Qt.MouseButton.LeftButton)
    assert [path.name for path in saved(project).languages[0].paths] == ["mt.txt"]
    wait_for_quiet(qtbot, window)


def test_a_file_is_kept_for_testing_and_taken_back(qtbot, shown, project):
    window, panel = shown
    hold_out = panel.findChild(QPushButton, "holdOut")
    panel.details.files.item(0).setSelected(True)
    qtbot.mouseClick(hold_out, Qt.MouseButton.LeftButton)
    assert saved(project).languages[0].paths == ()
    assert len(saved(project).languages[0].held_out) == 1
    assert "kept for testing" in panel.details.files.item(0).text()
    panel.details.files.item(0).setSelected(True)
    qtbot.mouseClick(hold_out, Qt.MouseButton.LeftButton)
    assert len(saved(project).languages[0].paths) == 1
    wait_for_quiet(qtbot, window)


def test_a_file_that_cannot_be_read_is_named(qtbot, shown, project):
    window, panel = shown
    bad = project.folder / "bad.txt"
    bad.write_bytes(b"\xff\xfe\x00\x01binary\x00\x00")
    drop(panel.details.files, [bad])
    wait_for_quiet(qtbot, window)
    [bar] = [bar for bar in panel.findChildren(MessageBar) if bar.text]
    assert "bad.txt" in bar.text
    window.view.rail.refresh()
    assert window.view.rail.buttons[Step.LANGUAGES].state.kind == "failed"


def test_a_removed_language_is_forgotten_as_target_and_control(qtbot, shown, project):
    window, panel = shown
    window.view.session.update(target="mt", controls=("en", "ar"))
    panel.details.remove_requested.emit("en")
    panel.details.remove_requested.emit("mt")
    assert saved(project).target is None
    assert saved(project).controls == ("ar",)
    assert panel.current_code() == "ar"
