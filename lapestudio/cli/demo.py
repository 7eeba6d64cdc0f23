"""The main job on the built-in example, headless: identify, train, evaluate, export; with tables.

In: the example that comes with the program. Out: a project folder with all runs, which the window can open.
"""

import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from lapestudio.cli.job_commands import finish
from lapestudio.cli.summaries import files_table, losses_table, neurons_table
from lapestudio.cli.terminal import duration_text
from lapestudio.core.project import Project
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import CorpusSource, EvaluateSpec, ExportSpec, IdentifySpec, JobSpec, TrainSpec
from lapestudio.jobs.example import write_example

Summary = dict[str, Any]


def demo(
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the project [default: a temporary one].")
    ] = None,
) -> None:
    """Do the main job on the built-in example: find neurons, train a language, measure, write the adapted model."""
    begin = time.monotonic()
    folder = out.expanduser() if out is not None else Path(tempfile.mkdtemp(prefix="lapestudio-demo-")) / "example"
    project = write_example(folder)
    target = project.document.target
    if target is None:
        raise RuntimeError("the built-in example names no language to teach")

    identified, neurons = _run(project, "identify", _identify_spec(project))
    project.update(identify_run=identified.path.name)
    _print("Neurons of each language", neurons_table(neurons), neurons["text"])

    trained, training = _run(project, "train", _train_spec(project, target, identified))
    project.update(train_run=trained.path.name)

    _base_run, before = _run(project, "evaluate_base", _evaluate_spec(project, target, None))
    _adapted_run, after = _run(project, "evaluate_adapted", _evaluate_spec(project, target, trained))
    losses = {
        "loss_before": {language: figures["loss_nats"] for language, figures in before["languages"].items()},
        "loss_after": {language: figures["loss_nats"] for language, figures in after["languages"].items()},
    }
    title = f"Loss on held-out text in nats a token; {target} was trained, the others were not"
    _print(title, losses_table(losses), training["text"])

    target_folder = project.folder / "adapted-model"
    _export_run, export = _run(project, "export", ExportSpec(trained=trained.path, out=target_folder))
    _print(f"Written to {target_folder}", files_table(export), export["text"])
    sys.stdout.write(
        f"\nDone in {duration_text(time.monotonic() - begin)}. The project with all its runs is in {project.folder}; "
        f'look at it with: lapestudio "{project.folder}"\n'
    )


def _run(project: Project, name: str, spec: JobSpec) -> tuple[RunFolder, Summary]:
    run = RunFolder.create(project.runs_folder / name, spec)
    return run, finish(run)


def _print(title: str, table: str, text: str) -> None:
    sys.stdout.write(f"\n{title}\n\n{table}\n\n{text}\n\n")
    sys.stdout.flush()


def _identify_spec(project: Project) -> IdentifySpec:
    document = project.document
    return IdentifySpec(
        model=str(project.model_source),
        corpora=_corpora(project, [language.code for language in document.languages]),
        settings=document.identify,
        selection=document.selection,
    )


def _train_spec(project: Project, target: str, identified: RunFolder) -> TrainSpec:
    document = project.document
    language = project.language(target)
    return TrainSpec(
        model=str(project.model_source),
        neurons=identified.path,
        language=target,
        paths=tuple(map(project.resolve, language.paths)),
        validation_paths=tuple(map(project.resolve, language.held_out)),
        cleaning=language.cleaning,
        controls=_corpora(project, document.controls, held_out=True),
        settings=document.train,
    )


def _evaluate_spec(project: Project, target: str, trained: RunFolder | None) -> EvaluateSpec:
    document = project.document
    return EvaluateSpec(
        model=str(project.model_source),
        trained=None if trained is None else trained.path,
        corpora=_corpora(project, [target, *document.controls], held_out=True),
        block_size=document.train.block_size,
    )


def _corpora(project: Project, codes: Iterable[str], *, held_out: bool = False) -> tuple[CorpusSource, ...]:
    found = (project.corpus(code, held_out=held_out) for code in codes)
    return tuple(corpus for corpus in found if corpus is not None)
