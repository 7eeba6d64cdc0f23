"""The first thing seen: the built-in example, a new project, an existing one, or one of the latest."""

from pathlib import Path

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from lapestudio.ui.icons import pixmap
from lapestudio.ui.style import theme_colors
from lapestudio.ui.text import isolate, path_text
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.choice_button import ChoiceButton
from lapestudio.ui.widgets.labels import label
from lapestudio.ui.widgets.message_bar import MessageBar

_WIDTH = 620
_LOGO_SIZE = 44
_MOST_ROWS = 6
_ROW_HEIGHT = 26


class StartPage(QWidget):
    """Offers ways to begin.

    Args:
        parent: the Qt parent.

    Signals:
        example_requested: the built-in example is wanted.
        new_requested: a new project is wanted.
        open_requested: a project is to be chosen.
        project_chosen: folder of one of the latest projects.
    """

    example_requested = Signal()
    new_requested = Signal()
    open_requested = Signal()
    project_chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.message = MessageBar(self)
        self._logo = QLabel(self)
        self._recent_title = label(self.tr("Recent projects"), "heading", parent=self, wraps=False)
        self._recent = QListWidget(self)
        self._recent.setObjectName("recentProjects")
        self._recent.setAccessibleName(self.tr("Recent projects"))
        self._recent.itemActivated.connect(self._on_item_activated)
        self._recent.itemClicked.connect(self._on_item_activated)
        self._lay_out()
        self.show_recent([])
        self._paint_logo()

    def show_recent(self, folders: list[Path]) -> None:
        """List the latest projects."""
        self._recent.clear()
        for folder in folders:
            item = QListWidgetItem(f"{isolate(folder.name)}   {path_text(folder.parent)}")
            item.setData(Qt.ItemDataRole.UserRole, folder)
            item.setToolTip(path_text(folder))
            self._recent.addItem(item)
        for part in (self._recent_title, self._recent):
            part.setVisible(bool(folders))
        rows = max(1, min(_MOST_ROWS, len(folders)))
        self._recent.setFixedHeight(rows * max(_ROW_HEIGHT, self._recent.sizeHintForRow(0)) + 2 * Space.XS)

    def set_busy(self, *, is_busy: bool) -> None:
        """Keep the user from choosing twice while the example is being written."""
        for made in self.findChildren(ChoiceButton):
            made.setEnabled(not is_busy)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._paint_logo()

    def _lay_out(self) -> None:
        column = QWidget(self)
        column.setMaximumWidth(_WIDTH)
        column.setMinimumWidth(min(_WIDTH, 480))
        layout = QVBoxLayout(column)
        layout.setSpacing(Space.M)
        layout.addStretch(2)
        heading = QHBoxLayout()
        heading.setSpacing(Space.L)
        heading.addWidget(self._logo)
        heading.addWidget(label("LAPE Studio", "title", parent=column, wraps=False), 1)
        layout.addLayout(heading)
        layout.addWidget(
            label(
                self.tr(
                    "Teach an existing language model a language it knows poorly, by finding and training only "
                    "the neurons that work for that language."
                ),
                "muted",
                parent=column,
            )
        )
        layout.addSpacing(Space.M)
        layout.addWidget(self.message)
        for made in self._choices(column):
            layout.addWidget(made)
        layout.addSpacing(Space.M)
        layout.addWidget(self._recent_title)
        layout.addWidget(self._recent)
        layout.addStretch(3)
        outer = QHBoxLayout(self)
        outer.setContentsMargins(Space.XXL, Space.XL, Space.XXL, Space.XL)
        outer.addStretch(1)
        outer.addWidget(column, 6)
        outer.addStretch(1)

    def _choices(self, parent: QWidget) -> list[ChoiceButton]:
        example = ChoiceButton(
            "example",
            self.tr("Open the built-in example"),
            self.tr("A small model and text in a dozen languages: the whole line in a few minutes."),
            name="openExample",
            parent=parent,
        )
        new = ChoiceButton(
            "add",
            self.tr("New project"),
            self.tr("Start with your own model and your own texts."),
            name="newProject",
            parent=parent,
        )
        opened = ChoiceButton(
            "folder",
            self.tr("Open project"),
            self.tr("Go on with a project folder on this computer."),
            name="openProject",
            parent=parent,
        )
        example.clicked.connect(self.example_requested)
        new.clicked.connect(self.new_requested)
        opened.clicked.connect(self.open_requested)
        return [example, new, opened]

    def _paint_logo(self) -> None:
        self._logo.setPixmap(pixmap("logo", theme_colors().accent, _LOGO_SIZE))

    @Slot(QListWidgetItem)
    def _on_item_activated(self, item: QListWidgetItem) -> None:
        self.project_chosen.emit(item.data(Qt.ItemDataRole.UserRole))
