"""What a training has changed, in plain words: each language before and after."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from lapestudio.jobs.history import MetricSeries, RunHistory
from lapestudio.ui.text import language_name, language_text, left_to_right, number_text
from lapestudio.ui.widgets.message_bar import Level

VALIDATION_LOSS = "validation_loss"
CONTROL_PREFIX = "control_loss/"
_UNCHANGED = 0.01
_CLEARLY = 0.05
_ROW_HEIGHT = 28


@dataclass(frozen=True, slots=True, kw_only=True)
class LossChange:
    """One language, in nats a token."""

    language: str
    is_target: bool
    before: float
    after: float

    @property
    def relative(self) -> float:
        """The change as a share of the loss before."""
        return (self.after - self.before) / self.before if self.before else math.nan


def loss_changes(history: RunHistory, target: str) -> list[LossChange]:
    """Return what a run has changed so far: from its first validation to the checkpoint that is kept as best."""
    best_step = history.checkpoints.get("best")
    changes = []
    for name, series in sorted(history.metrics.items(), key=lambda item: item[0] != VALIDATION_LOSS):
        is_target = name == VALIDATION_LOSS
        if not (is_target or name.startswith(CONTROL_PREFIX)) or not series.values:
            continue
        changes.append(
            LossChange(
                language=target if is_target else name.removeprefix(CONTROL_PREFIX),
                is_target=is_target,
                before=series.values[0],
                after=_value_at(series, best_step),
            )
        )
    return changes


def change_in_words(change: LossChange) -> str:
    """Return what the change means."""
    tr = QCoreApplication.translate
    if not math.isfinite(change.relative):
        return tr("LossTable", "broken: the loss is no number any more")
    if abs(change.relative) < _UNCHANGED:
        return tr("LossTable", "not learnt yet") if change.is_target else tr("LossTable", "kept")
    if change.relative < 0:
        return tr("LossTable", "learnt") if change.is_target else tr("LossTable", "even a little better")
    if change.is_target:
        return tr("LossTable", "worse: try a smaller learning rate")
    return tr("LossTable", "worse") if change.relative > _CLEARLY else tr("LossTable", "a little worse")


def verdict(changes: Sequence[LossChange]) -> tuple[Level, str]:
    """Return what was learnt and what was lost, and how good that is."""
    tr = QCoreApplication.translate
    target = next((change for change in changes if change.is_target), None)
    if target is None:
        return "success", tr("LossTable", "The training is done.")
    text = tr("LossTable", "{language}: {words}; the loss went from {before} to {after} nats a token.").format(
        language=language_name(target.language),
        words=change_in_words(target),
        before=number_text(target.before, 2),
        after=number_text(target.after, 2),
    )
    controls = [change for change in changes if not change.is_target]
    # Written so that a loss that is no number any more counts as worse.
    lost = [change for change in controls if not change.relative < _UNCHANGED]
    much = [change for change in lost if not change.relative <= _CLEARLY]
    level: Level = "success" if target.relative < 0 and not much else "warning"
    if not controls:
        return level, text
    if not lost:
        return level, f"{text} {tr('LossTable', 'No control language got worse.')}"
    sentence = tr("LossTable", "Worse: {languages}.") if much else tr("LossTable", "A little worse: {languages}.")
    names = ", ".join(language_name(change.language) for change in much or lost)
    return level, f"{text} {sentence.format(languages=names)}"


class LossTable(QTableWidget):
    """One row a language, the target first.

    Args:
        parent: the Qt parent.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(0, 5, parent)
        self.setObjectName("lossTable")
        self.setAccessibleName(self.tr("Before and after training"))
        headings = (
            self.tr("Language"),
            self.tr("Loss before"),
            self.tr("Loss after"),
            self.tr("Perplexity"),
            self.tr("In words"),
        )
        self.setHorizontalHeaderLabels(headings)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(_ROW_HEIGHT)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)

    def show_changes(self, changes: Sequence[LossChange]) -> None:
        """Show other changes."""
        self.setRowCount(len(changes))
        for row, change in enumerate(changes):
            texts = (
                language_text(change.language),
                number_text(change.before, 3),
                number_text(change.after, 3),
                left_to_right(f"{_perplexity(change.before)} → {_perplexity(change.after)}"),
                change_in_words(change),
            )
            for column, text in enumerate(texts):
                item = QTableWidgetItem(text)
                if change.is_target:
                    font = item.font()
                    font.setBold(True)
                    item.setFont(font)
                self.setItem(row, column, item)
        rows = min(len(changes), 4)
        self.setFixedHeight(rows * _ROW_HEIGHT + self.horizontalHeader().sizeHint().height() + 4)


def _value_at(series: MetricSeries, step: int | None) -> float:
    if step is None or step not in series.steps:
        return series.values[-1]
    return series.values[series.steps.index(step)]


def _perplexity(loss: float) -> str:
    try:
        return number_text(math.exp(loss), 1)
    except OverflowError:
        return "\u221e"
