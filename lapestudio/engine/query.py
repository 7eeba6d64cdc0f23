"""A process that answers one short question and ends: `python -m lapestudio.engine.query NAME ARGUMENTS-AS-JSON`.

Out: one JSON document on standard output and exit code 0; on a fault `{"message", "user_error", "details"}` and 1.
Whatever the libraries print goes to standard error.
"""

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lapestudio.core.errors import UserError

Arguments = dict[str, Any]
Answer = dict[str, Any]
_ARGUMENTS = 3


def inspect(arguments: Arguments) -> Answer:
    """Describe a model without its weights: `model` -> a `ModelReport`."""
    from lapestudio.engine.loading import inspect_model

    return inspect_model(arguments["model"]).model_dump(mode="json")


def count_tokens(arguments: Arguments) -> Answer:
    """Count the tokens of text: `model`, `paths` -> `tokens`."""
    from lapestudio.engine.loading import load_tokenizer

    return {"tokens": _count_tokens(load_tokenizer(arguments["model"]), arguments["paths"])}


def count_tokens_by_language(arguments: Arguments) -> Answer:
    """Count the tokens of several corpora: `model`, `corpora` (language -> paths) -> `tokens` (language -> number).

    A corpus that cannot be read is left out: whoever reads it says why.
    """
    from lapestudio.engine.loading import load_tokenizer

    tokenizer = load_tokenizer(arguments["model"])
    tokens = {}
    for language, paths in arguments["corpora"].items():
        with contextlib.suppress(UserError):
            tokens[language] = _count_tokens(tokenizer, paths)
    return {"tokens": tokens}


def _count_tokens(tokenizer: Any, paths: list[str]) -> int:
    from lapestudio.corpora.reading import read

    segments = (segment for path in paths for segment in read(Path(path)))
    return sum(len(tokenizer.encode(segment.text, add_special_tokens=False)) for segment in segments)


def read_mask(arguments: Arguments) -> Answer:
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


def write_mask(arguments: Arguments) -> Answer:
    """Write a neuron set as a published mask: `neurons`, `out` -> `out`."""
    from lapestudio.core.neuron_set import load_neuron_set
    from lapestudio.engine.published_masks import write_published_mask

    write_published_mask(load_neuron_set(Path(arguments["neurons"])), Path(arguments["out"]))
    return {"out": arguments["out"]}


QUERIES: dict[str, Callable[[Arguments], Answer]] = {
    "inspect": inspect,
    "count_tokens": count_tokens,
    "count_tokens_by_language": count_tokens_by_language,
    "read_mask": read_mask,
    "write_mask": write_mask,
}


def answer(name: str, arguments: Arguments) -> tuple[int, Answer]:
    """Return the exit code and the document that answers the question `name`."""
    try:
        return 0, QUERIES[name](arguments)
    except UserError as error:
        return 1, {"user_error": True, "message": str(error), "details": ""}
    except Exception as error:  # noqa: BLE001 - the asker gets it, with its traceback
        message = f"The engine failed with an error inside the program ({type(error).__name__}: {error})."
        return 1, {"user_error": False, "message": message, "details": traceback.format_exc()}


def main() -> None:
    """Answer the question in the arguments."""
    if len(sys.argv) != _ARGUMENTS or sys.argv[1] not in QUERIES:
        sys.stderr.write(f"usage: python -m lapestudio.engine.query {'|'.join(QUERIES)} ARGUMENTS-AS-JSON\n")
        sys.exit(2)
    # Only the answer may reach standard output; libraries print there too.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        code, document = answer(sys.argv[1], json.loads(sys.argv[2]))
        json.dump(document, out, ensure_ascii=False)
    sys.exit(code)


if __name__ == "__main__":
    main()
