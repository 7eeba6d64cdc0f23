"""Opens the window: settings, theme, main window, event loop."""

import sys
from pathlib import Path

from PySide6.QtCore import QLocale, QSettings, QTimer
from PySide6.QtWidgets import QApplication

import lapestudio
from lapestudio.ui.icons import icon
from lapestudio.ui.main_window import MainWindow
from lapestudio.ui.style import Theme
from lapestudio.ui.tokens import LIGHT


def make_application() -> QApplication:
    """Return the Qt application with its names set."""
    if QLocale().language() == QLocale.Language.C:
        # A machine without a locale: numbers are grouped all the same.
        QLocale.setDefault(QLocale(QLocale.Language.English))
    app = QApplication(sys.argv[:1])
    app.setApplicationName("LAPE Studio")
    app.setOrganizationName("lapestudio")
    app.setApplicationVersion(lapestudio.__version__)
    app.setDesktopFileName("lapestudio")
    app.setWindowIcon(icon("logo", LIGHT.accent))
    return app


def run_app(project: Path | None) -> int:
    """Run the window until it is closed.

    Args:
        project: a project folder to open at once.

    Returns:
        The exit code.
    """
    app = make_application()
    settings = QSettings()
    window = MainWindow(settings, Theme(app, settings, app))
    window.show()
    if project is not None:
        folder = project.absolute()
        # The window is on the screen before the project is read.
        QTimer.singleShot(0, window, lambda: window.open_project(folder))
    return app.exec()
