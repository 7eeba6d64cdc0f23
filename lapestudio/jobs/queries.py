"""Short questions that only the engine can answer, asked of a child process that ends with the answer.

In: a question's name and its arguments. Out: the answer as a dictionary. The call waits: the window asks from a thread.
"""

import json
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Literal

from pydantic import JsonValue

from lapestudio.core.errors import UserError
from lapestudio.core.model_report import ModelReport
from lapestudio.jobs.interpreter import engine_python
from lapestudio.jobs.starting import detached, engine_environment

QueryName = Literal["inspect", "describe", "preview", "count_tokens", "read_mask", "write_mask"]
News = dict[str, JsonValue]
_LOOK_EVERY_S = 0.02
_LAST_LINES = 20


class EngineError(Exception):
    """The engine failed to answer for a reason that is not the user's; `details` holds what it printed."""

    def __init__(self, message: str, details: str) -> None:
        super().__init__(message)
        self.details = details


def run_query(
    name: QueryName,
    arguments: Mapping[str, JsonValue],
    *,
    is_cancelled: Callable[[], bool] | None = None,
    on_news: Callable[[News], None] | None = None,
) -> dict[str, JsonValue]:
    """Ask the engine and wait for the answer.

    Args:
        name: the question; `lapestudio.engine.query` says what each needs and answers.
        arguments: what the question needs.
        is_cancelled: looked at while waiting; when it says so, the child is killed.
        on_news: called while waiting, with what the engine says on the way.

    Raises:
        UserError: the engine's one sentence about a fault in the input, or the question was cancelled.
        EngineError: the engine broke.
    """
    with TemporaryFile() as answer, TemporaryFile() as log, TemporaryDirectory(prefix="lapestudio-") as folder:
        news = _News(Path(folder) / "news.jsonl", on_news)
        words = [name, json.dumps(dict(arguments)), str(news.file)]
        command = [str(engine_python()), "-P", "-m", "lapestudio.engine.query", *words]
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=log,
                env=engine_environment(),
                **detached(),
            )
        except OSError as error:
            raise UserError(f"The engine cannot be started with {command[0]}: {error.strerror or error}.") from error
        _wait(child, is_cancelled, news)
        news.look()
        answer.seek(0)
        log.seek(0)
        return _answer_of(child.returncode, answer.read(), log.read().decode("utf-8", errors="replace"))


def inspect_model(model: str, *, is_cancelled: Callable[[], bool] | None = None) -> ModelReport:
    """Return what is known of a model without loading its weights.

    Raises:
        UserError: no model there, or one that cannot be read.
        EngineError: the engine broke.
    """
    return ModelReport.model_validate(run_query("inspect", {"model": model}, is_cancelled=is_cancelled))


class _News:
    """Hands on what a child appends to its news file, line by line.

    Args:
        file: need not exist yet.
        on_news: who wants to know.
    """

    def __init__(self, file: Path, on_news: Callable[[News], None] | None) -> None:
        self.file = file
        self._on_news = on_news
        self._place = 0

    def look(self) -> None:
        """Hand on the lines that have come."""
        if self._on_news is None:
            return
        try:
            with self.file.open("rb") as stream:
                stream.seek(self._place)
                # A line that is still being written waits for its end.
                lines, _end, _rest = stream.read().rpartition(b"\n")
        except FileNotFoundError:
            return
        self._place += len(lines) + bool(_end)
        for line in filter(None, lines.split(b"\n")):
            self._on_news(json.loads(line))


def _wait(child: subprocess.Popen[bytes], is_cancelled: Callable[[], bool] | None, news: _News) -> None:
    try:
        while child.poll() is None:
            if is_cancelled is not None and is_cancelled():
                raise UserError("The question to the engine was cancelled.")
            news.look()
            time.sleep(_LOOK_EVERY_S)
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def _answer_of(code: int, answer: bytes, log: str) -> dict[str, JsonValue]:
    try:
        document = json.loads(answer)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        last_lines = "\n".join(log.splitlines()[-_LAST_LINES:])
        raise EngineError(
            f"The engine ended with exit code {code} and no answer; its last lines tell more.", last_lines
        )
    if code == 0:
        return document
    if document.get("user_error"):
        raise UserError(str(document["message"]))
    raise EngineError(str(document["message"]), str(document.get("details", "")))
