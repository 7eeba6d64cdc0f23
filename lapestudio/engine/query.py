"""A process that answers one question and ends: `python -m lapestudio.engine.query NAME ARGUMENTS NEWS-FILE`.

In: the question's name, its arguments as JSON, and a file that takes news on the way, as JSON lines.

Out: one JSON document on standard output and exit code 0; on a fault `{"message", "user_error", "details"}` and 1.
Whatever the libraries print goes to standard error.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from pydantic import JsonValue

from lapestudio.core.errors import UserError
from lapestudio.engine import text_questions
from lapestudio.engine.text_questions import Answer, Arguments, Say

_ARGUMENTS = 4
_SAY_EVERY_S = 0.2


def inspect(arguments: Arguments, _say: Say) -> Answer:
    """Describe a model without its weights: `model` -> a `ModelReport`."""
    from lapestudio.engine.loading import inspect_model

    return inspect_model(arguments["model"]).model_dump(mode="json")


def read_mask(arguments: Arguments, _say: Say) -> Answer:
    """Turn a published mask into a neuron set: `file`, `languages`, `model` or `intermediate_size`, `out` -> `out`."""
    from lapestudio.core.neuron_set import save_neuron_set
    from lapestudio.engine.published_masks import read_published_mask

    width = arguments.get("intermediate_size")
    layers = None
    if arguments.get("model") is not None:
        from lapestudio.engine.loading import inspect_model

        report = inspect_model(arguments["model"])
        width, layers = report.intermediate_size, report.num_layers
    if width is None:
        raise UserError("A published mask does not say how wide the model is: give the model or its intermediate size.")
    neurons = read_published_mask(
        Path(arguments["file"]), arguments["languages"], num_layers=layers, intermediate_size=width
    )
    save_neuron_set(neurons, Path(arguments["out"]))
    return {"out": arguments["out"]}


def write_mask(arguments: Arguments, _say: Say) -> Answer:
    """Write a neuron set as a published mask: `neurons`, `out` -> `out`."""
    from lapestudio.core.neuron_set import load_neuron_set
    from lapestudio.engine.published_masks import write_published_mask

    write_published_mask(load_neuron_set(Path(arguments["neurons"])), Path(arguments["out"]))
    return {"out": arguments["out"]}


class _NewsFile:
    """Appends news as JSON lines; of how far an answer is, a few times a second, of results always.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._said_s = 0.0

    def say(self, news: dict[str, JsonValue]) -> None:
        """Say something."""
        now = time.monotonic()
        if "result" in news or now - self._said_s > _SAY_EVERY_S:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(news, ensure_ascii=False) + "\n")
            self._said_s = now


QUERIES: dict[str, Callable[[Arguments, Say], Answer]] = {
    "inspect": inspect,
    "describe": text_questions.describe,
    "preview": text_questions.preview,
    "count_tokens": text_questions.count_tokens,
    "read_mask": read_mask,
    "write_mask": write_mask,
}


def answer(name: str, arguments: Arguments, say: Say) -> tuple[int, Answer]:
    """Return the exit code and the document that answers the question `name`."""
    try:
        return 0, QUERIES[name](arguments, say)
    except UserError as error:
        return 1, {"user_error": True, "message": str(error), "details": ""}
    except Exception as error:  # noqa: BLE001 - the asker gets it, with its traceback
        message = f"The engine failed with an error inside the program ({type(error).__name__}: {error})."
        return 1, {"user_error": False, "message": message, "details": traceback.format_exc()}


def main() -> None:
    """Answer the question in the arguments."""
    if len(sys.argv) != _ARGUMENTS or sys.argv[1] not in QUERIES:
        sys.stderr.write(f"usage: python -m lapestudio.engine.query {'|'.join(QUERIES)} ARGUMENTS NEWS-FILE\n")
        sys.exit(2)
    # Only the answer may reach standard output; libraries print there too.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        code, document = answer(sys.argv[1], json.loads(sys.argv[2]), _NewsFile(Path(sys.argv[3])).say)
        json.dump(document, out, ensure_ascii=False)
    sys.exit(code)


if __name__ == "__main__":
    main()
