"""Command-line words to specs: options described by the spec's own fields, languages and files checked before a job.

In: what the user typed. Out: values that a spec takes, with absolute paths.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, get_args

import typer
from pydantic import BaseModel, ValidationError

from lapestudio.core.errors import UserError
from lapestudio.core.languages import find_language
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import CorpusSource, JobSpec, first_problem, job_label

_Spec = TypeVar("_Spec", bound=BaseModel)
_LIST_OPTIONS = ("--corpus", "--control", "--validation", "--languages")
_MAX_CODE_LETTERS = 3
_BOUNDS = (("gt", "more than"), ("ge", "at least"), ("lt", "less than"), ("le", "at most"))


def field_option(model: type[BaseModel], field: str, *names: str) -> Any:
    """Return a typer option whose help is the description, range and default of a spec's field."""
    info = model.model_fields[field]
    bounds = [
        f"{words} {getattr(bound, name)}" for name, words in _BOUNDS for bound in info.metadata if hasattr(bound, name)
    ]
    if choices := [choice for choice in get_args(info.annotation) if isinstance(choice, str)]:
        bounds = [f"one of {', '.join(choices)}"]
    has_default = not info.is_required() and info.default not in (None, False, ())
    default = f" [default: {info.default}]" if has_default else ""
    text = (info.description or "") + (f" ({', '.join(bounds)})" if bounds else "") + default
    return typer.Option(*(names or (f"--{field.replace('_', '-')}",)), help=text, show_default=False)


def make_spec(spec_type: type[_Spec], /, **values: object) -> _Spec:
    """Return the spec of the values that were given; the others keep the spec's defaults.

    Raises:
        UserError: a value is out of its range; the message names the field.
    """
    try:
        return spec_type(**{name: value for name, value in values.items() if value is not None})
    except ValidationError as error:
        raise UserError(f"This cannot be done with these settings: {first_problem(error)}") from error


def model_source(text: str) -> str:
    """Return a model's folder or file as an absolute path, a hub id as it is."""
    path = Path(text).expanduser()
    return str(path.absolute()) if path.exists() else text


def existing_paths(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return absolute paths.

    Raises:
        UserError: one of them does not exist.
    """
    absolute = tuple(path.expanduser().absolute() for path in paths)
    for path in absolute:
        if not path.exists():
            raise UserError(f"There is no file or folder {path}.")
    return absolute


def new_file(path: Path | None) -> Path | None:
    """Return the absolute path of a file to write, where one is wanted.

    Raises:
        UserError: it exists already.
    """
    if path is None:
        return None
    absolute = path.expanduser().absolute()
    if absolute.exists():
        raise UserError(f"{absolute} exists already; choose another name, or delete it first.")
    return absolute


def valid_language(code: str) -> str:
    """Return `code` as it was typed, or the code of a language that was named.

    Raises:
        UserError: no such language; the message suggests the nearest.
    """
    language = find_language(code)
    # A name ("Maltese") is understood, but files and lists go by codes.
    return code if len(re.split("[-_]", code)[0]) <= _MAX_CODE_LETTERS else language.code


def corpora(words: Sequence[str]) -> tuple[CorpusSource, ...]:
    """Return the corpora in words of the form CODE=PATH; several words of one language make one corpus.

    Raises:
        UserError: a word of another form, an unknown language, or a file that does not exist.
    """
    paths: dict[str, list[Path]] = {}
    for word in words:
        code, equals, path = word.partition("=")
        if not (code and equals and path):
            raise UserError(f'"{word}" is not of the form CODE=PATH, for example mt=texts/maltese.txt.')
        paths.setdefault(valid_language(code), []).append(Path(path))
    return tuple(CorpusSource(language=code, paths=existing_paths(found)) for code, found in paths.items())


def run_path(out: Path | None, spec: JobSpec, *, runs: Path | None = None) -> Path:
    """Return where the run of `spec` goes: `out`, or a new folder named by date and job in `runs` (./runs)."""
    if out is not None:
        return out.expanduser()
    return RunFolder.new_path(runs or Path("runs"), spec.kind, job_label(spec), datetime.now().astimezone())


def spread_lists(arguments: Sequence[str]) -> list[str]:
    """Let one `--corpus` take several words: repeat the option before each of them.

    A bare word after the list belongs to it when it reads CODE=PATH, or when the command's own argument stands before
    all options and so cannot be meant.
    """
    own_argument_is_first = len(arguments) > 1 and not arguments[1].startswith("-")
    spread: list[str] = []
    current = ""
    for position, word in enumerate(arguments):
        if word.startswith("-"):
            current = ""
        elif spread and spread[-1] in _LIST_OPTIONS:
            current = spread[-1]
        elif current and (own_argument_is_first or "=" in word) and position > 1:
            spread.append(current)
        else:
            current = ""
        spread.append(word)
    return spread


def given(values: Mapping[str, object], *names: str) -> dict[str, object]:
    """Return those of the named values that the user has set."""
    return {name: values[name] for name in names if values[name] is not None}
