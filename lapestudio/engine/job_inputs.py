"""What a job is given besides text, read and checked: the model, the neurons, the rows of an earlier training.

In: names and paths of a spec. Out: values that the stages take; a fault is one sentence before any long work.
"""

from pathlib import Path
from typing import Literal

from lapestudio.core.errors import UserError
from lapestudio.core.model_report import ModelReport
from lapestudio.core.neuron_set import NeuronSet, load_neuron_set
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import TrainSpec
from lapestudio.engine.checkpoints import read_checkpoint
from lapestudio.engine.loading import inspect_model, model_fingerprint
from lapestudio.engine.split_ffn import ROWS_FILE
from lapestudio.engine.stages import JobContext
from lapestudio.engine.trained_rows import TrainedRows


def supported_model(source: str) -> ModelReport:
    """Return what is known of a model.

    Raises:
        UserError: it cannot be read or fetched, or its architecture is not supported.
    """
    report = inspect_model(source)
    if not report.supported:
        raise UserError(report.reason)
    if report.fingerprint:
        return report
    # A hub model's weights are not here before a job needs them.
    return report.model_copy(update={"fingerprint": model_fingerprint(source)})


def check_block_size(report: ModelReport, block_size: int) -> None:
    """Refuse blocks longer than the model reads at a time: it stops with an error there, or computes nonsense.

    Raises:
        UserError: names the longest block.
    """
    if 0 < report.max_positions < block_size:
        raise UserError(
            f"{model_name(report)} reads at most {report.max_positions} tokens at a time; choose a block size of "
            f"{report.max_positions} or less instead of {block_size}."
        )


def model_name(report: ModelReport) -> str:
    """Return a name for people: of a folder or file its last part, else the hub id."""
    return report.source if report.form == "hub" else Path(report.source).name


def neurons_to_train(spec: TrainSpec, report: ModelReport, job: JobContext) -> NeuronSet:
    """Return the neuron set of a training.

    Raises:
        UserError: it belongs to another model, or has no neurons for the language.
    """
    file = RunFolder(spec.neurons).neurons_file if spec.neurons.is_dir() else spec.neurons
    neurons = load_neuron_set(file)
    notices = neurons.check_model(
        report.num_layers, report.intermediate_size, report.fingerprint or None, insist=spec.insist
    )
    for notice in notices:
        job.warn(notice)
    if not any(len(layer) for layer in neurons.of(spec.language)):
        raise UserError(
            f"The neuron set {file} has no neurons for {spec.language}: select with a higher top rate or a lower "
            "activity quantile, or identify with more text of this language."
        )
    return neurons


def trained_rows(training: Path, checkpoint: Literal["best", "last"], report: ModelReport) -> TrainedRows:
    """Return the rows of a training's checkpoint.

    Raises:
        UserError: there are none, or they belong to another model.
    """
    found: list[TrainedRows] = []
    read_checkpoint(
        RunFolder(training).checkpoints_folder,
        checkpoint,
        load_weights=lambda folder: found.append(TrainedRows.load(folder / ROWS_FILE)),
    )
    rows = found[-1]
    if rows.model_fingerprint and rows.model_fingerprint != report.fingerprint:
        raise UserError(
            f"The rows in {training} were trained in {rows.model_name}, which is not {report.source} as it is now; "
            "use them with the model that they were trained in."
        )
    return rows


def training_spec(folder: Path) -> TrainSpec:
    """Return what a training was asked.

    Raises:
        UserError: no run folder, or of another kind of job.
    """
    spec = RunFolder(folder).read_spec()
    if not isinstance(spec, TrainSpec):
        raise UserError(f"{folder} is no training but a job of kind {spec.kind}.")
    return spec
