"""Where a job can compute, and in which number format.

In: what the user chose. Out: a device, a dtype, the list of devices found.
"""

import platform

import psutil
import torch

from lapestudio.core.errors import UserError
from lapestudio.core.model_report import DeviceReport
from lapestudio.core.specs import DtypeName

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def best_device(name: str) -> torch.device:
    """Return the device called `name`; auto: the first CUDA device, else Apple's, else the CPU.

    Raises:
        UserError: this machine has no such device.
    """
    available = [report.name for report in device_reports()]
    if name == "auto":
        return torch.device(available[0])
    full_name = f"{name}:0" if name == "cuda" else name
    if full_name not in available:
        raise UserError(f"There is no device {name!r} on this machine; choose auto or one of {', '.join(available)}.")
    return torch.device(full_name)


def resolve_dtype(name: DtypeName, device: torch.device) -> torch.dtype:
    """Return the number format to compute in.

    Auto is bfloat16 on CUDA devices that compute in it, else float32: it is exact enough for bit-identical resuming,
    and few CPUs are faster in bfloat16. float16 is never chosen: its range is too small for many models.
    """
    if name != "auto":
        return _DTYPES[name]
    if device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.bfloat16
    return torch.float32


def device_reports() -> tuple[DeviceReport, ...]:
    """Return the devices of this machine, the best first."""
    reports = []
    for index in range(torch.cuda.device_count()):
        free_bytes, total_bytes = torch.cuda.mem_get_info(index)
        name = torch.cuda.get_device_name(index)
        reports.append(
            DeviceReport(name=f"cuda:{index}", description=name, total_bytes=total_bytes, free_bytes=free_bytes)
        )
    memory = psutil.virtual_memory()
    if torch.backends.mps.is_available():
        reports.append(
            DeviceReport(name="mps", description="Apple GPU", total_bytes=memory.total, free_bytes=memory.available)
        )
    processor = f"{platform.processor() or platform.machine()}, {psutil.cpu_count(logical=False) or 1} cores"
    reports.append(
        DeviceReport(name="cpu", description=processor, total_bytes=memory.total, free_bytes=memory.available)
    )
    return tuple(reports)
