"""What can be asked of the engine: one frozen model a job kind, saved as `spec.json` in the run folder.

Forms, command-line help and error texts are built from the fields' descriptions and ranges; a misspelt field is
refused, so that a typo cannot train for a night.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from lapestudio.core.errors import UserError
from lapestudio.core.settings import Settings
from lapestudio.core.text_settings import CleaningSettings, ReadingOptions

DtypeName = Literal["auto", "float32", "bfloat16", "float16"]
ExportDtypeName = Literal["keep", "float32", "bfloat16", "float16"]
MIN_LANGUAGES = 2
_MAX_NAMED_LANGUAGES = 3


class CorpusSource(Settings):
    """The text of one language."""

    language: str = Field(min_length=2)
    """BCP-47 tag of the language."""
    paths: tuple[Path, ...] = Field(min_length=1)
    """Files or folders."""
    reading: dict[str, ReadingOptions] = Field(default_factory=dict)
    """What was decided about single files, by their paths; FOLDER/*.eaf stands for all such files below a folder."""
    cleaning: CleaningSettings = CleaningSettings()
    """What is left out of the text."""
    held_out: tuple[Path, ...] = ()
    """Files or folders of text kept for testing; what occurs in them is left out, where cleaning says so."""


class SelectionSettings(Settings):
    """Which neurons count as specific to a language (LAPE, arXiv 2402.16438)."""

    top_rate: float = Field(default=0.05, gt=0, le=0.5)
    """Share of all neurons to keep, those with the lowest entropy (rho)."""
    activity_quantile: float = Field(default=0.95, gt=0, lt=1)
    """A neuron is active for a language when its activation probability lies above this quantile of all (tau)."""


class IdentifySettings(Settings):
    """How activations are counted."""

    block_size: int = Field(default=512, ge=8, le=8192)
    """Tokens that the model reads at a time."""
    batch_size: int | None = Field(default=None, ge=1, le=1024)
    """Blocks read together; empty: chosen for the device."""
    max_tokens: int | None = Field(default=None, ge=1)
    """At most so many tokens of each language; empty: all."""
    add_bos: bool = True
    """Begin each block with the begin-of-sequence token where the tokenizer adds one; off: as the public code."""
    dtype: DtypeName = "auto"
    """Number format of the computation."""
    device: str = "auto"
    """Where to compute: auto, cpu, cuda, cuda:1, mps."""


class TrainSettings(Settings):
    """How the selected neurons are trained."""

    learning_rate: float = Field(default=1e-3, gt=0, le=1)
    """How far each step moves the weights."""
    schedule: Literal["constant", "cosine"] = "cosine"
    """How the learning rate changes: constant, or falling to a tenth along a cosine."""
    warmup_share: float = Field(default=0.05, ge=0, le=0.5)
    """Share of the steps over which the learning rate rises from zero."""
    weight_decay: float = Field(default=0.01, ge=0, le=1)
    """Pull of the weights towards zero (AdamW)."""
    gradient_clip: float = Field(default=1.0, gt=0)
    """Longest gradient norm that is used as it is; longer ones are shortened."""
    block_size: int = Field(default=512, ge=8, le=8192)
    """Tokens in a training sequence."""
    batch_size: int = Field(default=2, ge=1, le=1024)
    """Sequences computed together."""
    accumulation: int = Field(default=1, ge=1, le=1024)
    """Batches added up before a step."""
    max_steps: int | None = Field(default=None, ge=1)
    """Stop after so many steps; empty: by tokens or epochs."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Stop after so many trained tokens; empty: by steps or epochs."""
    epochs: float = Field(default=1.0, gt=0, le=1000)
    """How often the text is read when neither steps nor tokens are given."""
    validate_every: int = Field(default=50, ge=1)
    """Steps between two validations."""
    validation_share: float = Field(default=0.05, gt=0, le=0.5)
    """Share of the text held out for validation when no validation files are given."""
    test_share: float = Field(default=0.0, ge=0, le=0.5)
    """Share of the text that training never sees, written beside the run for a last test; 0: none."""
    max_validation_tokens: int = Field(default=16_384, ge=64)
    """At most so many tokens of each language in a validation."""
    seed: int = Field(default=1, ge=0, le=2**31 - 1)
    """Starting point of everything random."""
    dtype: DtypeName = "auto"
    """Number format of the computation; trained weights are kept in float32."""
    device: str = "auto"
    """Where to compute: auto, cpu, cuda, cuda:1, mps."""

    @classmethod
    def published(cls) -> Self:
        """Return the recipe of the paper (arXiv 2510.13580): constant rate, no warm-up, batch 2 x 512."""
        return cls(
            learning_rate=1e-4,
            schedule="constant",
            warmup_share=0.0,
            weight_decay=0.01,
            gradient_clip=1.0,
            block_size=512,
            batch_size=2,
            epochs=1.0,
            validate_every=500,
        )


def _check_distinct(languages: Sequence[str]) -> None:
    repeated = sorted({language for language in languages if languages.count(language) > 1})
    if repeated:
        raise ValueError(f"the language {repeated[0]} is given twice; put all its files into one corpus")


class IdentifySpec(Settings):
    """Count activations on the text of several languages and select each language's neurons."""

    kind: Literal["identify"] = "identify"
    model: str = Field(min_length=1)
    """Folder, GGUF file or hub id."""
    corpora: tuple[CorpusSource, ...] = Field(min_length=MIN_LANGUAGES)
    """At least two languages: entropy compares them."""
    settings: IdentifySettings = IdentifySettings()
    selection: SelectionSettings = SelectionSettings()

    @model_validator(mode="after")
    def _languages_are_distinct(self) -> Self:
        _check_distinct([corpus.language for corpus in self.corpora])
        return self


class TrainSpec(Settings):
    """Train a language's neurons on text of that language."""

    kind: Literal["train"] = "train"
    model: str = Field(min_length=1)
    """Folder, GGUF file or hub id."""
    neurons: Path
    """Neuron set: a file, or the run folder of an identification."""
    language: str = Field(min_length=2)
    """The language to teach."""
    paths: tuple[Path, ...] = Field(min_length=1)
    """Training text."""
    validation_paths: tuple[Path, ...] = ()
    """Text to validate on; empty: a share of the training text is held out."""
    reading: dict[str, ReadingOptions] = Field(default_factory=dict)
    """What was decided about single files, by their paths; FOLDER/*.eaf stands for all such files below a folder."""
    cleaning: CleaningSettings = CleaningSettings()
    """What is left out of the text."""
    controls: tuple[CorpusSource, ...] = ()
    """Languages that must not get worse."""
    method: Literal["subnetwork"] = "subnetwork"
    """What is trained."""
    insist: bool = False
    """Use the neuron set although it was made with another model of the same size."""
    settings: TrainSettings = TrainSettings()

    @property
    def text(self) -> CorpusSource:
        """The training text."""
        return CorpusSource(language=self.language, paths=self.paths, reading=self.reading, cleaning=self.cleaning)

    @property
    def validation_text(self) -> CorpusSource | None:
        """The text to validate on, where files are given for it."""
        return self.text.model_copy(update={"paths": self.validation_paths}) if self.validation_paths else None

    @model_validator(mode="after")
    def _languages_are_distinct(self) -> Self:
        _check_distinct([self.language, *(control.language for control in self.controls)])
        return self


class EvaluateSpec(Settings):
    """Measure perplexity on text."""

    kind: Literal["evaluate"] = "evaluate"
    model: str = Field(min_length=1)
    """Folder, GGUF file or hub id."""
    trained: Path | None = None
    """Run folder of a training whose rows are put into the model; empty: the model as it is."""
    checkpoint: Literal["best", "last"] = "best"
    """Which of the training's checkpoints."""
    corpora: tuple[CorpusSource, ...] = Field(min_length=1)
    """Text by language."""
    block_size: int = Field(default=512, ge=8, le=8192)
    """Tokens that the model reads at a time."""
    batch_size: int = Field(default=4, ge=1, le=1024)
    """Blocks read together."""
    max_tokens: int | None = Field(default=None, ge=1)
    """At most so many tokens of each language; empty: all."""
    dtype: DtypeName = "auto"
    """Number format of the computation."""
    device: str = "auto"
    """Where to compute: auto, cpu, cuda, cuda:1, mps."""

    @model_validator(mode="after")
    def _languages_are_distinct(self) -> Self:
        _check_distinct([corpus.language for corpus in self.corpora])
        return self


class ExportSpec(Settings):
    """Write the adapted model."""

    kind: Literal["export"] = "export"
    trained: Path
    """Run folder of a training."""
    to: Literal["merged"] = "merged"
    """Form of the export."""
    out: Path
    """Folder to write; it must not exist or be empty."""
    checkpoint: Literal["best", "last"] = "best"
    """Which of the training's checkpoints."""
    dtype: ExportDtypeName = "keep"
    """Number format of the written weights; keep: as in the base model."""


class FetchSpec(Settings):
    """Fetch text of a data set from the Hugging Face hub."""

    kind: Literal["fetch"] = "fetch"
    dataset: str = Field(min_length=1)
    """Hub id, or a folder of the same form."""
    config: str | None = None
    """Configuration of the data set, often one a language; empty: its only one."""
    split: str = Field(default="train", min_length=1)
    """Which of its splits."""
    column: str = Field(default="text", min_length=1)
    """Column with the text; of a column of translations, the side in the language is taken."""
    language: str = Field(min_length=2)
    """BCP-47 tag of the language."""
    max_characters: int = Field(default=20_000_000, ge=1000)
    """Stop after so many characters."""
    revision: str | None = None
    """Branch, tag or commit; empty: the newest."""


JobSpec = Annotated[IdentifySpec | TrainSpec | EvaluateSpec | ExportSpec | FetchSpec, Field(discriminator="kind")]

_ADAPTER: TypeAdapter[JobSpec] = TypeAdapter(JobSpec)


def spec_from_json(text: str | bytes, *, origin: str) -> JobSpec:
    """Return the spec in `text`.

    Raises:
        UserError: not a spec; the message names `origin` and the first offending field.
    """
    try:
        return _ADAPTER.validate_json(text)
    except ValidationError as error:
        raise UserError(f"{origin} is not a valid job description: {first_problem(error)}") from error


def job_label(spec: JobSpec) -> str:
    """Return a short word for lists and folder names: the language, the number of languages, the written folder."""
    match spec:
        case TrainSpec() | FetchSpec():
            return spec.language
        case ExportSpec():
            return spec.out.name
        case IdentifySpec() | EvaluateSpec():
            languages = [corpus.language for corpus in spec.corpora]
            return "-".join(languages) if len(languages) <= _MAX_NAMED_LANGUAGES else f"{len(languages)}-languages"


def first_problem(error: ValidationError) -> str:
    """Return the first problem that pydantic found as `field: reason.`."""
    problem = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    reason = problem["msg"].removeprefix("Value error, ")
    return f"{place}: {reason}." if place else f"{reason}."
