"""Words for devices and number formats, for the forms."""

from PySide6.QtCore import QCoreApplication

from lapestudio.core.model_report import ModelReport
from lapestudio.ui.text import isolate


def dtype_choices() -> dict[str, str]:
    """Return a word for each number format that a job can compute in."""
    return {
        "auto": QCoreApplication.translate("Choices", "automatic"),
        "float32": QCoreApplication.translate("Choices", "32 bits (float32)"),
        "bfloat16": QCoreApplication.translate("Choices", "16 bits (bfloat16)"),
        "float16": QCoreApplication.translate("Choices", "16 bits (float16)"),
    }


def device_choices(report: ModelReport | None) -> dict[str, str]:
    """Return a word for each device of this computer."""
    choices = {"auto": QCoreApplication.translate("Choices", "automatic")}
    devices = report.devices if report is not None else ()
    return choices | {device.name: f"{isolate(device.description)} ({device.name})" for device in devices}
