"""A process that drives the real window by clicks, as a user would; the tests start it and read what it prints.

Usage: drive_window.py PART FOLDER. Parts: `whole` (first start to export), `close` (train, then close the window
while the job runs), `again` (the next start: see the whole curve, stop the job), `corpora` (drop a folder of many
formats, choose a tier and a column, identify with them), `cold` (time until the window can be used). The last line it
prints is a JSON object.
"""

import json
import math
import sys
import time
from pathlib import Path

_BEGAN = time.time()

# The imports are part of what `cold` measures.
from PySide6.QtCore import QLocale, QMimeData, QPoint, QPointF, QSettings, Qt, QTimer, QUrl  # noqa: E402
from PySide6.QtGui import QDragEnterEvent, QDropEvent  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402
from PySide6.QtWidgets import QAbstractButton, QApplication  # noqa: E402

from lapestudio.ui.app import make_application  # noqa: E402
from lapestudio.ui.main_window import MainWindow  # noqa: E402
from lapestudio.ui.recent import FOLDER_KEY  # noqa: E402
from lapestudio.ui.steps import Step  # noqa: E402
from lapestudio.ui.style import Theme  # noqa: E402

_PATIENCE_S = 240
_MODEL_LIBRARIES = ("torch", "transformers", "datasets", "accelerate", "peft")


def wait_for(what, condition):
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited in vain for: {what}")
        QTest.qWait(20)


class Driver:
    """Clicks through a window and keeps its pictures."""

    def __init__(self, folder):
        self.folder = folder
        self.app = make_application()
        QLocale.setDefault(QLocale(QLocale.Language.English, QLocale.Country.UnitedStates))
        self.settings = QSettings(str(folder / "settings.ini"), QSettings.Format.IniFormat)
        self.settings.setValue(FOLDER_KEY, str(folder / "My projects - Malti"))
        self.window = MainWindow(self.settings, Theme(self.app, self.settings, self.app))
        self.window.resize(1280, 800)
        self.window.show()
        self.heatmap_filled_in = False

    def click(self, name, parent=None):
        buttons = (parent or self.window).findChildren(QAbstractButton, name)
        [button] = [button for button in buttons if button.isVisible()]
        wait_for(f"{name} to be enabled", button.isEnabled)
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    def grab(self, name):
        QTest.qWait(150)
        assert self.window.grab().save(str(self.folder / f"{name}.png"))

    def panel(self, step):
        self.click(f"step-{step.value}")
        return self.window.view.panel(step)

    def open_example(self):
        self.click("openExample")
        wait_for("the example", lambda: self.window.view is not None)

    def finish(self, **facts):
        facts["model_libraries"] = [name for name in _MODEL_LIBRARIES if name in sys.modules]
        self.window.close()
        sys.stdout.write(json.dumps(facts) + "\n")


def look_at_model_and_languages(driver):
    session = driver.window.view.session
    driver.panel(Step.MODEL)
    wait_for("the model's report", lambda: session.report is not None and not session.is_inspecting)
    driver.grab("model")
    driver.panel(Step.LANGUAGES)
    codes = {language.code for language in session.document.languages}
    wait_for("the tokens of all languages", lambda: set(session.survey.tokens) == codes)
    driver.grab("languages")


def identify(driver):
    panel = driver.panel(Step.IDENTIFY)
    driver.click("startIdentify")
    wait_for("the job", lambda: panel.followed is not None)

    def is_over():
        live = panel.followed.is_working and panel.pictures.heatmap.isVisible()
        driver.heatmap_filled_in = driver.heatmap_filled_in or live
        return panel.followed.is_over

    wait_for("the identification", is_over)
    assert not panel.message.text, panel.message.text
    wait_for("the selection", lambda: driver.window.view.session.selection.current is not None)
    driver.grab("identify")
    return panel


def start_training(driver, **settings):
    panel = driver.panel(Step.TRAIN)
    driver.window.view.session.update(train=driver.window.view.session.document.train.model_copy(update=settings))
    driver.click("startTrain")
    wait_for("the job", lambda: panel.followed is not None)
    return panel


def whole(driver):
    driver.grab("start")
    driver.open_example()
    driver.grab("project")
    look_at_model_and_languages(driver)
    identify(driver)
    panel = start_training(driver, max_steps=40, validate_every=20)
    wait_for("the training", lambda: panel.followed.is_over)
    driver.grab("train")
    validation = panel.followed.history.metrics["validation_loss"].values
    words = panel.message.text
    export = driver.panel(Step.EXPORT)
    driver.click("startExport")
    wait_for("the job", lambda: export.followed is not None)
    wait_for("the export", lambda: export.followed.is_over)
    rail = driver.window.view.rail
    wait_for("the rail", lambda: rail.buttons[Step.EXPORT].state.kind != "working")
    driver.grab("export")
    driver.finish(
        heatmap_filled_in=driver.heatmap_filled_in,
        validation=validation,
        words=words,
        verified=export.verified.text,
        level=export.verified.property("level"),
        out=str(export.followed.run.read_spec().out),
        target=driver.window.view.session.document.target,
        export_message=export.message.text,
        states={step.value: button.state.kind for step, button in rail.buttons.items()},
    )


def close(driver):
    driver.open_example()
    identify(driver)
    panel = start_training(driver, max_steps=100_000, validate_every=5)
    wait_for("some steps", lambda: len(points(panel)) > 10)
    driver.finish(run=str(panel.followed.run.path), points=points(panel))


