"""The commands that run a job: options to a spec, the spec to a run folder, the run folder to its result.

Each prints what people want to know; with `--json` one document for programs.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import JsonValue

from lapestudio.cli.arguments import (
    corpora,
    existing_paths,
    field_option,
    given,
    make_spec,
    model_source,
    run_path,
    valid_language,
)
from lapestudio.cli.summaries import summary_text
from lapestudio.cli.terminal import run_in_foreground, say, table
from lapestudio.core.errors import UserError
from lapestudio.core.events import ErrorEvent, ResultEvent, StoppedEvent
from lapestudio.core.hub_choices import HubChoice, choices_for
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import (
    EvaluateSpec,
    ExportSpec,
    FetchSpec,
    IdentifySettings,
    IdentifySpec,
    JobSpec,
    SelectionSettings,
    TrainSettings,
    TrainSpec,
    spec_from_json,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Out = Annotated[Path | None, typer.Option("--out", help="Run folder to make [default: runs/DATE_KIND_LABEL].")]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="Folder, GGUF file or hub id.")]
Corpora = Annotated[
    list[str], typer.Option("--corpus", metavar="CODE=PATH", help="Text of a language; may be repeated.")
]


class JobFailedError(Exception):
    """A job has ended without a result; `details` is for those who ask."""

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message)
        self.details = details


def finish(run: RunFolder) -> dict[str, JsonValue]:
    """Run the job of `run` and return its summary.

    Raises:
        JobFailedError: it failed or was stopped.
        UserError: it cannot be started.
    """
    say(f"Run folder: {run.path}")
    end = run_in_foreground(run)
    match end:
        case ResultEvent():
            return end.summary
        case StoppedEvent():
            hint = f' Go on with: lapestudio resume "{run.path}"' if end.resumable else ""
            raise JobFailedError(f"{end.text}{hint}")
        case ErrorEvent():
            raise JobFailedError(end.message, end.details)


def run_and_print(run: RunFolder, *, as_json: bool) -> None:
    """Run the job of `run` and print its result on standard output."""
    kind = run.read_spec().kind
    summary = finish(run)
    if as_json:
        document = {"kind": kind, "run": str(run.path), **summary}
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write(summary_text(kind, summary) + "\n")


def identify(
    model: Model,
    *,
    corpus: Corpora,
    out: Out = None,
    max_tokens: Annotated[int | None, field_option(IdentifySettings, "max_tokens")] = None,
    block: Annotated[int | None, field_option(IdentifySettings, "block_size", "--block", "--block-size")] = None,
    batch: Annotated[int | None, field_option(IdentifySettings, "batch_size", "--batch", "--batch-size")] = None,
    add_bos: Annotated[bool | None, field_option(IdentifySettings, "add_bos", "--add-bos/--no-bos")] = None,
    dtype: Annotated[str | None, field_option(IdentifySettings, "dtype")] = None,
    device: Annotated[str | None, field_option(IdentifySettings, "device")] = None,
    top_rate: Annotated[float | None, field_option(SelectionSettings, "top_rate")] = None,
    activity_quantile: Annotated[float | None, field_option(SelectionSettings, "activity_quantile")] = None,
    as_json: Json = False,
) -> None:
    """Count activations on the text of several languages and select each language's neurons."""
    settings = make_spec(
        IdentifySettings,
        max_tokens=max_tokens,
        block_size=block,
        batch_size=batch,
        add_bos=add_bos,
        dtype=dtype,
        device=device,
    )
    selection = make_spec(SelectionSettings, top_rate=top_rate, activity_quantile=activity_quantile)
    spec = make_spec(
        IdentifySpec, model=model_source(model), corpora=corpora(corpus), settings=settings, selection=selection
    )
    run_and_print(RunFolder.create(run_path(out, spec), spec), as_json=as_json)


