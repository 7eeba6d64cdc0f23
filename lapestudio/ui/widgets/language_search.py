"""A search field that finds languages by name, own name or code, and adds the one that is chosen."""

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QListView, QVBoxLayout, QWidget

from lapestudio.core.language_tables import registry
from lapestudio.core.languages import Language, private_language, search_languages
from lapestudio.corpora.script_check import script_of
from lapestudio.ui.icons import icon
from lapestudio.ui.style import theme_colors
from lapestudio.ui.text import isolate
from lapestudio.ui.tokens import Space

_MOST_RESULTS = 40
_LIST_HEIGHT = 220
_FREE_CODE = "qaa"
_NO_PARENT = QModelIndex()
Index = QModelIndex | QPersistentModelIndex


class LanguageResults(QAbstractListModel):
    """The languages that were found.

    Args:
        parent: the Qt parent.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._languages: list[Language] = []

    def show_languages(self, languages: list[Language]) -> None:
        """Show other languages."""
        self.beginResetModel()
        self._languages = languages
        self.endResetModel()

    def language_at(self, row: int) -> Language | None:
        """Return the language of a row."""
        return self._languages[row] if 0 <= row < len(self._languages) else None

    def rowCount(self, parent: Index = _NO_PARENT) -> int:  # noqa: N802 - Qt's name
        """Return the number of languages."""
        return 0 if parent.isValid() else len(self._languages)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return name, own name and code."""
        language = self.language_at(index.row()) if index.isValid() else None
        if language is None or role != Qt.ItemDataRole.DisplayRole:
            return None
        if language.iso639_3 == _FREE_CODE:
            return self.tr("A language without a code: {name}").format(name=isolate(language.name))
        own = f" · {isolate(language.endonym)}" if language.endonym and language.endonym != language.name else ""
        return f"{isolate(language.name)}{own} · {isolate(language.code)}"


class LanguageSearch(QWidget):
    """Finds and offers languages.

    Args:
        parent: the Qt parent.

    Signals:
        language_chosen: a `Language`.
    """

    language_chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = QLineEdit(self)
        self.field.setObjectName("languageSearch")
        self.field.setPlaceholderText(self.tr("Add a language: name or code"))
        self.field.setAccessibleName(self.tr("Add a language"))
        self.field.setClearButtonEnabled(True)
        self._search_action = self.field.addAction(
            icon("search", theme_colors().muted), QLineEdit.ActionPosition.LeadingPosition
        )
        self.field.textChanged.connect(self._on_text_changed)
        self.field.returnPressed.connect(self._on_return_pressed)
        self.field.installEventFilter(self)
        self._model = LanguageResults(self)
        self.results = QListView(self)
        self.results.setObjectName("languageResults")
        self.results.setAccessibleName(self.tr("Languages found"))
        self.results.setModel(self._model)
        self.results.setFixedHeight(_LIST_HEIGHT)
        self.results.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.results.clicked.connect(self._on_result_chosen)
        self.results.activated.connect(self._on_result_chosen)
        self.results.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(Space.XS)
        layout.addWidget(self.field)
        layout.addWidget(self.results)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Let the arrow keys walk the results while typing goes on; Escape closes them."""
        if watched is self.field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}
            step = steps.get(Qt.Key(event.key()))
            if step is not None and not self.results.isHidden():
                self._walk(step)
                return True
            if event.key() == Qt.Key.Key_Escape and self.field.text():
                self.field.clear()
                return True
        return super().eventFilter(watched, event)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._search_action.setIcon(icon("search", theme_colors().muted))

    def _walk(self, step: int) -> None:
        row = max(0, min(self._model.rowCount() - 1, self.results.currentIndex().row() + step))
        self.results.setCurrentIndex(self._model.index(row))

    def _choose(self, index: QModelIndex) -> None:
        language = self._model.language_at(index.row())
        if language is not None:
            self.field.clear()
            self.language_chosen.emit(language)

    def _without_code(self, name: str) -> Language:
        """Return a language or variety that has no code, written as its name is typed."""
        letters = [script for letter in name if (script := script_of(letter))]
        usual = letters[0] if letters and letters[0] in registry().scripts else None
        return private_language(name, script=usual)

    @Slot(str)
    def _on_text_changed(self, text: str) -> None:
        found = search_languages(text, _MOST_RESULTS) if text.strip() else []
        name = text.strip().casefold()
        is_known = any(name in (one.code, one.name.casefold()) for one in found)
        if any(map(str.isalnum, name)) and not is_known:
            found.append(self._without_code(text.strip()))
        self._model.show_languages(found)
        self.results.setVisible(bool(found))
        if found:
            self.results.setCurrentIndex(self._model.index(0))

    @Slot()
    def _on_return_pressed(self) -> None:
        self._choose(self.results.currentIndex())

    @Slot(QModelIndex)
    def _on_result_chosen(self, index: QModelIndex) -> None:
        self._choose(index)
