"""Questions about text that are answered in a process of their own, so that the window never waits for a file.

In: arguments of `query`. Out: answers, and news on the way: `{"name", "done"}` and `{"name", "result"}`.
"""

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import JsonValue, TypeAdapter

from lapestudio.core.errors import UserError
from lapestudio.core.specs import CorpusSource
from lapestudio.core.text_cache import TextCache, state_of_files
from lapestudio.core.text_settings import ReadingOptions

Arguments = dict[str, Any]
Answer = dict[str, Any]
Say = Callable[[dict[str, JsonValue]], None]
_MAX_PREVIEW_PROBLEMS = 20


def describe(arguments: Arguments, say: Say) -> Answer:
    """Describe corpora: `corpora` (list of `CorpusSource`), `preview`, `cache` (folder or nothing) -> nothing.

    Each `CorpusSummary` is said as soon as it is known.
    """
    from lapestudio.corpora.corpus_summary import CorpusSummary
    from lapestudio.corpora.describing import describe as describe_corpus
    from lapestudio.corpora.reading import find_all_files

    adapter = TypeAdapter(CorpusSummary)
    cache = TextCache(_folder(arguments))
    for document in arguments["corpora"]:
        source = CorpusSource.model_validate(document)
        try:
            state = state_of_files(find_all_files([*source.paths, *source.held_out]))
        except (UserError, OSError):
            state = ""  # Whatever is wrong with the files, describing them says it.
        key = ("summary", source.model_dump_json(), state, str(arguments["preview"]))
        result = cache.read(*key) if state else None
        if result is None:
            summary = describe_corpus(
                source,
                preview=arguments["preview"],
                on_error="collect",
                on_progress=lambda done, name=source.language: say({"name": name, "done": done}),  # type: ignore[misc]
            )
            result = adapter.dump_python(summary, mode="json")
            if state:
                cache.write(result, *key)
        say({"name": source.language, "result": result})
    return {}


def preview(arguments: Arguments, _say: Say) -> Answer:
    """Look into a file: `path`, `language`, `options`, `limit` -> `parts`, `segments`, `notes`, `problems`."""
    from lapestudio.corpora.normalising import normalise
    from lapestudio.corpora.reader import FileNotes, Part
    from lapestudio.corpora.reading import look_into
    from lapestudio.corpora.segment import Segment

    problems: list[str] = []
    look = look_into(
        Path(arguments["path"]),
        language=arguments["language"],
        options=ReadingOptions.model_validate(arguments["options"]),
        report=problems.append,
    )
    segments = list(islice(look.segments(normalise), arguments["limit"]))
    return {
        "parts": TypeAdapter(list[Part]).dump_python(list(look.parts), mode="json"),
        "segments": TypeAdapter(list[Segment]).dump_python(segments, mode="json"),
        "notes": TypeAdapter(FileNotes).dump_python(look.notes(len(segments)), mode="json"),
        "problems": problems[:_MAX_PREVIEW_PROBLEMS],
    }


def count_tokens(arguments: Arguments, say: Say) -> Answer:
    """Count the tokens of corpora: `model`, `corpora` (list of `CorpusSource`), `fingerprints`, `cache` -> nothing.

    Each number is said as soon as it is known. Faults are passed over here: describing the text says what they are.
    """
    cache = TextCache(_folder(arguments))
    tokenizer_state = _tokenizer_state(arguments["model"])
    pending: list[tuple[CorpusSource, tuple[str, str, str]]] = []
    for document in arguments["corpora"]:
        source = CorpusSource.model_validate(document)
        fingerprint = str(arguments["fingerprints"].get(source.language, ""))
        key = ("tokens", tokenizer_state, fingerprint)
        known = cache.read(*key) if fingerprint else None
        if known is None:
            pending.append((source, key))
        else:
            say({"name": source.language, "result": known})
    if not pending:
        return {}
    # The tokenizer's library takes seconds to load: only where something is to count.
    from lapestudio.corpora.corpus import Corpus
    from lapestudio.engine.loading import load_tokenizer
    from lapestudio.engine.tokens import count_tokens as count

    tokenizer = load_tokenizer(arguments["model"])
    for source, key in pending:
        corpus = Corpus(source, report=lambda _fault: None)
        number = count(
            corpus,
            tokenizer,
            on_progress=lambda done, name=source.language: say({"name": name, "done": done}),  # type: ignore[misc]
        )
        if key[-1]:
            cache.write(number, *key)
        say({"name": source.language, "result": number})
    return {}


def _folder(arguments: Arguments) -> Path | None:
    return Path(arguments["cache"]) if arguments.get("cache") else None


def _tokenizer_state(model: str) -> str:
    """Return text that changes when the model's tokenizer does."""
    path = Path(model)
    if path.is_file():
        return state_of_files([path])
    return state_of_files(sorted(path.glob("tokenizer*"))) if path.is_dir() else model