def train(
    model: Model,
    *,
    neurons: Annotated[Path, field_option(TrainSpec, "neurons")],
    language: Annotated[str, field_option(TrainSpec, "language")],
    corpus: Annotated[list[str], field_option(TrainSpec, "paths", "--corpus")],
    out: Out = None,
    validation: Annotated[list[Path] | None, field_option(TrainSpec, "validation_paths", "--validation")] = None,
    control: Annotated[
        list[str] | None, typer.Option("--control", metavar="CODE=PATH", help="Text of a language to watch.")
    ] = None,
    method: Annotated[str | None, field_option(TrainSpec, "method")] = None,
    recipe: Annotated[str, typer.Option(help="Where settings that are not given come from: studio, published.")] = (
        "studio"
    ),
    learning_rate: Annotated[float | None, field_option(TrainSettings, "learning_rate")] = None,
    schedule: Annotated[str | None, field_option(TrainSettings, "schedule")] = None,
    warmup_share: Annotated[float | None, field_option(TrainSettings, "warmup_share")] = None,
    weight_decay: Annotated[float | None, field_option(TrainSettings, "weight_decay")] = None,
    gradient_clip: Annotated[float | None, field_option(TrainSettings, "gradient_clip")] = None,
    block_size: Annotated[int | None, field_option(TrainSettings, "block_size", "--block", "--block-size")] = None,
    batch_size: Annotated[int | None, field_option(TrainSettings, "batch_size", "--batch", "--batch-size")] = None,
    accumulation: Annotated[int | None, field_option(TrainSettings, "accumulation")] = None,
    max_steps: Annotated[int | None, field_option(TrainSettings, "max_steps")] = None,
    max_tokens: Annotated[int | None, field_option(TrainSettings, "max_tokens")] = None,
    epochs: Annotated[float | None, field_option(TrainSettings, "epochs")] = None,
    validate_every: Annotated[int | None, field_option(TrainSettings, "validate_every")] = None,
    validation_share: Annotated[float | None, field_option(TrainSettings, "validation_share")] = None,
    test_share: Annotated[float | None, field_option(TrainSettings, "test_share")] = None,
    max_validation_tokens: Annotated[int | None, field_option(TrainSettings, "max_validation_tokens")] = None,
    seed: Annotated[int | None, field_option(TrainSettings, "seed")] = None,
    dtype: Annotated[str | None, field_option(TrainSettings, "dtype")] = None,
    device: Annotated[str | None, field_option(TrainSettings, "device")] = None,
    insist: Annotated[bool, field_option(TrainSpec, "insist", "--insist")] = False,
    as_json: Json = False,
) -> None:
    """Train a language's neurons on text of that language."""
    settings = make_spec(TrainSettings, **{**_recipe(recipe), **given(locals(), *TrainSettings.model_fields)})
    spec = make_spec(
        TrainSpec,
        model=model_source(model),
        neurons=existing_paths([neurons])[0],
        language=valid_language(language),
        paths=_training_paths(corpus, language),
        validation_paths=existing_paths(validation or []),
        controls=corpora(control or []),
        method=method,
        insist=insist,
        settings=settings,
    )
    run_and_print(RunFolder.create(run_path(out, spec), spec), as_json=as_json)


def resume(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder of a training or a fetch.")],
    as_json: Json = False,
) -> None:
    """Go on with a training or a fetch that was stopped or has crashed, from where it was."""
    folder = RunFolder(run.expanduser())
    spec = folder.read_spec()
    if not isinstance(spec, TrainSpec | FetchSpec):
        raise UserError(
            f"{folder.path} is no training and no fetch but a job of kind {spec.kind}; start it again instead."
        )
    status = folder.read_status()
    if status is not None and status.state == "done":
        name = "training" if isinstance(spec, TrainSpec) else "fetch"
        raise UserError(f"The {name} in {folder.path} is finished; there is nothing to resume.")
    run_and_print(folder, as_json=as_json)


def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL|RUN", help="Folder, GGUF file, hub id, or a training's run.")],
    *,
    corpus: Corpora,
    out: Out = None,
    trained: Annotated[Path | None, field_option(EvaluateSpec, "trained")] = None,
    checkpoint: Annotated[str | None, field_option(EvaluateSpec, "checkpoint")] = None,
    block_size: Annotated[int | None, field_option(EvaluateSpec, "block_size", "--block", "--block-size")] = None,
    batch_size: Annotated[int | None, field_option(EvaluateSpec, "batch_size", "--batch", "--batch-size")] = None,
    max_tokens: Annotated[int | None, field_option(EvaluateSpec, "max_tokens")] = None,
    dtype: Annotated[str | None, field_option(EvaluateSpec, "dtype")] = None,
    device: Annotated[str | None, field_option(EvaluateSpec, "device")] = None,
    as_json: Json = False,
) -> None:
    """Measure perplexity on text, of a model as it is or with a training's rows."""
    training = RunFolder(trained.expanduser() if trained is not None else Path(model).expanduser())
    source = model_source(model)
    if trained is None and training.spec_file.exists():
        source, trained = training_spec(training).model, training.path
    spec = make_spec(
        EvaluateSpec,
        model=source,
        corpora=corpora(corpus),
        trained=None if trained is None else training.path,
        **given(locals(), "checkpoint", "block_size", "batch_size", "max_tokens", "dtype", "device"),
    )
    run_and_print(RunFolder.create(run_path(out, spec), spec), as_json=as_json)


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder of a training.")],
    *,
    out: Annotated[Path, field_option(ExportSpec, "out")],
    to: Annotated[str | None, field_option(ExportSpec, "to")] = None,
    checkpoint: Annotated[str | None, field_option(ExportSpec, "checkpoint")] = None,
    dtype: Annotated[str | None, field_option(ExportSpec, "dtype")] = None,
    as_json: Json = False,
) -> None:
    """Write the adapted model and verify what was written."""
    training = RunFolder(run.expanduser())
    training_spec(training)
    target = out.expanduser().absolute()
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise UserError(f"{target} exists already and is not an empty folder; choose another folder for the export.")
    spec = make_spec(ExportSpec, trained=training.path, out=target, to=to, checkpoint=checkpoint, dtype=dtype)
    run_and_print(RunFolder.create(run_path(None, spec, runs=training.path.parent), spec), as_json=as_json)


