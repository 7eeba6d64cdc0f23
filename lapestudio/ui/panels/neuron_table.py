"""The selected neurons as a table: how many each language has, and where most of them lie."""

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from lapestudio.ui.selection import SelectedNeurons
from lapestudio.ui.text import count_text, isolate, language_text, percent_text

Index = QModelIndex | QPersistentModelIndex
_NO_PARENT = QModelIndex()
_NAMED_LAYERS = 3


class NeuronTableModel(QAbstractTableModel):
    """One row a language.

    Args:
        parent: the Qt parent.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[tuple[str, ...]] = []

    def show_selection(self, selected: SelectedNeurons | None) -> None:
        """Show another selection."""
        rows = [] if selected is None else _rows(selected)
        if len(rows) == len(self._rows) and rows:
            # The sliders change the numbers, not the rows: the view keeps its place.
            self._rows = rows
            self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, self.columnCount() - 1))
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def rowCount(self, parent: Index = _NO_PARENT) -> int:  # noqa: N802 - Qt's name
        """Return the number of languages."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _NO_PARENT) -> int:  # noqa: N802 - Qt's name
        """Return the number of columns."""
        return 0 if parent.isValid() else 5

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        """Return a heading."""
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < self.columnCount():
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        return (
            self.tr("Language"),
            self.tr("Neurons"),
            self.tr("Of all"),
            self.tr("Most in layers"),
            self.tr("Tokens counted"),
        )[section]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return what stands in a cell."""
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._rows[index.row()][index.column()]
        return _alignment(index.column()) if role == Qt.ItemDataRole.TextAlignmentRole else None


class NeuronTable(QTableView):
    """Shows the table.

    Args:
        parent: the Qt parent.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = NeuronTableModel(self)
        self.setObjectName("neuronTable")
        self.setAccessibleName(self.tr("Neurons by language"))
        self.setModel(self._model)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)

    def show_selection(self, selected: SelectedNeurons | None) -> None:
        """Show another selection."""
        self._model.show_selection(selected)


def _rows(selected: SelectedNeurons) -> list[tuple[str, ...]]:
    num_neurons = selected.owners.size
    rows: list[tuple[str, ...]] = []
    for k, code in enumerate(selected.neurons.languages):
        layers = selected.per_layer[k]
        total = int(layers.sum())
        most = [int(layer) for layer in np.argsort(-layers, kind="stable")[:_NAMED_LAYERS] if layers[layer] > 0]
        tokens = int(selected.counted.counts.num_tokens[k])
        rows.append(
            (
                language_text(code),
                count_text(total),
                percent_text(total / num_neurons, 2),
                isolate(", ".join(str(layer) for layer in sorted(most))),
                count_text(tokens),
            )
        )
    return rows


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignLeading if column == 0 else Qt.AlignmentFlag.AlignTrailing
    return side | Qt.AlignmentFlag.AlignVCenter
