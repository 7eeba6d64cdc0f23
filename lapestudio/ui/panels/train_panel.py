"""Train."""

from PySide6.QtWidgets import QWidget

from lapestudio.ui.panels.panel import Panel
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.steps import Step, step_name


class TrainPanel(Panel):
    """Train."""

    def __init__(self, session: ProjectSession, parent: QWidget | None = None) -> None:
        super().__init__(session, step_name(Step.TRAIN), "", parent)