def fetch(
    dataset: Annotated[
        str | None, typer.Argument(metavar="DATASET", help="Hub id, a folder of the same form, or a ready-made choice.")
    ] = None,
    *,
    language: Annotated[str | None, field_option(FetchSpec, "language")] = None,
    listed: Annotated[
        str | None, typer.Option("--list", metavar="CODE", help="List the ready-made choices for a language.")
    ] = None,
    out: Out = None,
    config: Annotated[str | None, field_option(FetchSpec, "config")] = None,
    split: Annotated[str | None, field_option(FetchSpec, "split")] = None,
    column: Annotated[str | None, field_option(FetchSpec, "column")] = None,
    max_characters: Annotated[int | None, field_option(FetchSpec, "max_characters")] = None,
    revision: Annotated[str | None, field_option(FetchSpec, "revision")] = None,
    as_json: Json = False,
) -> None:
    """Fetch text from the Hugging Face hub, or list the ready-made choices for a language."""
    if listed is not None:
        sys.stdout.write(_choices_text(choices_for(listed), as_json=as_json) + "\n")
        return
    if dataset is None or language is None:
        raise UserError("Name the data set and the --language; --list CODE shows what there is for a language.")
    code = valid_language(language)
    name = dataset.casefold()
    chosen = next((one for one in choices_for(code) if name in (one.name.casefold(), one.dataset.casefold())), None)
    ready = {"config": chosen.config, "split": chosen.split, "column": chosen.column} if chosen is not None else {}
    place = Path(dataset).expanduser()
    source = str(place.absolute()) if place.exists() else chosen.dataset if chosen is not None else dataset
    named = given(locals(), "config", "split", "column", "max_characters", "revision")
    spec = make_spec(FetchSpec, dataset=source, language=code, **(ready | named))
    run_and_print(RunFolder.create(run_path(out, spec), spec), as_json=as_json)


def run_spec(
    spec_file: Annotated[Path, typer.Argument(metavar="SPEC.json", help="Job description.")],
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Run a job description; relative paths in it start at its own folder."""
    file = spec_file.expanduser().absolute()
    try:
        text = file.read_bytes()
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.") from error
    spec = _with_absolute_paths(spec_from_json(text, origin=str(file)), file.parent)
    run_and_print(RunFolder.create(run_path(out, spec), spec), as_json=as_json)


def training_spec(run: RunFolder) -> TrainSpec:
    """Return what the training in `run` was asked.

    Raises:
        UserError: no run folder, or of another kind of job.
    """
    spec = run.read_spec()
    if not isinstance(spec, TrainSpec):
        raise UserError(f"{run.path} is no training but a job of kind {spec.kind}.")
    return spec


def _choices_text(choices: Sequence[HubChoice], *, as_json: bool) -> str:
    if as_json:
        return json.dumps([asdict(one) for one in choices], ensure_ascii=False, indent=2)
    if not choices:
        return "There is no ready-made data set for this language."
    rows = [
        (one.name, one.dataset, one.config, one.split, one.licence, "to be asked for" if one.needs_access else "open")
        for one in choices
    ]
    return table(("choice", "data set", "configuration", "split", "licence", "access"), rows)


def _recipe(name: str) -> dict[str, Any]:
    recipes = {"studio": TrainSettings(), "published": TrainSettings.published()}
    if name not in recipes:
        raise UserError(f'There is no recipe "{name}"; choose one of {", ".join(recipes)}.')
    return recipes[name].model_dump(exclude_unset=True)


def _training_paths(words: Sequence[str], language: str) -> tuple[Path, ...]:
    # CODE=PATH, as the other commands want it, is understood where it names the trained language.
    prefix = f"{language}="
    return existing_paths(Path(word.removeprefix(prefix)) for word in words)


def _with_absolute_paths(spec: JobSpec, base: Path) -> JobSpec:
    def absolute(value: object) -> object:
        if isinstance(value, Path):
            return base / value.expanduser()
        if isinstance(value, dict):
            return {
                name: {str(base / path): options for path, options in part.items()}
                if name == "reading"
                else absolute(part)
                for name, part in value.items()
            }
        if isinstance(value, list | tuple):
            return tuple(absolute(part) for part in value)
        return value

    document = absolute(spec.model_dump())
    assert isinstance(document, dict)
    name = "dataset" if isinstance(spec, FetchSpec) else "model"
    if name in document and (base / document[name]).exists():
        document[name] = str(base / document[name])
    return type(spec).model_validate(document)
