"""What was found out about text, kept so that a reopened project need not read gigabytes again.

In: keys that change with what they stand for. Out: JSON documents. Losing it costs time and nothing else.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import JsonValue

from lapestudio.core.atomic import write_text_atomically

_FORM = "1"
"""Changes when what is kept changes its form."""
MAX_ENTRIES = 2000


class TextCache:
    """A folder of small JSON files.

    Args:
        folder: need not exist; nothing: nothing is kept.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def read(self, *key: str) -> JsonValue:
        """Return what was kept under `key`, or nothing."""
        if self._folder is None:
            return None
        try:
            value: JsonValue = json.loads(self._file(key).read_bytes())
        except (OSError, ValueError):
            return None
        return value

    def write(self, value: JsonValue, *key: str) -> None:
        """Keep `value`; where that is impossible, do without."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            write_text_atomically(self._file(key), json.dumps(value, ensure_ascii=False))
            self._forget_oldest()

    def _file(self, key: Iterable[str]) -> Path:
        assert self._folder is not None
        digest = hashlib.sha256("\0".join((_FORM, *key)).encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / f"{digest[:40]}.json"

    def _forget_oldest(self) -> None:
        assert self._folder is not None
        files = list(self._folder.glob("*.json"))
        if len(files) > MAX_ENTRIES:
            for file in sorted(files, key=lambda file: file.stat().st_mtime)[: len(files) - MAX_ENTRIES]:
                file.unlink(missing_ok=True)


def state_of_files(files: Iterable[Path]) -> str:
    """Return text that changes when one of the files is replaced, edited, added or removed."""
    parts = []
    for file in files:
        status = file.stat()
        parts.append(f"{file}|{status.st_size}|{status.st_mtime_ns}")
    return "\n".join(parts)
