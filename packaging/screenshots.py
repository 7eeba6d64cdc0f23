"""Takes pictures of the real window on the built-in example, with the real engine: every panel, theme and direction.

Usage: python packaging/screenshots.py OUT [--readme]. The pictures are for people to look at; with --readme, those in
the README are taken anew too.
"""

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QLocale, QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTabWidget

from lapestudio.jobs.example import write_example
from lapestudio.ui.app import make_application
from lapestudio.ui.main_window import MainWindow
from lapestudio.ui.project_view import ProjectView
from lapestudio.ui.steps import Step
from lapestudio.ui.style import Theme

_SIZES = ((1280, 800), (1920, 1080))
_README_SIZE = (1280, 800)
_README = Path(__file__).resolve().parent.parent / "resources" / "screenshots"
_PATIENCE_S = 300
_SETTLE_MS = 400


def wait_for(condition: Callable[[], bool]) -> None:
    """Let the window live until a condition holds."""
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the window did not come so far")
        QTest.qWait(50)


class Photographer:
    """Opens the window in one appearance after the other.

    Args:
        app: the application.
        folder: where the example project lies.
        out: where the pictures go.
    """

    def __init__(self, app: QApplication, folder: Path, out: Path) -> None:
        self._app = app
        self._folder = folder
        self._out = out
        self._settings = QSettings(str(folder.parent / "settings.ini"), QSettings.Format.IniFormat)
        self._theme = Theme(app, self._settings, app)

    def run_the_line(self) -> None:
        """Identify, train and export, with pictures while each job is at work."""
        window, view = self._open(_README_SIZE)
        session = view.session
        wait_for(lambda: session.report is not None and len(session.survey.tokens) == len(session.document.languages))
        for step, button in (
            (Step.IDENTIFY, "startIdentify"),
            (Step.TRAIN, "startTrain"),
            (Step.EXPORT, "startExport"),
        ):
            view.show_step(step)
            panel = view.panel(step)
            wait_for(panel.start_button.isEnabled)  # type: ignore[attr-defined]  # these three panels have one
            QTest.mouseClick(panel.start_button, Qt.MouseButton.LeftButton)  # type: ignore[attr-defined]
            self._picture_at_work(window, view, step)
            followed = session.shown(step.value)
            assert followed is not None, f"{button} did nothing"
            wait_for(lambda run=followed: run.is_over)  # type: ignore[misc]  # bound at once
            QTest.qWait(_SETTLE_MS)
        window.close()

    def take_all(self) -> None:
        """Take every panel in every appearance."""
        for theme in ("light", "dark"):
            for size in _SIZES:
                self._take(theme, size, Qt.LayoutDirection.LeftToRight)
        self._take("light", _SIZES[0], Qt.LayoutDirection.RightToLeft)

    def take_for_readme(self) -> None:
        """Take the pictures of the README."""
        self._theme.set_name("light")
        window, view = self._open(_README_SIZE)
        for step in (Step.LANGUAGES, Step.IDENTIFY, Step.TRAIN):
            view.show_step(step)
            self._settle(view)
            _README.mkdir(exist_ok=True)
            self._save(window, _README / f"{step.value}.png")
        window.close()

    def _take(self, theme: str, size: tuple[int, int], direction: Qt.LayoutDirection) -> None:
        self._app.setLayoutDirection(direction)
        self._theme.set_name("dark" if theme == "dark" else "light")
        rtl = "-rtl" if direction == Qt.LayoutDirection.RightToLeft else ""
        name = f"{theme}-{size[0]}x{size[1]}{rtl}"
        window, view = self._open(size)
        for step in Step:
            view.show_step(step)
            self._settle(view)
            self._save(window, self._out / f"{step.value}-{name}.png")
            tabs = view.panel(step).findChild(QTabWidget, "pictures")
            for tab in range(1, tabs.count() if tabs is not None else 0):
                tabs.setCurrentIndex(tab)
                QTest.qWait(_SETTLE_MS)
                self._save(window, self._out / f"{step.value}-{tab}-{name}.png")
        window.close_project()
        QTest.qWait(_SETTLE_MS)
        self._save(window, self._out / f"start-{name}.png")
        window.close()
        self._app.setLayoutDirection(Qt.LayoutDirection.LeftToRight)

    def _open(self, size: tuple[int, int]) -> tuple[MainWindow, ProjectView]:
        window = MainWindow(self._settings, self._theme)
        window.resize(*size)
        window.show()
        window.open_project(self._folder)
        assert window.view is not None, "the example cannot be opened"
        return window, window.view

    def _settle(self, view: ProjectView) -> None:
        session = view.session
        wait_for(lambda: not (session.is_inspecting or session.survey.is_counting or session.selection.is_busy))
        QTest.qWait(_SETTLE_MS)

    def _picture_at_work(self, window: MainWindow, view: ProjectView, step: Step) -> None:
        def is_telling() -> bool:
            followed = view.session.shown(step.value)
            if followed is None:
                return False
            progress = followed.history.progress
            return followed.is_over or (progress is not None and progress.done > progress.total // 2 > 0)

        wait_for(is_telling)
        QTest.qWait(_SETTLE_MS)
        self._save(window, self._out / f"{step.value}-at-work.png")

    def _save(self, window: MainWindow, path: Path) -> None:
        if not window.grab().save(str(path)):
            raise OSError(0, "the picture cannot be written", str(path))


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description="Take pictures of the window on the built-in example.")
    parser.add_argument("out", type=Path, help="folder for the pictures")
    parser.add_argument("--readme", action="store_true", help="take those of the README anew too")
    arguments = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    arguments.out.mkdir(parents=True, exist_ok=True)
    app = make_application()
    QLocale.setDefault(QLocale(QLocale.Language.English, QLocale.Country.UnitedStates))
    place = Path(tempfile.mkdtemp(prefix="lapestudio-screenshots-"))
    try:
        write_example(place / "Example")
        photographer = Photographer(app, place / "Example", arguments.out)
        photographer.run_the_line()
        photographer.take_all()
        if arguments.readme:
            photographer.take_for_readme()
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
