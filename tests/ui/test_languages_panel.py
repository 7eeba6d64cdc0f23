"""The languages panel: searching, adding, files by hand and by mouse, previews in the right direction, problems."""

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QPushButton

from lapestudio.core.project import Project
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import FetchSpec
from lapestudio.ui.panels.hub_dialog import HubDialog
from lapestudio.ui.steps import Step
from lapestudio.ui.widgets.message_bar import MessageBar
from tests.ui.conftest import WAIT_MS, wait_for_quiet


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


def test_a_language_without_a_code_is_added_under_its_name(qtbot, shown, project):
    _window, panel = shown
    qtbot.keyClicks(panel.search.field, "Siltigo basso")
    rows = panel.search.results.model().rowCount()
    panel.search.results.setCurrentIndex(panel.search.results.model().index(rows - 1))
    qtbot.keyClick(panel.search.field, Qt.Key.Key_Return)
    assert saved(project).languages[-1].code == "qaa-Latn-x-siltigo-basso"
    assert panel.current_code() == "qaa-Latn-x-siltigo-basso"
    assert "Siltigo Basso" in panel.table.model().index(3, 0).data()


def test_a_column_is_chosen_and_the_preview_follows(qtbot, shown, project):
    window, panel = shown
    table = project.folder / "words.csv"
    table.write_text("id,Malti,English\n1,Il-kelb rieqed,The dog\n2,Il-qattus ukoll,The cat\n", encoding="utf-8")
    drop(panel.details.files, [table])
    wait_for_quiet(qtbot, window)
    assert panel.details.files.item(1).text().endswith("table, 2 segments")
    panel.details.files.setCurrentRow(1)
    wait_for_quiet(qtbot, window)
    parts = panel.preview.choices.parts
    assert [parts.item(row).checkState() for row in range(3)] == [
        Qt.CheckState.Unchecked,
        Qt.CheckState.Checked,
        Qt.CheckState.Unchecked,
    ]
    parts.item(1).setCheckState(Qt.CheckState.Unchecked)
    parts.item(2).setCheckState(Qt.CheckState.Checked)
    wait_for_quiet(qtbot, window)
    assert [panel.preview.list.item(row).text() for row in range(2)] == ["The dog", "The cat"]
    assert saved(project).languages[0].reading["words.csv"].parts == ("English",)
    assert window.view.session.project.corpus("mt").reading[str(table)].parts == ("English",)
    # Nothing ticked: as the reader chooses.
    parts.item(2).setCheckState(Qt.CheckState.Unchecked)
    wait_for_quiet(qtbot, window)
    assert saved(project).languages[0].reading == {}


def test_an_encoding_is_chosen_for_all_such_files(qtbot, shown, project):
    window, panel = shown
    for name in ("a.txt", "b.txt"):
        (project.folder / name).write_bytes("Ħobż tajjeb".encode("iso8859-3"))
    drop(panel.details.files, [project.folder / "a.txt", project.folder / "b.txt"])
    wait_for_quiet(qtbot, window)
    panel.details.files.setCurrentRow(1)
    wait_for_quiet(qtbot, window)
    assert "iso8859-3" in panel.preview.choices.encoding.currentText()
    panel.preview.choices.for_all.setChecked(True)
    panel.preview.choices.encoding.choose("cp1252")
    wait_for_quiet(qtbot, window)
    assert {path: options.encoding for path, options in saved(project).languages[0].reading.items()} == {
        "*.txt": "cp1252"
    }
    assert panel.preview.list.item(0).text() != "Ħobż tajjeb"


def test_what_is_left_out_is_shown_and_comes_back(qtbot, shown, project):
    window, panel = shown
    new = project.folder / "more.txt"
    new.write_text("Darba.\nDarba.\nOk\n", encoding="utf-8")
    drop(panel.details.files, [new])
    wait_for_quiet(qtbot, window)
    link = panel.findChild(QPushButton, "removed-remove_duplicates")
    assert link.text() == "1 removed"
    link.click()
    assert "Darba." in panel.preview.list.item(0).text()
    total = int(figure(panel, "segments"))
    panel.details.cleaning.boxes["remove_duplicates"].setChecked(False)
    wait_for_quiet(qtbot, window)
    assert int(figure(panel, "segments")) == total + 1
    panel.details.cleaning.min_characters.setValue(4)
    wait_for_quiet(qtbot, window)
    assert panel.findChild(QPushButton, "removed-min_characters").text() == "1 removed"
    window.view.session.undo_stack.undo()
    window.view.session.undo_stack.undo()
    wait_for_quiet(qtbot, window)
    assert int(figure(panel, "segments")) == total
    assert panel.details.cleaning.boxes["remove_duplicates"].isChecked()


def test_every_removal_can_be_undone(qtbot, shown, project):
    window, panel = shown
    session = window.view.session
    before = session.document
    panel.details.files.item(0).setSelected(True)
    qtbot.mouseClick(panel.findChild(QPushButton, "removeFiles"), Qt.MouseButton.LeftButton)
    panel.details.remove_requested.emit("ar")
    assert session.undo_stack.count() == 2
    assert "Arabic" in session.undo_stack.undoText()
    session.undo_stack.undo()
    session.undo_stack.undo()
    assert session.document == before
    assert saved(project) == before
    session.undo_stack.redo()
    assert saved(project).languages[0].paths == ()
    wait_for_quiet(qtbot, window)


def test_what_the_figures_mean_is_said_in_words(shown):
    _window, panel = shown
    shown_texts = [label.text() for label in panel.details._verdicts if not label.isHidden()]
    assert any("tokens a word: it knows few of the words; expect slower training" in text for text in shown_texts)
    assert any(text.startswith("Scripts: Latn 100") for text in shown_texts)


def test_text_is_fetched_from_the_hub_and_added(qtbot, shown, project, worker, monkeypatch):
    window, panel = shown
    session = window.view.session
    qtbot.mouseClick(panel.findChild(QPushButton, "addFromHub"), Qt.MouseButton.LeftButton)
    dialog = panel.findChild(HubDialog)
    assert dialog.config.text() == "mlt_Latn"
    dialog.choice.choose("Wikipedia")
    assert (dialog.dataset.text(), dialog.config.text()) == ("wikimedia/wikipedia", "20231101.mt")
    worker(project, "done")
    qtbot.mouseClick(dialog.findChild(QPushButton, "startFetch"), Qt.MouseButton.LeftButton)
    [name] = session.document.fetches
    run = RunFolder(project.runs_folder / name)
    assert run.read_spec().dataset == "wikimedia/wikipedia"
    qtbot.waitUntil(lambda: not session.document.fetches, timeout=WAIT_MS)
    wait_for_quiet(qtbot, window)
    assert saved(project).languages[0].paths[-1].as_posix() == f"runs/{name}/text.jsonl"


def test_a_fetch_that_failed_adds_nothing(qtbot, shown, project, worker):
    window, _panel = shown
    worker(project, "fail")
    before = saved(project).languages
    session = window.view.session
    session.fetch(FetchSpec(dataset="org/none", language="mt"))
    qtbot.waitUntil(lambda: not session.document.fetches, timeout=WAIT_MS)
    assert saved(project).languages == before
