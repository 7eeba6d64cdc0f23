"""Telling a lack of memory from other errors, on every device."""

import torch


def is_out_of_memory(error: BaseException) -> bool:
    """Say whether `error` means that memory did not suffice."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    # The CPU's allocator and some backends raise a plain RuntimeError.
    return isinstance(error, RuntimeError) and any(
        words in str(error).lower() for words in ("defaultcpuallocator", "out of memory", "not enough memory")
    )
