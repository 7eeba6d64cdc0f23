"""Model: choose one, and see what it is and whether this computer can work with it."""

from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLineEdit, QWidget

from lapestudio.core.model_report import MemoryEstimate, ModelReport
from lapestudio.ui.panels.panel import Panel
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.steps import Step, step_name
from lapestudio.ui.text import count_text, isolate, percent_text, short_count_text, size_text
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.card import Card
from lapestudio.ui.widgets.fact_grid import Fact, FactGrid
from lapestudio.ui.widgets.fit_view import FitView
from lapestudio.ui.widgets.labels import button, label, rule, set_role
from lapestudio.ui.widgets.message_bar import MessageBar


class ModelPanel(Panel):
    """Shows and changes the project's model."""

    def __init__(self, session: ProjectSession, parent: QWidget | None = None) -> None:
        super().__init__(
            session,
            step_name(Step.MODEL),
            self.tr("The language model to teach. It stays as it is: an adapted copy is written at the end."),
            parent,
        )
        column = self.single_column()
        column.addWidget(self._source_card())
        column.addWidget(self._facts_card())
        column.addWidget(self._computer_card())
        column.addStretch(1)
        session.report_changed.connect(self._show_report)
        session.document_changed.connect(self._show_source)
        self._show_source()
        self._show_report()

    def _source_card(self) -> Card:
        card = Card(
            self.tr("Which model"),
            self.tr(
                "A folder with safetensors files, a .gguf file, or the name of a model on the Hugging Face hub. "
                "No code that comes with a model is ever run."
            ),
            self,
        )
        self.source = QLineEdit(card)
        self.source.setObjectName("modelSource")
        self.source.setAccessibleName(self.tr("Model"))
        self.source.setPlaceholderText(self.tr("folder, .gguf file, or hub name such as org/model"))
        self.source.returnPressed.connect(self._on_use_clicked)
        use = button(self.tr("Use this model"), "primary", name="useModel", parent=card)
        use.clicked.connect(self._on_use_clicked)
        folder = button(self.tr("Choose folder…"), name="chooseModelFolder", parent=card)
        folder.clicked.connect(self._on_folder_clicked)
        file = button(self.tr("Choose GGUF file…"), name="chooseModelFile", parent=card)
        file.clicked.connect(self._on_file_clicked)
        first, second = QHBoxLayout(), QHBoxLayout()
        first.setSpacing(Space.S)
        second.setSpacing(Space.S)
        first.addWidget(self.source, 1)
        first.addWidget(use)
        second.addWidget(folder)
        second.addWidget(file)
        second.addStretch(1)
        hub = self.tr("A hub name is fetched over the network when it is used.")
        second.addWidget(label(hub, "muted", parent=card, wraps=False))
        card.body.addLayout(first)
        card.body.addLayout(second)
        return card

    def _facts_card(self) -> Card:
        self._facts_box = card = Card(self.tr("What it is"), parent=self)
        self._support = label("", "strong", parent=card)
        self._support.setObjectName("modelSupport")
        self._fault = MessageBar(card)
        self._facts = FactGrid(card)
        card.body.addWidget(self._fault)
        card.body.addWidget(self._support)
        card.body.addWidget(self._facts)
        return card

    def _computer_card(self) -> Card:
        self._computer_box = card = Card(
            self.tr("This computer"),
            self.tr("An estimate before anything is loaded: what each stage needs, and what is free now."),
            self,
        )
        self._devices = FactGrid(card)
        self._identification = FitView(self.tr("Identification"), card)
        self._training = FitView(self.tr("Training"), card)
        card.body.addWidget(self._devices)
        card.body.addWidget(rule(card))
        card.body.addWidget(self._identification)
        card.body.addWidget(self._training)
        return card

    @Slot()
    def _show_source(self) -> None:
        if not self.source.hasFocus():
            self.source.setText(self.session.project.model_source or "")

    @Slot()
    def _show_report(self) -> None:
        report, fault = self.session.report, self.session.report_fault
        self._facts_box.setVisible(report is not None or fault is not None or self.session.is_inspecting)
        self._computer_box.setVisible(report is not None and report.supported)
        self._facts.setVisible(report is not None)
        self._fault.clear()
        self._support.setVisible(fault is None)
        if fault is not None:
            self._fault.show_message("error", fault.message, fault.details)
        elif report is None:
            set_role(self._support, "muted")
            self._support.setText(self.tr("Looking at the model…"))
        else:
            self._show_facts(report)

    def _show_facts(self, report: ModelReport) -> None:
        set_role(self._support, "success" if report.supported else "danger")
        supported = self.tr("Supported: its neurons can be identified and trained.")
        self._support.setText(supported if report.supported else report.reason)
        self._facts.set_facts(self._facts_of(report))
        if not report.supported:
            return
        self._devices.set_facts(
            [
                Fact(
                    name=isolate(device.description or device.name),
                    value=self.tr("{free} free of {total}").format(
                        free=size_text(device.free_bytes), total=size_text(device.total_bytes)
                    ),
                )
                for device in report.devices
            ]
        )
        self._show_fit(self._identification, report.identification, report)
        self._show_fit(self._training, report.training, report)

    def _show_fit(self, view: FitView, estimate: MemoryEstimate | None, report: ModelReport) -> None:
        view.setVisible(estimate is not None)
        if estimate is not None:
            free = next((device.free_bytes for device in report.devices if device.name == estimate.device), 0)
            view.show_estimate(estimate, free)

    def _facts_of(self, report: ModelReport) -> list[Fact]:
        forms = {"folder": self.tr("folder"), "gguf": self.tr("GGUF file"), "hub": self.tr("Hugging Face hub")}
        facts = [
            Fact(name=self.tr("Architecture"), value=f"{isolate(report.architecture)} ({isolate(report.model_type)})"),
            Fact(
                name=self.tr("Kept as"), value=f"{forms.get(report.form, report.form)}, {size_text(report.size_bytes)}"
            ),
        ]
        if not report.num_parameters:
            return facts
        share = report.num_ffn_parameters / report.num_parameters
        layers = self.tr("{layers} layers of {neurons} neurons")
        parameters = self.tr("{all}, of which {share} in the layers' neurons")
        facts += [
            Fact(
                name=self.tr("Neurons"),
                value=layers.format(layers=count_text(report.num_layers), neurons=count_text(report.intermediate_size)),
                help=self.tr(
                    "One unit of a layer's feed-forward part: it reads the text so far, and is active or not."
                ),
            ),
            Fact(
                name=self.tr("Parameters"),
                value=parameters.format(all=short_count_text(report.num_parameters), share=percent_text(share, 0)),
                help=self.tr("The numbers that make up the model; training changes them."),
            ),
            Fact(
                name=self.tr("Vocabulary"),
                value=self.tr("{number} tokens").format(number=count_text(report.vocab_size)),
                help=self.tr("A token is a word or a piece of one: the model reads and writes text token by token."),
            ),
            Fact(
                name=self.tr("Number format"),
                value=isolate(report.dtype),
                help=self.tr("How each number is stored: formats of 16 bits take half the memory of those of 32."),
            ),
        ]
        if report.max_positions:
            longest = self.tr("{number} tokens").format(number=count_text(report.max_positions))
            facts.append(Fact(name=self.tr("Longest text at a time"), value=longest))
        return facts

    @Slot()
    def _on_use_clicked(self) -> None:
        source = self.source.text().strip()
        if source:
            self.session.choose_model(source)

    @Slot()
    def _on_folder_clicked(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, self.tr("Choose a model folder"), self._start_folder())
        self._use(chosen)

    @Slot()
    def _on_file_clicked(self) -> None:
        chosen, _filter = QFileDialog.getOpenFileName(
            self, self.tr("Choose a GGUF file"), self._start_folder(), self.tr("GGUF models (*.gguf)")
        )
        self._use(chosen)

    def _use(self, chosen: str) -> None:
        if chosen:
            self.source.setText(chosen)
            self.session.choose_model(chosen)

    def _start_folder(self) -> str:
        current = Path(self.source.text())
        return str(current.parent if current.exists() else self.session.project.folder)
