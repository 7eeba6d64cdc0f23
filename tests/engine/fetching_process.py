"""Fetches in processes of their own, which can be killed: attempts come in as JSON lines, outcomes go out as such.

An attempt is {"spec": ..., "run": ..., "kill": ["record" or "fsync", number], "stop_after": number of records,
"keep_every_s": ..., "token": ...}. The libraries are loaded once; each attempt is a fork, so that dozens of kills take
seconds.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

# Loaded before the forks.
import datasets  # noqa: F401
import httpx2  # noqa: F401
import huggingface_hub.hf_api  # noqa: F401
import pyarrow.dataset  # noqa: F401
import torch  # noqa: F401

from lapestudio.core.errors import UserError
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import FetchSpec
from lapestudio.engine.hub_datasets import fetch


def countdown(number: int | None) -> Callable[[], None]:
    """Return a function that kills the process at its `number`th call."""
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1
        if calls == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return count


def attempt(wanted: dict[str, Any]) -> dict[str, Any]:
    kind, number = wanted.get("kill", (None, None))
    at_record, at_fsync = (countdown(number if kind == name else None) for name in ("record", "fsync"))
    fsync = os.fsync
    asked = 0

    def counted_fsync(descriptor: int) -> None:
        at_fsync()
        fsync(descriptor)

    def should_stop() -> bool:
        nonlocal asked
        asked += 1
        return asked == wanted.get("stop_after")

    if token := wanted.get("token"):
        os.environ["HF_TOKEN"] = token
    os.fsync = counted_fsync
    # The client waits longer and longer before it tries again.
    time.sleep = lambda _seconds: None
    try:
        fetched = fetch(
            FetchSpec.model_validate(wanted["spec"]),
            RunFolder(Path(wanted["run"])),
            on_progress=lambda _characters: at_record(),
            should_stop=should_stop,
            keep_every_s=wanted.get("keep_every_s", 0.005),
        )
    except UserError as error:
        return {"error": str(error)}
    return {"stopped": True} if fetched is None else asdict(fetched)


def main() -> None:
    for line in sys.stdin:
        wanted = json.loads(line)
        child = os.fork()
        if child == 0:
            print(json.dumps(attempt(wanted)), flush=True)  # noqa: T201 - the outcome
            os._exit(0)
        _pid, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            print(json.dumps({"killed": True}), flush=True)  # noqa: T201 - the outcome
        elif status:
            sys.exit(f"an attempt failed: {wanted}")


if __name__ == "__main__":
    main()
