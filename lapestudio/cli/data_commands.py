"""The commands that run no job: look at a model, select from counts, convert neuron sets, write the example project.

In: files. Out: files and tables; questions that need the engine are asked of a short child process.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from lapestudio.cli.arguments import (
    existing_paths,
    field_option,
    make_spec,
    model_source,
    new_file,
    valid_language,
)
from lapestudio.cli.job_commands import Json, Model
from lapestudio.cli.terminal import say, size_text, table
from lapestudio.core.activation_counts import ActivationCounts, load_counts
from lapestudio.core.errors import UserError
from lapestudio.core.lape import Selector
from lapestudio.core.model_report import MemoryEstimate, ModelReport
from lapestudio.core.neuron_set import NeuronSet, load_neuron_set, save_neuron_set
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import SelectionSettings
from lapestudio.jobs.example import write_example
from lapestudio.jobs.queries import inspect_model, run_query

_PICKLES = (".pth", ".pt")


def inspect(model: Model, as_json: Json = False) -> None:
    """Say what a model is and whether it can be worked with, without loading its weights."""
    report = inspect_model(model_source(model))
    sys.stdout.write((report.model_dump_json(indent=2) if as_json else _report_text(report)) + "\n")


def select(
    counts: Annotated[Path, typer.Argument(metavar="RUN|COUNTS", help="Run folder, counts.safetensors or .npz.")],
    *,
    top_rate: Annotated[float | None, field_option(SelectionSettings, "top_rate")] = None,
    activity_quantile: Annotated[float | None, field_option(SelectionSettings, "activity_quantile")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Neuron set to write: .safetensors, .json, .csv, .pth.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Select each language's neurons from stored counts."""
    settings = make_spec(SelectionSettings, top_rate=top_rate, activity_quantile=activity_quantile)
    target = new_file(out)
    found, notices = _select(_counts(counts), settings)
    for notice in notices:
        say(f"Note: {notice}")
    _save_and_print(found, target, as_json=as_json)


def neurons(
    source: Annotated[
        Path, typer.Argument(metavar="FILE|RUN", help="Neuron set: a run, .safetensors, .json, or a published .pth.")
    ],
    *,
    out: Annotated[Path | None, typer.Option("--out", help="File to write: .safetensors, .json, .csv, .pth.")] = None,
    languages: Annotated[
        str | None, typer.Option("--languages", help="A published file has no names: its languages, as mt,af,is.")
    ] = None,
    intermediate_size: Annotated[
        int | None, typer.Option("--intermediate-size", help="A published file has no sizes: neurons of a layer.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Take the sizes from this model instead.")] = None,
    as_json: Json = False,
) -> None:
    """Show a neuron set, or convert it between our forms and the one of the published code."""
    target = new_file(out)
    (file,) = existing_paths([source])
    if file.is_dir():
        file = RunFolder(file).neurons_file
    if file.suffix.lower() in _PICKLES:
        found = _load_published(file, languages, intermediate_size, model)
    else:
        found = load_neuron_set(file)
    _save_and_print(found, target, as_json=as_json)


def example(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to make.")]) -> None:
    """Write the example project: a tiny model and texts in several languages."""
    project = write_example(folder.expanduser())
    sys.stdout.write(f'The example project is in {project.folder}. Open it with: lapestudio "{project.folder}"\n')


def _counts(path: Path) -> ActivationCounts:
    (place,) = existing_paths([path])
    if place.is_dir():
        run = RunFolder(place)
        if not run.counts_file.exists():
            raise UserError(f"{place} holds no counts: it is no run folder of a finished identification.")
        place = run.counts_file
    return load_counts(place)


def _select(counts: ActivationCounts, settings: SelectionSettings) -> tuple[NeuronSet, tuple[str, ...]]:
    selector = Selector(counts.over_zero, counts.num_tokens, counts.languages)
    selection = selector.select(settings.top_rate, settings.activity_quantile)
    return NeuronSet.from_selection(selection, counts), selection.notices


def _load_published(file: Path, languages: str | None, intermediate_size: int | None, model: str | None) -> NeuronSet:
    if not languages:
        raise UserError(f"{file} has no language names in it; give them in its order with --languages mt,af,is.")
    if intermediate_size is None and model is None:
        raise UserError(f"{file} does not say how wide its model is; give --intermediate-size N or --model MODEL.")
    with TemporaryDirectory() as folder:
        out = Path(folder) / "neurons.safetensors"
        run_query(
            "read_mask",
            {
                "file": str(file),
                "languages": [valid_language(code.strip()) for code in languages.split(",")],
                "intermediate_size": intermediate_size,
                "model": None if model is None else model_source(model),
                "out": str(out),
            },
        )
        return load_neuron_set(out)


def _save_and_print(found: NeuronSet, target: Path | None, *, as_json: bool) -> None:
    if target is not None:
        if target.suffix.lower() in _PICKLES:
            with TemporaryDirectory() as folder:
                ours = Path(folder) / "neurons.safetensors"
                save_neuron_set(found, ours)
                run_query("write_mask", {"neurons": str(ours), "out": str(target)})
        else:
            save_neuron_set(found, target)
        say(f"Written: {target}")
    sys.stdout.write((json.dumps(found.document(), ensure_ascii=False) if as_json else _neurons_text(found)) + "\n")


def _neurons_text(found: NeuronSet) -> str:
    layers = found.counts()
    rows = [
        (language, f"{counts.sum():,}", _layers_text(counts.tolist()))
        for language, counts in zip(found.languages, layers, strict=True)
    ]
    return table(("language", "neurons", "most in layers"), rows)


def _layers_text(counts: list[int]) -> str:
    best = sorted((layer for layer, count in enumerate(counts) if count), key=lambda layer: -counts[layer])[:3]
    return ", ".join(f"{layer} ({counts[layer]:,})" for layer in best)


def _report_text(report: ModelReport) -> str:
    facts = [
        ("model", report.source),
        ("architecture", f"{report.architecture} ({report.model_type})"),
        ("supported", "yes" if report.supported else f"no: {report.reason}"),
        ("layers x neurons", f"{report.num_layers} x {report.intermediate_size:,}"),
        ("parameters", f"{report.num_parameters:,}, {report.num_ffn_parameters:,} of them in neurons"),
        ("number format", report.dtype),
        ("size", size_text(report.size_bytes)),
        ("begins text with BOS", {True: "yes", False: "no", None: "not looked"}[report.adds_bos]),
        *(
            ("device", f"{device.name}: {device.description}, {size_text(device.free_bytes)} free")
            for device in report.devices
        ),
        *_memory_facts("identification", report.identification),
        *_memory_facts("training", report.training),
    ]
    width = max(len(name) for name, _value in facts)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in facts)


def _memory_facts(name: str, estimate: MemoryEstimate | None) -> list[tuple[str, str]]:
    if estimate is None:
        return []
    parts = ", ".join(f"{part} {size_text(size)}" for part, size in estimate.parts.items())
    fits = "fits" if estimate.fits else "does not fit"
    return [(f"memory for {name}", f"about {size_text(estimate.total_bytes)} on {estimate.device}: {fits} ({parts})")]
