"""The window: the start page or an open project, the menu, and the shortcuts."""

from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings, QSize, Signal, Slot
from PySide6.QtGui import QAction, QActionGroup, QCloseEvent, QKeySequence, QUndoGroup
from PySide6.QtWidgets import QFileDialog, QMainWindow, QMenu, QMessageBox, QStackedWidget, QWidget

import lapestudio
from lapestudio.core.errors import UserError
from lapestudio.core.project import PROJECT_FILE_NAME, Project
from lapestudio.ui.new_project import NewProjectDialog
from lapestudio.ui.project_view import ProjectView
from lapestudio.ui.query_thread import IsCancelled, LatestAnswer
from lapestudio.ui.recent import projects_folder, recent_projects, remember_project
from lapestudio.ui.start_page import StartPage
from lapestudio.ui.steps import Step, step_name
from lapestudio.ui.style import Theme, ThemeName
from lapestudio.ui.text import path_text

_GEOMETRY_KEY = "window/geometry"
_SIZE = QSize(1280, 800)
_SMALLEST = QSize(1024, 640)


class MainWindow(QMainWindow):
    """The only window.

    Args:
        settings: the user's settings.
        theme: the application's theme.
        parent: the Qt parent.

    Signals:
        project_opened: a `Project` is shown.
    """

    project_opened = Signal(object)

    def __init__(self, settings: QSettings, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._theme = theme
        self.setWindowTitle("LAPE Studio")
        self.setMinimumSize(_SMALLEST)
        self.resize(_SIZE)
        geometry = settings.value(_GEOMETRY_KEY)
        if isinstance(geometry, QByteArray):
            self.restoreGeometry(geometry)
        self.view: ProjectView | None = None
        self.start_page = StartPage(self)
        self.start_page.example_requested.connect(self._on_example_requested)
        self.start_page.new_requested.connect(self._on_new_requested)
        self.start_page.open_requested.connect(self._on_open_requested)
        self.start_page.project_chosen.connect(self.open_project)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.start_page)
        self.setCentralWidget(self._stack)
        self._example_writer = LatestAnswer(self, interrupts=False)
        self._example_writer.answered.connect(self.open_project)
        self._example_writer.failed.connect(self._on_example_failed)
        self._example_writer.busy_changed.connect(self._on_example_busy_changed)
        self._fill_menu()
        self._show_recent()

    # Projects

    @Slot(object)
    def open_project(self, folder: Path) -> bool:
        """Show a project; say on the start page why not where it cannot be opened."""
        try:
            project = Project.open(folder)
        except UserError as error:
            self.close_project()
            self.start_page.message.show_message("error", str(error))
            return False
        self._show_project(project)
        return True

    @Slot()
    def close_project(self) -> None:
        """Go back to the start page; the project's jobs go on."""
        if self.view is not None:
            view, self.view = self.view, None
            view.shut_down()
            self._stack.removeWidget(view)
            view.deleteLater()
        self.setWindowTitle("LAPE Studio")
        self._show_recent()
        self._enable_steps()
        self.start_page.message.clear()
        self._stack.setCurrentWidget(self.start_page)

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802 - Qt's name
        """Stop all threads and wait for them; jobs go on."""
        self._settings.setValue(_GEOMETRY_KEY, self.saveGeometry())
        self._example_writer.shut_down()
        if self.view is not None:
            self.view.shut_down()
        super().closeEvent(event)

    def _show_project(self, project: Project) -> None:
        self.close_project()
        self.view = ProjectView(project, self)
        self.view.start_requested.connect(self.close_project)
        self._undo_group.setActiveStack(self.view.session.undo_stack)
        self._stack.addWidget(self.view)
        self._stack.setCurrentWidget(self.view)
        self.setWindowTitle(f"{project.document.name} · LAPE Studio")
        remember_project(self._settings, project.folder)
        self._show_recent()
        self._enable_steps()
        self.view.setFocus()
        self.view.begin()
        self.project_opened.emit(project)

    def _show_recent(self) -> None:
        folders = recent_projects(self._settings)
        self.start_page.show_recent(folders)
        self._recent_menu.clear()
        for folder in folders:
            action = self._recent_menu.addAction(path_text(folder))
            action.setData(folder)
            action.triggered.connect(self._on_recent_triggered)
        self._recent_menu.setEnabled(bool(folders))

    @Slot()
    def _on_recent_triggered(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.open_project(action.data())

    @Slot()
    def _on_new_requested(self) -> None:
        dialog = NewProjectDialog(projects_folder(self._settings), self)
        dialog.setObjectName("newProjectDialog")
        dialog.accepted.connect(self._on_project_made)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    @Slot()
    def _on_project_made(self) -> None:
        dialog = self.sender()
        if isinstance(dialog, NewProjectDialog) and dialog.project is not None:
            self._show_project(dialog.project)
            assert self.view is not None
            self.view.show_step(Step.MODEL)

    @Slot()
    def _on_open_requested(self) -> None:
        start = str(projects_folder(self._settings))
        chosen = QFileDialog.getExistingDirectory(self, self.tr("Open project"), start)
        if chosen:
            self.open_project(Path(chosen))

    @Slot()
    def _on_example_requested(self) -> None:
        folder = projects_folder(self._settings) / "Example"
        if (folder / PROJECT_FILE_NAME).exists():
            self.open_project(folder)
            return

        def write(_is_cancelled: IsCancelled) -> object:
            from lapestudio.jobs.example import write_example

            write_example(folder)
            return folder

        self._example_writer.ask(write)

    @Slot(str, str)
    def _on_example_failed(self, message: str, details: str) -> None:
        self.close_project()
        self.start_page.message.show_message("error", message, details)

    @Slot(bool)
    def _on_example_busy_changed(self, is_busy: bool) -> None:
        self.start_page.set_busy(is_busy=is_busy)

    # Menu

    def _fill_menu(self) -> None:
        project = self.menuBar().addMenu(self.tr("&Project"))
        self._add(project, self.tr("&New…"), self._on_new_requested, QKeySequence.StandardKey.New)
        self._add(project, self.tr("&Open…"), self._on_open_requested, QKeySequence.StandardKey.Open)
        self._recent_menu = project.addMenu(self.tr("Open &recent"))
        self._add(project, self.tr("Open the built-in &example"), self._on_example_requested)
        project.addSeparator()
        self._add(project, self.tr("&Close project"), self.close_project, QKeySequence.StandardKey.Close)
        quit_action = self._add(project, self.tr("&Quit"), self.close, QKeySequence.StandardKey.Quit)
        quit_action.setMenuRole(QAction.MenuRole.QuitRole)
        self._fill_edit_menu(self.menuBar().addMenu(self.tr("&Edit")))
        self._fill_go_menu(self.menuBar().addMenu(self.tr("&Go")))
        self._fill_view_menu(self.menuBar().addMenu(self.tr("&View")))
        about = self._add(self.menuBar().addMenu(self.tr("&Help")), self.tr("&About"), self._on_about_triggered)
        about.setMenuRole(QAction.MenuRole.AboutRole)

    def _fill_edit_menu(self, menu: QMenu) -> None:
        self._undo_group = QUndoGroup(self)
        undo = self._undo_group.createUndoAction(self, self.tr("Undo:"))
        undo.setShortcuts(QKeySequence.StandardKey.Undo)
        redo = self._undo_group.createRedoAction(self, self.tr("Redo:"))
        redo.setShortcuts(QKeySequence.StandardKey.Redo)
        menu.addActions([undo, redo])

    def _fill_go_menu(self, menu: QMenu) -> None:
        self._step_actions: list[QAction] = []
        for number, step in enumerate(Step, start=1):
            action = self._add(menu, step_name(step), self._on_step_triggered)
            action.setShortcut(f"Ctrl+{number}")
            action.setData(step)
            self._step_actions.append(action)
        self._enable_steps()

    def _fill_view_menu(self, menu: QMenu) -> None:
        group = QActionGroup(self)
        names: dict[ThemeName, str] = {
            "system": self.tr("Colours of the &system"),
            "light": self.tr("&Light"),
            "dark": self.tr("&Dark"),
        }
        for name, text in names.items():
            action = self._add(menu, text, self._on_theme_triggered)
            action.setData(name)
            action.setCheckable(True)
            action.setChecked(name == self._theme.name)
            group.addAction(action)

    def _add(self, menu: QMenu, text: str, slot: object, key: QKeySequence.StandardKey | None = None) -> QAction:
        action = QAction(text, self)
        action.triggered.connect(slot)
        if key is not None:
            action.setShortcuts(key)
        menu.addAction(action)
        return action

    def _enable_steps(self) -> None:
        for action in self._step_actions:
            action.setEnabled(self.view is not None)

    @Slot()
    def _on_step_triggered(self) -> None:
        action = self.sender()
        if isinstance(action, QAction) and self.view is not None:
            self.view.show_step(action.data())

    @Slot()
    def _on_theme_triggered(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self._theme.set_name(action.data())

    @Slot()
    def _on_about_triggered(self) -> None:
        text = self.tr(
            "LAPE Studio {version}\n\nFinds the neurons of a language model that work for a language, and trains only "
            "them. The methods are described in arXiv 2402.16438 and arXiv 2510.13580.\n\nFree software under the "
            "Apache License 2.0."
        )
        QMessageBox.about(self, self.tr("About LAPE Studio"), text.format(version=lapestudio.__version__))
