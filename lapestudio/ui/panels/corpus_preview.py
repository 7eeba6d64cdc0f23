"""The text itself: of the whole language, of one file with what can be chosen in it, or of what was left out."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from lapestudio.core.text_settings import ReadingOptions, options_for
from lapestudio.corpora.corpus_summary import CorpusSummary
from lapestudio.corpora.segment import Segment
from lapestudio.ui.file_preview import FileLook, FilePreview
from lapestudio.ui.panels.reading_choices import ReadingChoices
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.text import count_text, is_right_to_left, isolate, path_text
from lapestudio.ui.widgets.card import Card
from lapestudio.ui.widgets.labels import button, label
from lapestudio.ui.widgets.message_bar import MessageBar

Index = QModelIndex | QPersistentModelIndex
_RICH_FONTS = ("Charis SIL", "Charis", "Doulos SIL", "Gentium", "Noto Sans", "DejaVu Sans")

_PADDING = 30
_LINE_ROOM = 12
_MOST_HEIGHT = 100_000


class _WholeText(QStyledItemDelegate):
    """Gives each text the height that it needs when its lines are broken.

    Qt's own measure forgets the padding of the style sheet: texts that nearly fit a line would lose their end.
    """

    def sizeHint(self, _option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of an item."""
        view = self.parent()
        assert isinstance(view, QListWidget)
        width = max(1, view.viewport().width() - _PADDING)
        flags = int(Qt.TextFlag.TextWordWrap | Qt.TextFlag.TextWrapAnywhere)
        text = str(index.data() or "")
        rect = view.fontMetrics().boundingRect(QRect(0, 0, width, _MOST_HEIGHT), flags, text)
        return QSize(width, rect.height() + _LINE_ROOM)


