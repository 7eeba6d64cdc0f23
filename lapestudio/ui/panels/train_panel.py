"""Train: teach the model a language by training that language's neurons, and watch what happens."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from lapestudio.core.errors import UserError
from lapestudio.core.events import ErrorEvent, ResultEvent, StartedEvent, StoppedEvent, TerminalEvent
from lapestudio.core.specs import CorpusSource, TrainSpec
from lapestudio.ui.job_words import stop_sentence, stop_words
from lapestudio.ui.panels.loss_table import CONTROL_PREFIX, VALIDATION_LOSS, LossTable, loss_changes, verdict
from lapestudio.ui.panels.run_panel import RunPanel
from lapestudio.ui.panels.train_setup import HowToTrain, WhatToTrain
from lapestudio.ui.plots.loss_curves import LossCurves
from lapestudio.ui.running_jobs import FollowedRun
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.steps import Step, has_neurons, step_name
from lapestudio.ui.text import count_text, duration_text, language_name, number_text
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.card import Card
from lapestudio.ui.widgets.figure_row import FigureRow
from lapestudio.ui.widgets.labels import button, label
from lapestudio.ui.widgets.progress_view import ProgressView

_TRAIN_LOSS = "train_loss"


class TrainPanel(RunPanel):
    """Starts, stops and resumes trainings, and shows their curves."""

    def __init__(self, session: ProjectSession, parent: QWidget | None = None) -> None:
        super().__init__(
            "train",
            session,
            step_name(Step.TRAIN),
            self.tr(
                "Only the neurons of the chosen language are trained, usually less than one percent of the model: the "
                "rest stays as it is, so that little can be forgotten."
            ),
            parent,
        )
        self._drawn: dict[str, int] = {}
        self.what = WhatToTrain(session, self)
        self.how = HowToTrain(session, self)
        self._lay_out()
        session.document_changed.connect(self._show_buttons)
        session.selection.selected.connect(self._on_selected)
        self.what.suggest()
        self.take_up()

    def set_dark(self, dark: bool) -> None:
        """Draw for a light or a dark window."""
        self.curves.set_dark(dark)

    def show_run(self, followed: FollowedRun | None) -> None:
        """Show another run from its history so far."""
        self._results.hide()
        self._show_buttons()
        if followed is None:
            self.curves.clear()
            return
        self.what.suggest()
        self._redraw(followed)
        self._show_figures(followed)
        self._show_results(followed)

    def show_events(self, followed: FollowedRun, events: list[object]) -> None:
        """Show what is new."""
        if any(isinstance(event, StartedEvent) for event in events):
            # Taken up again: points after the checkpoint are void.
            self._redraw(followed)
        else:
            self._append(followed)
        self._show_figures(followed)
        self._progress.show_history(followed.history, is_stopping=followed.stop_stage > 0)

    def show_stop(self, followed: FollowedRun) -> None:
        """Show the next means of stopping."""
        stage = followed.stop_stage
        self.stop_button.setText(stop_words("train", stage))
        self._stop_text.setText(stop_sentence("train", stage))
        self._progress.show_history(followed.history, is_stopping=stage > 0)

    def show_end(self, followed: FollowedRun, end: TerminalEvent) -> None:
        """Show what was learnt, or why it ended."""
        super().show_end(followed, end)
        self._show_buttons()
        self._show_figures(followed)
        self._show_results(followed)
        if isinstance(end, ResultEvent):
            self.message.show_message(*verdict(loss_changes(followed.history, self._target_of(followed))))

    # Layout

    def _lay_out(self) -> None:
        side, main = self.side_and_main()
        self._missing = label("", "muted", parent=self)
        self.start_button = button(self.tr("Start training"), "primary", name="startTrain", parent=self)
        self.start_button.clicked.connect(self._on_start_clicked)
        for card in (self.what, self.how):
            side.addWidget(card)
        side.addStretch(1)
        for part in (self._missing, self.start_button):
            self.footer.addWidget(part)
        main.addWidget(self._run_card(), 1)

    def _run_card(self) -> Card:
        card = Card(parent=self)
        surprise = self.tr("The model's surprise at a token, in nats: lower is better.")
        self._figures = FigureRow(
            (
                ("step", self.tr("step"), ""),
                (
                    "loss",
                    self.tr("training loss"),
                    surprise,
                ),
                ("validation", self.tr("validation loss"), self.tr("The same on text that is not trained on.")),
                ("rate", self.tr("tokens a second"), ""),
                ("left", self.tr("time left"), ""),
            ),
            card,
        )
        self._progress = ProgressView(card)
        self.stop_button = button(stop_words("train", 0), name="stopTrain", parent=card)
        self.stop_button.setToolTip(f"<qt>{stop_sentence('train', 0)}</qt>")
        self.stop_button.clicked.connect(self._on_stop_clicked)
        self._stop_text = label(stop_sentence("train", 0), "muted", parent=card)
        self.resume_button = button(self.tr("Resume"), name="resumeTrain", parent=card)
        self.resume_button.clicked.connect(self._on_resume_clicked)
        self._resume_text = label(self.tr("Goes on from the last checkpoint, exactly."), "muted", parent=card)
        controls = QHBoxLayout()
        controls.setSpacing(Space.M)
        for control in (self.stop_button, self.resume_button):
            controls.addWidget(control)
        controls.addWidget(self._stop_text, 1)
        controls.addWidget(self._resume_text, 1)
        self.curves = LossCurves()
        self._results = LossTable(card)
        card.body.addWidget(self._figures)
        card.body.addWidget(self._progress)
        card.body.addLayout(controls)
        card.body.addWidget(self.curves, 1)
        card.body.addWidget(self._results)
        return card

    # What is shown

    @Slot()
    def _show_buttons(self) -> None:
        is_working = self.is_working
        missing = self._what_is_missing()
        self._missing.setText(missing)
        self._missing.setVisible(bool(missing))
        self.start_button.setEnabled(not missing and not is_working)
        for part in (self.stop_button, self._stop_text, self._progress):
            part.setVisible(is_working)
        can_resume = self._can_resume()
        self.resume_button.setVisible(can_resume)
        self._resume_text.setVisible(can_resume)

    def _what_is_missing(self) -> str:
        if self.is_working:
            return ""
        if self.session.document.model is None:
            return self.tr("Choose a model first.")
        if self.what.target_code is None:
            return self.tr("Add a language with text first.")
        if not has_neurons(self.session):
            return self.tr("Identify neurons first, or use a saved neuron set.")
        selected = self.session.selection.current
        if self.session.document.neurons is None and selected is None:
            return self.tr("The neurons are being selected…")
        return ""

    def _can_resume(self) -> bool:
        if self.followed is None or self.is_working:
            return False
        end = self.followed.history.terminal
        return isinstance(end, StoppedEvent | ErrorEvent) and self.followed.run.rows_file("last").exists()

    def _show_figures(self, followed: FollowedRun) -> None:
        metrics, progress = followed.history.metrics, followed.history.progress

        def latest(name: str) -> float | None:
            series = metrics.get(name)
            return series.values[-1] if series is not None and series.values else None

        steps = metrics[_TRAIN_LOSS].steps if _TRAIN_LOSS in metrics else []
        self._figures.set_value("step", count_text(steps[-1]) if steps else "")
        for key, name in (("loss", _TRAIN_LOSS), ("validation", VALIDATION_LOSS)):
            value = latest(name)
            self._figures.set_value(key, "" if value is None else number_text(value, 3))
        rate = latest("tokens_per_s")
        self._figures.set_value("rate", "" if rate is None else count_text(round(rate)))
        left = progress.remaining_s if progress is not None and followed.is_working else None
        self._figures.set_value("left", "" if left is None else duration_text(left))

    def _redraw(self, followed: FollowedRun) -> None:
        self.curves.set_language_names(
            {
                name.removeprefix(CONTROL_PREFIX): language_name(name.removeprefix(CONTROL_PREFIX))
                for name in followed.history.metrics
                if name.startswith(CONTROL_PREFIX)
            }
        )
        series = {name: (one.steps, one.values) for name, one in followed.history.metrics.items() if _is_loss(name)}
        self.curves.set_points(series)
        self._drawn = {name: len(values) for name, (_steps, values) in series.items()}

    def _append(self, followed: FollowedRun) -> None:
        if any(_is_loss(name) and name not in self._drawn for name in followed.history.metrics):
            self._redraw(followed)
            return
        for name, known in self._drawn.items():
            series = followed.history.metrics[name]
            if len(series.values) > known:
                self.curves.append_points(name, series.steps[known:], series.values[known:])
                self._drawn[name] = len(series.values)

    def _show_results(self, followed: FollowedRun) -> None:
        changes = [] if followed.is_working else loss_changes(followed.history, self._target_of(followed))
        self._results.setVisible(bool(changes))
        self._results.show_changes(changes)

    def _target_of(self, followed: FollowedRun) -> str:
        try:
            spec = followed.run.read_spec()
        except UserError:
            return ""
        return spec.language if isinstance(spec, TrainSpec) else ""

    # What is done

    @Slot(object)
    def _on_selected(self, _selected: object) -> None:
        self._show_buttons()

    @Slot()
    def _on_start_clicked(self) -> None:
        try:
            spec = self._spec()
        except UserError as error:
            self.message.show_message("error", str(error))
            return
        if spec is not None:
            self.start(spec)

    def _spec(self) -> TrainSpec | None:
        project, document = self.session.project, self.session.document
        target, source, neurons = self.what.target_code, project.model_source, self.session.neurons_to_train()
        if target is None or source is None or neurons is None:
            return None
        corpus = project.corpus(target)
        if corpus is None:
            return None
        controls = [project.corpus(code, held_out=True) for code in document.controls if code != target]
        held_out = project.language(target).held_out
        return TrainSpec(
            model=source,
            neurons=neurons,
            language=target,
            paths=corpus.paths,
            validation_paths=tuple(project.resolve(path) for path in held_out),
            reading=corpus.reading,
            cleaning=corpus.cleaning,
            controls=tuple(control for control in controls if isinstance(control, CorpusSource)),
            settings=document.train,
        )

    @Slot()
    def _on_stop_clicked(self) -> None:
        if self.followed is not None:
            self.followed.stop()

    @Slot()
    def _on_resume_clicked(self) -> None:
        if self.followed is None:
            return
        self.message.clear()
        try:
            self.session.resume(self.followed.run)
        except UserError as error:
            self.message.show_message("error", str(error))


def _is_loss(name: str) -> bool:
    return name in (_TRAIN_LOSS, VALIDATION_LOSS) or name.startswith(CONTROL_PREFIX)
