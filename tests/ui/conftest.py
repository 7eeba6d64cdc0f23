"""What every test of the window gets: fresh settings, an engine without a model, and a look for leftovers."""

import gc
import os
import sys
import traceback
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QLocale, QSettings, QThread, QTimer, QtMsgType
from PySide6.QtWidgets import QApplication

from lapestudio.core.run_folder import RunFolder
from lapestudio.engine import text_questions
from lapestudio.jobs import stopping
from lapestudio.jobs.interpreter import ENVIRONMENT_VARIABLE
from lapestudio.ui import corpus_survey, file_preview, session
from lapestudio.ui.main_window import MainWindow
from lapestudio.ui.recent import FOLDER_KEY
from lapestudio.ui.style import Theme
from tests.jobs.conftest import wait_until
from tests.ui import recorded

# No test needs a screen, and none should flicker over somebody's.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
WAIT_MS = 15_000
_FAKE_WORKER = Path(__file__).with_name("fake_worker.py")


@pytest.fixture(autouse=True)
def no_leftovers(qapp, monkeypatch):
    """Fail where a thread still runs, a timer still ticks or a window is still open; name the line that began it."""
    began = {}
    start_thread = QThread.start

    def start(thread, *arguments):
        began[id(thread)] = "".join(traceback.format_stack(limit=6)[:-1])
        start_thread(thread, *arguments)

    monkeypatch.setattr(QThread, "start", start)
    yield
    for widget in QApplication.topLevelWidgets():
        if widget.isVisible():
            widget.close()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    left = []
    # By type, not by isinstance: the latter asks lazy objects of other libraries to come to life.
    objects = [thing for thing in gc.get_objects() if issubclass(type(thing), QThread | QTimer)]
    for thing in objects:
        if isinstance(thing, QThread) and shiboken6.isValid(thing) and thing.isRunning():
            left.append(f"a thread still runs, started here:\n{began.get(id(thing), 'unknown')}")
            thing.requestInterruption()
            thing.wait()
        elif isinstance(thing, QTimer) and shiboken6.isValid(thing) and thing.isActive():
            left.append(f"a timer of {thing.parent()} still ticks")
            thing.stop()
    assert not left, "\n".join(left)


@pytest.fixture(autouse=True, scope="session")
def english_numbers():
    QLocale.setDefault(QLocale(QLocale.Language.English, QLocale.Country.UnitedStates))


@pytest.fixture(autouse=True)
def no_warnings_of_qt(qtlog):
    """Fail on what Qt complains about."""
    yield
    complaints = [record.message for record in qtlog.records if record.type != QtMsgType.QtDebugMsg]
    # The platform without a screen, and the few fonts of a machine that runs tests.
    known = ("This plugin does not support", "propagateSizeHints", "OpenType support missing")
    complaints = [text for text in complaints if not text.startswith(known)]
    assert not complaints


@pytest.fixture
def settings(tmp_path):
    made = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    made.setValue(FOLDER_KEY, str(tmp_path / "projects"))
    return made


@pytest.fixture
def theme(qapp, settings):
    made = Theme(qapp, settings)
    yield made
    made.set_name("light")
    shiboken6.delete(made)


@pytest.fixture
def engine(monkeypatch):
    """Questions to the engine are answered at once; `engine["report"]` and `engine["tokens"]` are the answers."""
    answers = {"report": recorded.model_report, "tokens": lambda corpora: dict.fromkeys(corpora, 1234)}

    def inspect(source, *, is_cancelled=None):
        return answers["report"](source)

    def ask(name, arguments, *, is_cancelled=None, on_news=None):
        """Read text in this process, and count tokens without a tokenizer."""
        if name == "preview":
            return text_questions.preview(arguments, on_news)
        if name == "describe":
            return text_questions.describe(arguments, on_news)
        codes = [corpus["language"] for corpus in arguments["corpora"]]
        for code, number in answers["tokens"](codes).items():
            on_news({"name": code, "result": number})
        return {}

    monkeypatch.setattr(session, "inspect_model", inspect)
    monkeypatch.setattr(corpus_survey, "run_query", ask)
    monkeypatch.setattr(file_preview, "run_query", ask)
    return answers


@pytest.fixture
def worker(tmp_path, repository, monkeypatch):
    """Jobs are run by the fake worker; call with the project and the behaviour. Nothing of them is left at the end."""
    program = tmp_path / "fake-python"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{_FAKE_WORKER}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(program))
    monkeypatch.setenv("PYTHONPATH", str(repository))
    folders = []

    def behave(project, behaviour):
        (project.runs_folder / "fake_worker").write_text(behaviour, encoding="utf-8")
        folders.append(project.runs_folder)

    yield behave
    for run in [RunFolder(path.parent) for folder in folders for path in folder.glob("*/spec.json")]:
        stopping.kill(run)
        wait_until(lambda run=run: not stopping.survivors(run))


@pytest.fixture
def project(tmp_path):
    return recorded.write_project(tmp_path / "projects" / "mine")


@pytest.fixture
def open_window(qtbot, settings, theme, engine):
    """Open the window on a project, or on the start page; it is closed at the end."""
    windows = []

    def open_it(project=None):
        window = MainWindow(settings, theme)
        windows.append(window)
        window.show()
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow, timeout=WAIT_MS)
        if project is not None:
            assert window.open_project(project.folder)
            wait_for_quiet(qtbot, window)
        return window

    yield open_it
    for window in windows:
        if shiboken6.isValid(window):
            window.close()
            shiboken6.delete(window)


def wait_for_quiet(qtbot, window):
    """Wait until nothing is being read, counted or selected."""
    from lapestudio.ui.query_thread import LatestAnswer

    def is_quiet():
        survey = window.view.session.survey
        askers = window.view.findChildren(LatestAnswer)
        return not survey.is_counting and not any(asker.is_busy for asker in askers)

    qtbot.waitUntil(is_quiet, timeout=WAIT_MS)
