"""What to train and how: the left side of the Train panel."""

from pathlib import Path

from PySide6.QtCore import QCoreApplication, Qt, Slot
from PySide6.QtWidgets import QFileDialog, QFormLayout, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from lapestudio.core.specs import TrainSettings
from lapestudio.ui.selection import SelectedNeurons
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.steps import languages_with_text
from lapestudio.ui.text import count_text, isolate, language_text
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.card import Card
from lapestudio.ui.widgets.device_choices import device_choices, dtype_choices
from lapestudio.ui.widgets.fold import Fold
from lapestudio.ui.widgets.help_button import HelpButton
from lapestudio.ui.widgets.labels import button, label
from lapestudio.ui.widgets.number_fields import ChoiceField
from lapestudio.ui.widgets.settings_form import FormField, SettingsForm

_CONTROL_ROWS = 5
_CONTROL_HEIGHT = 30
_SUGGESTED_CONTROLS = 3
_OWN = ("seed", "dtype", "device", "epochs", "max_steps", "max_tokens")
"""Settings that belong to the user and the machine, not to a recipe."""


class WhatToTrain(Card):
    """Target language, neurons, and the languages that must not get worse.

    Args:
        session: the open project.
        parent: the Qt parent.
    """

    def __init__(self, session: ProjectSession, parent: QWidget | None = None) -> None:
        super().__init__(QCoreApplication.translate("TrainSetup", "What to train"), parent=parent)
        self._session = session
        self._is_filling = False
        self._shown: tuple[object, ...] = ()
        self.target = ChoiceField(self)
        self.target.setObjectName("targetLanguage")
        self.target.setAccessibleName(self.tr("Language to teach"))
        self.target.currentIndexChanged.connect(self._on_target_chosen)
        self.source = ChoiceField(self)
        self.source.setObjectName("neuronSource")
        self.source.setAccessibleName(self.tr("Neurons"))
        self.source.currentIndexChanged.connect(self._on_source_chosen)
        self.method = ChoiceField(self)
        self.method.setObjectName("method")
        self.method.setAccessibleName(self.tr("Method"))
        self.method.addItem(self.tr("Only these neurons"), "subnetwork")
        self.controls = QListWidget(self)
        self.controls.setObjectName("controlLanguages")
        self.controls.setAccessibleName(self.tr("Control languages"))
        self.controls.itemChanged.connect(self._on_control_changed)
        self._lay_out()
        session.document_changed.connect(self.refresh)
        session.selection.selected.connect(self._on_selection_changed)
        session.selection.cleared.connect(self._on_selection_cleared)
        self.refresh()

    @property
    def target_code(self) -> str | None:
        """Code of the language to teach."""
        code = self.target.currentData()
        return str(code) if code else None

    @Slot()
    def refresh(self) -> None:
        """Show what the project says; nothing is filled anew, and nothing jumps, while that is the same."""
        document = self._session.document
        codes = languages_with_text(self._session)
        shown = (codes, document.target, document.controls, document.neurons)
        if shown == self._shown or self._is_filling:
            self._shown = shown
            return
        self._shown = shown
        self._is_filling = True
        self.target.clear()
        for code in codes:
            self.target.addItem(language_text(code), code)
        self.target.choose(document.target)
        self.controls.clear()
        # Those that are watched come first: they must not lie out of sight.
        for code in sorted(codes, key=lambda code: code not in document.controls):
            if code != self.target_code:
                item = QListWidgetItem(language_text(code))
                item.setData(Qt.ItemDataRole.UserRole, code)
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
                item.setCheckState(Qt.CheckState.Checked if code in document.controls else Qt.CheckState.Unchecked)
                self.controls.addItem(item)
        rows = max(1, min(_CONTROL_ROWS, self.controls.count()))
        self.controls.setFixedHeight(rows * max(_CONTROL_HEIGHT, self.controls.sizeHintForRow(0)) + Space.S)
        self._fill_sources(document.neurons)
        self._is_filling = False
        self._show_neurons()

    def suggest(self) -> None:
        """Choose a target and controls where none are chosen yet, so that training can begin at once."""
        document = self._session.document
        codes = languages_with_text(self._session)
        if document.target is None and codes:
            others = sorted(codes[1:], key=lambda code: code != "en")
            controls = document.controls or tuple(others[:_SUGGESTED_CONTROLS])
            self._session.update(target=codes[0], controls=controls)

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setHorizontalSpacing(Space.M)
        form.setVerticalSpacing(Space.S)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapAllRows)
        form.addRow(self._named(self.tr("Language to teach"), ""), self.target)
        form.addRow(self._named(self.tr("Neurons"), self.tr("Which neurons belong to the language.")), self.source)
        self._neurons = label("", "muted", parent=self)
        self.choose_file = button(self.tr("Use a saved neuron set…"), "link", name="chooseNeurons", parent=self)
        self.choose_file.clicked.connect(self._on_file_clicked)
        form.addRow(self._neurons)
        form.addRow(self.choose_file)
        method = self.tr("The subnetwork of these neurons is trained; every other number of the model stays as it is.")
        form.addRow(self._named(self.tr("Method"), method), self.method)
        controls = self.tr("Their loss is watched while training, so that you see at once if something is forgotten.")
        form.addRow(self._named(self.tr("Languages that must not get worse"), controls), self.controls)
        self.body.addLayout(form)

    def _named(self, name: str, help_text: str) -> QWidget:
        holder = QWidget(self)
        line = QVBoxLayout(holder)
        line.setContentsMargins(0, Space.XS, 0, 0)
        text = label(name, parent=holder, wraps=False)
        if not help_text:
            line.addWidget(text)
            return holder
        line.setDirection(QVBoxLayout.Direction.LeftToRight)
        line.setSpacing(Space.XS + 2)
        line.addWidget(text)
        line.addWidget(HelpButton(name, help_text, holder))
        line.addStretch(1)
        return holder

    def _fill_sources(self, saved: Path | None) -> None:
        self.source.clear()
        self.source.addItem(self.tr("Selection of Identify"), None)
        if saved is not None:
            self.source.addItem(isolate(saved.name), str(saved))
            self.source.setCurrentIndex(1)

    def _show_neurons(self) -> None:
        selected, code = self._session.selection.current, self.target_code
        if self._session.document.neurons is not None:
            self._neurons.setText(self.tr("A saved neuron set."))
        elif selected is None:
            self._neurons.setText(self.tr("Identify neurons first, or use a saved neuron set."))
        elif code not in selected.neurons.languages:
            self._neurons.setText(self.tr("This language was not part of the identification."))
        else:
            k = selected.neurons.languages.index(code)
            text = self.tr("{number} neurons belong to this language.")
            self._neurons.setText(text.format(number=count_text(int(selected.per_layer[k].sum()))))

    @Slot(object)
    def _on_selection_changed(self, _selected: SelectedNeurons) -> None:
        self._show_neurons()

    @Slot()
    def _on_selection_cleared(self) -> None:
        self._show_neurons()

    @Slot()
    def _on_target_chosen(self) -> None:
        if not self._is_filling:
            code = self.target_code
            controls = tuple(control for control in self._session.document.controls if control != code)
            self._session.update(target=code, controls=controls)

    @Slot()
    def _on_source_chosen(self) -> None:
        if not self._is_filling and self.source.currentData() is None:
            self._session.update(neurons=None)

    @Slot(QListWidgetItem)
    def _on_control_changed(self, _item: QListWidgetItem) -> None:
        if self._is_filling:
            return
        items = [self.controls.item(row) for row in range(self.controls.count())]
        checked = [item.data(Qt.ItemDataRole.UserRole) for item in items if item.checkState() == Qt.CheckState.Checked]
        self._is_filling = True
        self._session.update(controls=tuple(checked))
        self._is_filling = False

    @Slot()
    def _on_file_clicked(self) -> None:
        chosen, _filter = QFileDialog.getOpenFileName(
            self,
            self.tr("Use a saved neuron set"),
            str(self._session.project.folder),
            self.tr("Neuron sets (*.safetensors *.json)"),
        )
        if chosen:
            self._session.update(neurons=self._session.project.relative(Path(chosen)))