def again(driver):
    driver.click("openExample")
    wait_for("the project", lambda: driver.window.view is not None)
    panel = driver.panel(Step.TRAIN)
    wait_for("the running job", lambda: panel.is_working and len(points(panel)) > 10)
    driver.grab("again")
    driver.click("stopTrain")
    wait_for("the end", lambda: panel.followed.is_over)
    driver.finish(message=panel.message.text, points=points(panel), can_resume=panel.resume_button.isVisible())


def corpora(driver):
    """Drop a folder on a new language; the longest gap between two beats of the window is measured meanwhile."""
    driver.open_example()
    session = driver.window.view.session
    panel = driver.panel(Step.LANGUAGES)
    survey = session.survey
    codes = {language.code for language in session.document.languages}
    wait_for("the example's text", lambda: set(survey.tokens) == codes)
    beat = Heartbeat(driver.window)
    folder = driver.folder / "field notes"
    panel.select("cy")
    drop(panel, [folder])
    wait_for("the reading", lambda: not survey.is_reading("cy") and "cy" in survey.tokens)
    dropped = survey.summaries["cy"]
    choose_part(driver, panel, "sgwrs.eaf", ["ft@Siân"])
    choose_part(driver, panel, "dewis.csv", ["source"])
    wait_for("the reading", lambda: not survey.is_reading("cy") and not survey.is_counting)
    chosen = survey.summaries["cy"]
    gaps = beat.stop()
    driver.grab("corpora")
    examples = examples_of(driver, panel, "remove_duplicates")
    before = session.document.languages
    panel.details.cleaning_fold.button.setChecked(True)
    panel.details.cleaning.boxes["remove_duplicates"].setChecked(False)
    wait_for("the reading", lambda: not survey.is_reading("cy") and "cy" in survey.summaries)
    with_duplicates = survey.summaries["cy"].num_segments
    session.undo_stack.undo()
    assert session.document.languages == before
    wait_for("the reading", lambda: not survey.is_reading("cy") and not survey.is_counting)
    identified = identify(driver)
    spec = identified.followed.run.read_spec()
    driver.finish(
        formats=sorted({note.format_name for note in dropped.files}),
        dropped=dropped.num_segments,
        chosen=chosen.num_segments,
        texts=[segment.text for segment in chosen.preview],
        examples=examples,
        with_duplicates=with_duplicates,
        tokens=survey.tokens["cy"],
        gaps_ms=[round(1000 * gap) for gap in gaps[-5:]],
        counted=identified.followed.history.terminal.summary["tokens"]["cy"],
        reading=next(corpus for corpus in spec.corpora if corpus.language == "cy").model_dump(mode="json")["reading"],
    )


class Heartbeat:
    """Notes how long the window's event loop is kept from coming round."""

    def __init__(self, window):
        self._gaps = []
        self._last = time.perf_counter()
        self._timer = QTimer(window)
        self._timer.timeout.connect(self._on_beat)
        self._timer.start(5)

    def _on_beat(self):
        now = time.perf_counter()
        self._gaps.append(now - self._last)
        self._last = now

    def stop(self):
        self._timer.stop()
        return sorted(self._gaps)


def drop(widget, paths):
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    actions, button, keys = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(widget, QDragEnterEvent(QPoint(9, 9), actions, mime, button, keys))
    QApplication.sendEvent(widget, QDropEvent(QPointF(9, 9), actions, mime, button, keys))


def choose_part(driver, panel, name, parts):
    files = panel.details.files
    item = next(files.item(row) for row in range(files.count()) if name in files.item(row).text())
    files.scrollToItem(item)
    QTest.mouseClick(files.viewport(), Qt.MouseButton.LeftButton, pos=files.visualItemRect(item).center())
    wait_for("the preview", lambda: not panel.preview.looker.is_busy and panel.preview.choices.parts.count())
    shown = panel.preview.choices.parts
    for row in range(shown.count()):
        part = shown.item(row)
        wanted = any(part.text().strip("\u2068\u2069").startswith(name) for name in parts)
        if wanted != (part.checkState() == Qt.CheckState.Checked):
            part.setCheckState(Qt.CheckState.Checked if wanted else Qt.CheckState.Unchecked)
            wait_for("the preview", lambda: not panel.preview.looker.is_busy)


def examples_of(driver, panel, setting):
    panel.details.cleaning_fold.button.setChecked(True)
    link = panel.details.cleaning.links[setting]
    if link.isHidden():
        return []
    link.click()
    return [panel.preview.list.item(row).text() for row in range(panel.preview.list.count())]


def points(panel):
    """Return what the curve shows of the training loss: (step, loss)."""
    rows = list(panel.curves.table())
    if not rows or "train_loss" not in rows[0]:
        return []
    column = rows[0].index("train_loss")
    return [(row[column - 1], row[column]) for row in rows[1:] if row[column] != "" and math.isfinite(row[column])]


def cold(driver):
    def is_usable():
        driver.finish(seconds=time.time() - float(sys.argv[3]))
        driver.app.quit()

    # Runs after the first painting and everything else that was waiting.
    QTimer.singleShot(0, driver.window, is_usable)
    driver.app.exec()


def main():
    part, folder = sys.argv[1], Path(sys.argv[2])
    {"whole": whole, "close": close, "again": again, "corpora": corpora, "cold": cold}[part](Driver(folder))


if __name__ == "__main__":
    main()
