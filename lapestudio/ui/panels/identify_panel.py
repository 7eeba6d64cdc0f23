"""Identify: count how often each neuron is active for each language, and see which ones are specific."""

from PySide6.QtCore import QTimer, Slot
from PySide6.QtWidgets import QWidget

from lapestudio.core.events import TerminalEvent
from lapestudio.core.specs import CorpusSource, IdentifySettings, IdentifySpec
from lapestudio.ui.job_words import stop_sentence, stop_words
from lapestudio.ui.panels.identify_pictures import IdentifyPictures
from lapestudio.ui.panels.run_panel import RunPanel
from lapestudio.ui.panels.selection_card import SelectionCard
from lapestudio.ui.running_jobs import FollowedRun
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.steps import Step, can_identify, languages_with_text, step_name
from lapestudio.ui.text import count_text, short_count_text
from lapestudio.ui.widgets.card import Card
from lapestudio.ui.widgets.device_choices import device_choices, dtype_choices
from lapestudio.ui.widgets.fold import Fold
from lapestudio.ui.widgets.labels import button, label
from lapestudio.ui.widgets.progress_view import ProgressView
from lapestudio.ui.widgets.settings_form import FormField, SettingsForm

_LIVE_EVERY_MS = 250


class IdentifyPanel(RunPanel):
    """Starts identifications, and shows what they found."""

    def __init__(self, session: ProjectSession, parent: QWidget | None = None) -> None:
        super().__init__(
            "identify",
            session,
            step_name(Step.IDENTIFY),
            self.tr(
                "The model reads the text of every language, and each neuron is watched. One that is active mostly "
                "for one language has a low entropy: it is specific to that language."
            ),
            parent,
        )
        self.pictures = IdentifyPictures(session.selection, self)
        self.selection_card = SelectionCard(session, session.selection, self)
        self._lay_out()
        # Not by events: counts come in faster than anybody can look.
        self._live = QTimer(self)
        self._live.setInterval(_LIVE_EVERY_MS)
        self._live.timeout.connect(self._on_live_due)
        for signal in (
            session.document_changed,
            session.report_changed,
            session.survey.language_changed,
            session.survey.tokens_changed,
        ):
            signal.connect(self._show_plan)
        self.take_up()

    def set_dark(self, dark: bool) -> None:
        """Draw for a light or a dark window."""
        self.pictures.set_dark(dark)

    def show_run(self, followed: FollowedRun | None) -> None:
        """Show another run from its history so far."""
        self._show_state()
        if followed is not None and followed.is_working:
            self.pictures.show_waiting()

    def show_events(self, followed: FollowedRun, events: list[object]) -> None:  # noqa: ARG002 - the history has them
        """Show how far the run is."""
        self._progress.show_history(followed.history, is_stopping=followed.stop_stage > 0)

    def show_stop(self, followed: FollowedRun) -> None:
        """Show the next means of stopping."""
        stage = followed.stop_stage
        self._stop.setText(stop_words("identify", stage))
        self._stop.setToolTip(f"<qt>{stop_sentence('identify', stage)}</qt>")
        self._progress.show_history(followed.history, is_stopping=stage > 0)

    def show_end(self, followed: FollowedRun, end: TerminalEvent) -> None:
        """Show what was found, or why nothing was."""
        super().show_end(followed, end)
        self._show_state()

    def _lay_out(self) -> None:
        side, main = self.side_and_main()
        side.addWidget(self._counting_card())
        side.addWidget(self.selection_card)
        side.addStretch(1)
        main.addWidget(self.pictures, 1)

    def _counting_card(self) -> Card:
        card = Card(
            self.tr("Counting"),
            self.tr("For each neuron and language it is counted on how many tokens the neuron is active."),
            self,
        )
        self._idle_box = QWidget(card)
        idle = Card.column(self._idle_box)
        self._plan = label("", parent=card)
        self.form = SettingsForm(self.session.document.identify, self._main_fields(), card)
        self.more = SettingsForm(self.session.document.identify, self._more_fields(), card)
        self.form.settings_changed.connect(self._on_settings_changed)
        self.more.settings_changed.connect(self._on_settings_changed)
        self._missing = label("", "muted", parent=card)
        self.start_button = button(self.tr("Start counting"), "primary", name="startIdentify", parent=card)
        self.start_button.clicked.connect(self._on_start_clicked)
        for part in (
            self._plan,
            self.form,
            Fold(self.tr("More settings"), self.more, name="moreIdentify", parent=card),
        ):
            idle.addWidget(part)
        idle.addWidget(self._missing)
        idle.addWidget(self.start_button)
        self._working_box = QWidget(card)
        working = Card.column(self._working_box)
        self._progress = ProgressView(card)
        self._stop = button(self.tr("Stop counting"), name="stopIdentify", parent=card)
        self._stop.clicked.connect(self._on_stop_clicked)
        working.addWidget(self._progress)
        working.addWidget(self._stop)
        card.body.addWidget(self._idle_box)
        card.body.addWidget(self._working_box)
        return card

    def _main_fields(self) -> list[FormField]:
        return [
            FormField(name="block_size", label=self.tr("Tokens at a time")),
            FormField(name="max_tokens", label=self.tr("Tokens per language"), empty_text=self.tr("all")),
        ]

    def _more_fields(self) -> list[FormField]:
        return [
            FormField(name="batch_size", label=self.tr("Blocks together"), empty_text=self.tr("automatic")),
            FormField(name="add_bos", label=self.tr("Begin-of-text token")),
            FormField(name="dtype", label=self.tr("Number format"), choices=dtype_choices()),
            FormField(name="device", label=self.tr("Device"), choices=device_choices(self.session.report)),
        ]

    def _show_state(self) -> None:
        is_working = self.is_working
        self._idle_box.setVisible(not is_working)
        self._working_box.setVisible(is_working)
        if is_working and self.followed is not None:
            self._progress.show_history(self.followed.history, is_stopping=self.followed.stop_stage > 0)
            self._live.start()
        else:
            self._live.stop()
        self._show_plan()

    @Slot()
    def _show_plan(self) -> None:
        missing = can_identify(self.session)
        self._missing.setText(missing)
        self._missing.setVisible(bool(missing))
        self._plan.setVisible(not missing)
        self.start_button.setEnabled(not missing and not self.is_working)
        if not missing:
            self._plan.setText(self._plan_text())

    def _plan_text(self) -> str:
        languages = languages_with_text(self.session)
        tokens = [self.session.survey.tokens.get(code) for code in languages]
        limit = self.session.document.identify.max_tokens
        if any(number is None for number in tokens):
            text = self.tr("Reads the text of {languages} languages.").format(languages=count_text(len(languages)))
        else:
            total = sum(min(number or 0, limit or (number or 0)) for number in tokens)
            text = self.tr("Reads {tokens} tokens in {languages} languages.").format(
                tokens=short_count_text(total), languages=count_text(len(languages))
            )
        return f"{text} {self.tr('The model is not changed.')}"

    @Slot(object)
    def _on_settings_changed(self, settings: IdentifySettings) -> None:
        self.session.update(identify=settings)
        # The two forms edit one model: each must know what the other has changed.
        self.form.set_settings(settings)
        self.more.set_settings(settings)

    @Slot()
    def _on_start_clicked(self) -> None:
        self.selection_card.flush()
        project = self.session.project
        source = project.model_source
        corpora = [project.corpus(code) for code in languages_with_text(self.session)]
        if source is None:
            return
        self.start(
            IdentifySpec(
                model=source,
                corpora=tuple(corpus for corpus in corpora if isinstance(corpus, CorpusSource)),
                settings=self.session.document.identify,
                selection=self.session.document.selection,
            )
        )

    @Slot()
    def _on_stop_clicked(self) -> None:
        if self.followed is not None:
            self.followed.stop()

    @Slot()
    def _on_live_due(self) -> None:
        if self.followed is not None and self.isVisible():
            self.pictures.show_partial(self.followed.run.partial_counts_file)
