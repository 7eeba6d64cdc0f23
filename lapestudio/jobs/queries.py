"""Short questions that only the engine can answer, asked of a child process that ends with the answer.

In: a question's name and its arguments. Out: the answer as a dictionary. The call waits: the window asks from a thread.
"""

import json
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal

from pydantic import JsonValue

from lapestudio.core.errors import UserError
from lapestudio.core.model_report import ModelReport
from lapestudio.jobs.interpreter import engine_python
from lapestudio.jobs.starting import detached, engine_environment

QueryName = Literal["inspect", "count_tokens", "count_tokens_by_language", "read_mask", "write_mask"]
_LOOK_EVERY_S = 0.02
_LAST_LINES = 20


class EngineError(Exception):
    """The engine failed to answer for a reason that is not the user's; `details` holds what it printed."""

    def __init__(self, message: str, details: str) -> None:
        super().__init__(message)
        self.details = details


def run_query(
    name: QueryName, arguments: Mapping[str, JsonValue], *, is_cancelled: Callable[[], bool] | None = None
) -> dict[str, JsonValue]:
    """Ask the engine and wait for the answer.

    Args:
        name: the question: `inspect` (model), `count_tokens` (model, paths),
            `count_tokens_by_language` (model, corpora), `read_mask` (file, languages, model or
            intermediate_size, out), `write_mask` (neurons, out).
        arguments: what the question needs.
        is_cancelled: looked at while waiting; when it says so, the child is killed.

    Raises:
        UserError: the engine's one sentence about a fault in the input, or the question was cancelled.
        EngineError: the engine broke.
    """
    command = [str(engine_python()), "-P", "-m", "lapestudio.engine.query", name, json.dumps(dict(arguments))]
    with TemporaryFile() as answer, TemporaryFile() as log:
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
        _wait(child, is_cancelled)
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


def count_tokens(model: str, paths: tuple[Path, ...], *, is_cancelled: Callable[[], bool] | None = None) -> int:
    """Return how many tokens of the model's tokenizer the text in `paths` has.

    Raises:
        UserError: no tokenizer there, or text that cannot be read.
        EngineError: the engine broke.
    """
    arguments: dict[str, JsonValue] = {"model": model, "paths": [str(path.absolute()) for path in paths]}
    answer = run_query("count_tokens", arguments, is_cancelled=is_cancelled)
    return int(str(answer["tokens"]))


def count_tokens_by_language(
    model: str, corpora: Mapping[str, tuple[Path, ...]], *, is_cancelled: Callable[[], bool] | None = None
) -> dict[str, int]:
    """Return how many tokens the text of each language has; corpora that cannot be read are left out.

    Raises:
        UserError: no tokenizer there.
        EngineError: the engine broke.
    """
    paths: dict[str, JsonValue] = {code: [str(path.absolute()) for path in files] for code, files in corpora.items()}
    answer = run_query("count_tokens_by_language", {"model": model, "corpora": paths}, is_cancelled=is_cancelled)
    tokens = answer["tokens"]
    assert isinstance(tokens, dict)
    return {code: int(str(number)) for code, number in tokens.items()}


def _wait(child: subprocess.Popen[bytes], is_cancelled: Callable[[], bool] | None) -> None:
    try:
        while child.poll() is None:
            if is_cancelled is not None and is_cancelled():
                raise UserError("The question to the engine was cancelled.")
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
