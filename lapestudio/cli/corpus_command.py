"""`lapestudio corpus`: read, check and describe text, and write it clean.

In: files and a language. Out: the facts that the Languages panel shows.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, TextIO

import typer
from pydantic import TypeAdapter

from lapestudio.cli.arguments import existing_paths, make_spec, model_source, new_file, valid_language
from lapestudio.cli.job_commands import Json
from lapestudio.cli.terminal import say, table
from lapestudio.core.atomic import replacing
from lapestudio.core.errors import UserError
from lapestudio.core.languages import find_language
from lapestudio.core.specs import CorpusSource
from lapestudio.core.text_settings import CleaningSettings, ReadingOptions
from lapestudio.corpora.corpus_summary import CorpusSummary
from lapestudio.corpora.describing import describe
from lapestudio.corpora.reader import stop_at_fault
from lapestudio.corpora.reading import look_into
from lapestudio.corpora.segment import Segment
from lapestudio.jobs.queries import run_query

_SHOWN_SEGMENTS = 5
_SHOWN_PROBLEMS = 20
_MAX_EXAMPLE = 90


def corpus(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, folders or archives.")],
    *,
    language: Annotated[str, typer.Option("--language", help="Code or name of the language that the text is in.")],
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="How the bytes are to be understood, such as cp1257.")
    ] = None,
    parts: Annotated[
        str | None, typer.Option("--parts", help="Tiers, columns, fields or languages to read: A,B; * for all.")
    ] = None,
    list_parts: Annotated[
        bool, typer.Option("--list-parts", help="Say what can be chosen with --parts, and stop.")
    ] = False,
    clean: Annotated[
        str | None,
        typer.Option("--clean", help="Cleaning steps to switch on or, with a minus, off: check_script,-compose."),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Count tokens with the tokenizer of this model.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="File to write the clean segments to (.jsonl).")] = None,
    as_json: Json = False,
) -> None:
    """Read, check and describe the text of a language; your files are never changed."""
    code = valid_language(language)
    files = existing_paths(paths)
    if list_parts:
        _print_parts(files, code, encoding, as_json=as_json)
        return
    options = make_spec(ReadingOptions, encoding=encoding, parts=tuple(parts.split(",")) if parts else None)
    source = CorpusSource(
        language=code,
        paths=files,
        reading={str(file): options for file in files} | {str(file / "*"): options for file in files},
        cleaning=_cleaning(clean),
    )
    target = new_file(out)
    summary = _described(source, target)
    tokens = None if model is None else _count(source, summary, model)
    if as_json:
        document = TypeAdapter(CorpusSummary).dump_python(summary, mode="json")
        document["num_read"] = summary.num_read
        document["tokens"] = tokens
        document["tokens_per_word"] = _ratio(tokens, summary.num_words)
        document["tokens_per_character"] = _ratio(tokens, summary.num_characters)
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(_text(summary, tokens) + "\n")
    if target is not None:
        say(f"Written: {target}")


def _described(source: CorpusSource, target: Path | None) -> CorpusSummary:
    """Describe the corpus and write its segments on the way.

    Raises:
        UserError: there is no text in it at all; the first reason.
    """
    if target is None:
        summary = describe(source, on_error="collect")
    else:
        with replacing(target) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
            summary = describe(source, on_error="collect", on_segments=lambda batch: _write(file, batch))
            _check(summary)
    _check(summary)
    return summary


def _check(summary: CorpusSummary) -> None:
    if not summary.num_segments:
        raise UserError(summary.problems[0] if summary.problems else "Nothing is left of the text after cleaning.")


def _write(file: TextIO, segments: Iterable[Segment]) -> None:
    for segment in segments:
        record = {name: value for name, value in segment._asdict().items() if value is not None}
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _count(source: CorpusSource, summary: CorpusSummary, model: str) -> int:
    counted: dict[str, int] = {}
    run_query(
        "count_tokens",
        {
            "model": model_source(model),
            "corpora": [source.model_dump(mode="json")],
            "fingerprints": {source.language: summary.fingerprint},
            "cache": None,
        },
        on_news=lambda news: counted.update(tokens=int(str(news["result"]))) if "result" in news else None,
    )
    return counted["tokens"]


def _cleaning(words: str | None) -> CleaningSettings:
    """Return the settings with the named steps switched.

    Raises:
        UserError: no such step.
    """
    changes: dict[str, object] = {}
    for word in filter(None, (words or "").split(",")):
        name, equals, value = word.strip().removeprefix("-").partition("=")
        if name not in CleaningSettings.model_fields:
            known = ", ".join(CleaningSettings.model_fields)
            raise UserError(f'There is no cleaning step "{name}"; choose from {known}.')
        changes[name] = int(value) if equals and value.isdigit() else not word.strip().startswith("-")
    return make_spec(CleaningSettings, **changes)


def _print_parts(files: Iterable[Path], code: str, encoding: str | None, *, as_json: bool) -> None:
    options = make_spec(ReadingOptions, encoding=encoding)
    looks = [(file, look_into(file, language=code, options=options, report=stop_at_fault)) for file in files]
    found = [(file, part) for file, look in looks for part in look.parts]
    if as_json:
        document = [
            {"file": str(file), "name": part.name, "kind": part.kind, "language": part.language,
             "segments": part.num_segments, "default": part.is_default, "example": part.example}
            for file, part in found
        ]  # fmt: skip
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
        return
    rows = [
        (part.name, part.kind, "yes" if part.is_default else "", _count_text(part.num_segments), _short(part.example))
        for _file, part in found
    ]
    sys.stdout.write((table(("part", "kind", "read", "segments", "example"), rows) if rows else "Nothing.") + "\n")


def _count_text(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _MAX_EXAMPLE else plain[: _MAX_EXAMPLE - 1] + "…"


def _ratio(tokens: int | None, number: int) -> float | None:
    return tokens / number if tokens is not None and number else None


def _text(summary: CorpusSummary, tokens: int | None) -> str:
    language = find_language(summary.language)
    facts = [
        ("language", f"{language.name} ({summary.language})"),
        ("looks like", _verdict_text(summary)),
        ("files", f"{summary.num_files:,}"),
        ("documents", f"{summary.num_documents:,}"),
        ("segments", f"{summary.num_segments:,} of {summary.num_read:,} read"),
        ("characters", f"{summary.num_characters:,}"),
        ("words", f"{summary.num_words:,}" + ("" if summary.words_are_spaced else " (written without spaces)")),
        ("scripts", ", ".join(f"{script} {share:.0%}" for script, share in list(summary.scripts.items())[:3])),
    ]
    if tokens is not None:
        per_word, per_character = _ratio(tokens, summary.num_words), _ratio(tokens, summary.num_characters)
        facts.append(("tokens", f"{tokens:,}: {per_word or 0:.2f} a word, {per_character or 0:.2f} a character"))
    facts += [("left out", f"{step.num_removed:,} x {step.name}") for step in summary.cleaning if step.num_removed]
    facts += [("changed", f"{step.num_changed:,} x {step.name}") for step in summary.cleaning if step.num_changed]
    facts += [("passed over", f"{number:,} x {reason}") for reason, number in summary.skipped.items()]
    facts += [("warning", warning) for note in summary.files for warning in note.warnings][:_SHOWN_PROBLEMS]
    facts += [("problem", problem) for problem in summary.problems[:_SHOWN_PROBLEMS]]
    facts += [("text", _short(segment.text)) for segment in summary.preview[:_SHOWN_SEGMENTS]]
    width = max(len(name) for name, _value in facts)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in facts)


def _verdict_text(summary: CorpusSummary) -> str:
    verdict = summary.verdict
    if verdict is None:
        return "not checked"
    if verdict.outcome == "unknown" or verdict.looks_like is None:
        return "not known to the language check"
    said = {
        "agrees": "",
        "close": ", which the language check cannot tell from the language that was named",
        "unsure": ", but that is not sure",
        "differs": ", NOT the language that was named",
    }[verdict.outcome]
    return f"{find_language(verdict.looks_like).name} ({verdict.looks_like}){said}"