class HowToTrain(Card):
    """The recipe: a preset, the few settings that matter, and the rest folded away.

    Args:
        session: the open project.
        parent: the Qt parent.
    """

    def __init__(self, session: ProjectSession, parent: QWidget | None = None) -> None:
        super().__init__(QCoreApplication.translate("TrainSetup", "How to train"), parent=parent)
        self._session = session
        self._is_filling = False
        self.recipe = ChoiceField(self)
        self.recipe.setObjectName("recipe")
        self.recipe.setAccessibleName(self.tr("Recipe"))
        self.recipe.addItem(self.tr("Recommended"), "recommended")
        self.recipe.addItem(self.tr("Published (arXiv 2510.13580)"), "published")
        self.recipe.addItem(self.tr("Own settings"), "own")
        self.recipe.currentIndexChanged.connect(self._on_recipe_chosen)
        settings = session.document.train
        self.form = SettingsForm(settings, self._main_fields(), self)
        self.more = SettingsForm(settings, self._more_fields(), self)
        self.form.settings_changed.connect(self._on_settings_changed)
        self.more.settings_changed.connect(self._on_settings_changed)
        self.body.addWidget(self.recipe)
        self.body.addWidget(self.form)
        self.body.addWidget(Fold(self.tr("More settings"), self.more, name="moreTrain", parent=self))
        session.document_changed.connect(self._show_recipe)
        self._show_recipe()

    def _main_fields(self) -> list[FormField]:
        return [
            FormField(name="learning_rate", label=self.tr("Learning rate")),
            FormField(name="epochs", label=self.tr("Times through the text")),
            FormField(name="max_steps", label=self.tr("At most steps"), empty_text=self.tr("no limit")),
            FormField(name="block_size", label=self.tr("Tokens a sequence")),
            FormField(name="batch_size", label=self.tr("Sequences together")),
        ]

    def _more_fields(self) -> list[FormField]:
        schedules = {"constant": self.tr("constant"), "cosine": self.tr("falling (cosine)")}
        return [
            FormField(name="schedule", label=self.tr("Schedule"), choices=schedules),
            FormField(name="warmup_share", label=self.tr("Warm-up share")),
            FormField(name="weight_decay", label=self.tr("Weight decay")),
            FormField(name="gradient_clip", label=self.tr("Gradient limit")),
            FormField(name="accumulation", label=self.tr("Batches a step")),
            FormField(name="max_tokens", label=self.tr("At most tokens"), empty_text=self.tr("no limit")),
            FormField(name="validate_every", label=self.tr("Validate every")),
            FormField(name="validation_share", label=self.tr("Held-out share")),
            FormField(name="max_validation_tokens", label=self.tr("Validation tokens")),
            FormField(name="seed", label=self.tr("Seed")),
            FormField(name="dtype", label=self.tr("Number format"), choices=dtype_choices()),
            FormField(name="device", label=self.tr("Device"), choices=device_choices(self._session.report)),
        ]

    @Slot()
    def _show_recipe(self) -> None:
        settings = self._session.document.train
        self._is_filling = True
        self.form.set_settings(settings)
        self.more.set_settings(settings)
        self.recipe.choose(_recipe_of(settings))
        self._is_filling = False

    @Slot()
    def _on_recipe_chosen(self) -> None:
        name = self.recipe.currentData()
        if self._is_filling or name == "own":
            return
        recipe = TrainSettings() if name == "recommended" else TrainSettings.published()
        mine = {field: getattr(self._session.document.train, field) for field in _OWN}
        self._session.update(train=recipe.model_copy(update=mine))

    @Slot(object)
    def _on_settings_changed(self, settings: TrainSettings) -> None:
        self._session.update(train=settings)


def _recipe_of(settings: TrainSettings) -> str:
    for name, recipe in (("recommended", TrainSettings()), ("published", TrainSettings.published())):
        if recipe.model_copy(update={field: getattr(settings, field) for field in _OWN}) == settings:
            return name
    return "own"