class CorpusPreview(Card):
    """Shows text, in its own direction.

    Args:
        session: the open project.
        parent: the Qt parent.

    Signals:
        options_changed: path of a file, its new `ReadingOptions`, whether for all such files of its folder.
    """

    options_changed = Signal(object, object, bool)

    def __init__(self, session: ProjectSession, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._session = session
        self._code: str | None = None
        self._path: Path | None = None
        self._title = label("", "heading", parent=self, wraps=False)
        self._back = button(self.tr("All text"), "link", name="previewAll", parent=self)
        self._back.clicked.connect(self._on_back_clicked)
        self.header.addWidget(self._title, 1)
        self.header.addWidget(self._back)
        self.body.addLayout(self.header)
        self._facts = label("", "muted", parent=self)
        self.body.addWidget(self._facts)
        self.choices = ReadingChoices(self)
        self.choices.options_changed.connect(self._on_options_changed)
        self.body.addWidget(self.choices)
        self.message = MessageBar(self)
        self.body.addWidget(self.message)
        self.list = self._make_list()
        self.body.addWidget(self.list, 1)
        self.looker = FilePreview(self)
        self.looker.looked.connect(self._on_looked)
        self.looker.failed.connect(self._on_look_failed)
        self.show_corpus(None)

    @property
    def path(self) -> Path | None:
        """The file that is shown; nothing while the whole language is."""
        return self._path

    def show_corpus(self, code: str | None) -> None:
        """Show how the text of a language begins."""
        self._begin(code, self.tr("How the text begins"), None)
        summary = self._summary()
        self._show_segments(summary.preview if summary is not None else [])

    def show_file(self, code: str, path: Path) -> None:
        """Show a file, and what can be chosen in it."""
        self._begin(code, path.name, path)
        self._facts.setText(self.tr("Reading…"))
        self._facts.show()
        self.looker.look(path, code, self._options())

    def show_examples(self, code: str, setting: str, name: str) -> None:
        """Show what a cleaning step left out or changed.

        Args:
            code: of the language.
            setting: the step's field in the settings.
            name: what the step is called in the window.
        """
        self._begin(code, name, None)
        summary = self._summary()
        step = next((one for one in summary.cleaning if one.setting == setting), None) if summary is not None else None
        if step is None:
            self.show_corpus(code)
            return
        self._back.show()
        self._facts.setText(
            self.tr("{number} removed. Untick the step to have them back; your files stay as they are.").format(
                number=count_text(step.num_removed)
            )
            if step.num_removed
            else self.tr("{number} changed, before and after.").format(number=count_text(step.num_changed))
        )
        self._facts.show()
        for example in step.examples:
            text = isolate(example.before) if not example.after else f"{example.before}\n→ {example.after}"
            self._add(text, example.location)

    def _make_list(self) -> QListWidget:
        made = QListWidget(self)
        made.setObjectName("preview")
        made.setAccessibleName(self.tr("Text"))
        # Where the usual font lacks a letter, those that cover phonetic and rare letters are asked first.
        font = made.font()
        font.setFamilies([*font.families(), *_RICH_FONTS])
        made.setFont(font)
        made.setWordWrap(True)
        made.setSelectionMode(QListWidget.SelectionMode.NoSelection)
        made.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        made.setItemDelegate(_WholeText(made))
        # Lines are broken for the width that is left beside the bar: it must not come and go.
        made.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        made.setResizeMode(QListWidget.ResizeMode.Adjust)
        made.setTextElideMode(Qt.TextElideMode.ElideNone)
        return made

    def _begin(self, code: str | None, title: str, path: Path | None) -> None:
        self._code, self._path = code, path
        self._title.setText(title)
        self._title.setToolTip(path_text(path) if path is not None else "")
        self._back.setVisible(path is not None)
        self._facts.hide()
        self.choices.hide()
        self.message.clear()
        self.list.clear()
        rtl = code is not None and is_right_to_left(code)
        self.list.setLayoutDirection(Qt.LayoutDirection.RightToLeft if rtl else Qt.LayoutDirection.LeftToRight)

    def _summary(self) -> CorpusSummary | None:
        return self._session.survey.summaries.get(self._code or "")

    def _options(self) -> ReadingOptions:
        corpus = self._session.project.corpus(self._code) if self._code is not None else None
        if corpus is None or self._path is None:
            return ReadingOptions()
        return options_for(self._path, corpus.reading)

    def _show_segments(self, segments: Sequence[Segment]) -> None:
        for segment in segments:
            place = " · ".join(filter(None, (segment.location, segment.field, segment.speaker)))
            self._add(segment.text, place)

    def _add(self, text: str, tip: str) -> None:
        item = QListWidgetItem(text)
        item.setToolTip(tip)
        self.list.addItem(item)

    @Slot(object, object)
    def _on_looked(self, path: Path, look: FileLook) -> None:
        if path != self._path:
            return
        facts = [look.notes.format_name]
        facts += [f"{reason}: {count_text(number)}" for reason, number in look.notes.skipped.items()]
        self._facts.setText(" · ".join(facts))
        self.list.clear()
        self._show_segments(look.segments)
        self.choices.show_file(self._options(), look.parts, look.notes, ending=self._shared_ending(path))
        self.choices.show()
        notices = [*look.problems, *look.notes.warnings]
        if notices:
            self.message.show_message("warning", notices[0], "\n".join(notices[1:]))
        else:
            self.message.clear()

    def _shared_ending(self, path: Path) -> str:
        """Return the ending of a file where the language has more files with it in the same folder."""
        summary = self._summary()
        others = [note.path for note in summary.files] if summary is not None else []
        same = [
            other for other in others if other.suffix.lower() == path.suffix.lower() and other.parent == path.parent
        ]
        return path.suffix.lower() if len(same) > 1 else ""

    @Slot(object, str)
    def _on_look_failed(self, path: Path, message: str) -> None:
        if path == self._path:
            self._facts.hide()
            self.message.show_message("warning", message)

    @Slot(object, bool)
    def _on_options_changed(self, options: ReadingOptions, for_all: bool) -> None:
        if self._path is not None:
            self.options_changed.emit(self._path, options, for_all)

    @Slot()
    def _on_back_clicked(self) -> None:
        self.show_corpus(self._code)
