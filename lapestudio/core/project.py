"""A project on disk: model, languages with their files, settings and the runs; saved as it is edited."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationError

from lapestudio.core.atomic import write_text_atomically
from lapestudio.core.errors import UserError
from lapestudio.core.settings import Settings
from lapestudio.core.specs import (
    CorpusSource,
    ExportDtypeName,
    IdentifySettings,
    SelectionSettings,
    TrainSettings,
    first_problem,
)
from lapestudio.core.text_settings import CleaningSettings, ReadingOptions

PROJECT_FILE_NAME = "project.json"


class ProjectLanguage(Settings):
    """A language of the project and its files."""

    code: str = Field(min_length=2)
    """BCP-47 tag."""
    paths: tuple[Path, ...] = ()
    """Files and folders of text; relative ones start at the project folder."""
    held_out: tuple[Path, ...] = ()
    """Text kept for validation and evaluation, never trained on."""
    reading: dict[str, ReadingOptions] = Field(default_factory=dict)
    """What was decided about single files, by their paths, relative ones as in `paths`."""
    cleaning: CleaningSettings = CleaningSettings()
    """What is left out of the text."""


class ProjectDocument(Settings):
    """What `project.json` holds."""

    schema_version: Literal[1] = 1
    name: str
    model: str | None = None
    """Folder, GGUF file or hub id; a relative folder starts at the project folder."""
    languages: tuple[ProjectLanguage, ...] = ()
    target: str | None = None
    """The language to teach."""
    controls: tuple[str, ...] = ()
    """Languages whose loss is watched while training."""
    identify: IdentifySettings = IdentifySettings()
    selection: SelectionSettings = SelectionSettings()
    train: TrainSettings = TrainSettings()
    identify_run: str | None = None
    """Name of the run folder whose counts are shown."""
    train_run: str | None = None
    """Name of the run folder whose curves are shown."""
    neurons: Path | None = None
    """Saved neuron set to train with; empty: the selection of the identification."""
    export_dtype: ExportDtypeName = "keep"
    fetches: tuple[str, ...] = ()
    """Names of the run folders whose text is to be added to its language as soon as it is there."""

    def with_changes(self, **changes: object) -> Self:
        """Return a validated copy with `changes`."""
        return self.model_validate({**dict(self), **changes})


class Project:
    """A project folder; `document` is replaced through `update`, which saves at once.

    Args:
        folder: the project folder.
        document: its content.
    """

    def __init__(self, folder: Path, document: ProjectDocument) -> None:
        self.folder = Path(folder).absolute()
        self.document = document

    @classmethod
    def create(cls, folder: Path, document: ProjectDocument) -> "Project":
        """Make a project folder.

        Raises:
            UserError: there is a project already, or the folder cannot be written.
        """
        project = cls(folder, document)
        if project.file.exists():
            raise UserError(f"{project.folder} holds a project already; open it, or choose another folder.")
        try:
            project.runs_folder.mkdir(parents=True, exist_ok=True)
            project.save()
        except OSError as error:
            raise UserError(f"The project cannot be written to {project.folder}: {error.strerror}.") from error
        return project

    @classmethod
    def open(cls, folder: Path) -> "Project":
        """Open an existing project.

        Raises:
            UserError: no project there, a damaged one, or one of a newer version of LAPE Studio.
        """
        folder = Path(folder)
        if folder.name == PROJECT_FILE_NAME:
            folder = folder.parent
        file = folder / PROJECT_FILE_NAME
        try:
            document = ProjectDocument.model_validate_json(file.read_bytes())
        except (FileNotFoundError, NotADirectoryError) as error:
            raise UserError(f"{folder} holds no project: there is no {PROJECT_FILE_NAME}.") from error
        except OSError as error:
            raise UserError(f"{file} cannot be read: {error.strerror}.") from error
        except ValidationError as error:
            raise UserError(f"{file} is damaged or was made by another version: {first_problem(error)}") from error
        return cls(folder, document)

    @property
    def file(self) -> Path:
        """The project's document."""
        return self.folder / PROJECT_FILE_NAME

    @property
    def runs_folder(self) -> Path:
        """Where the project's runs lie."""
        return self.folder / "runs"

    @property
    def neurons_folder(self) -> Path:
        """Where the neuron sets lie that were trained with, one file a selection."""
        return self.folder / "neurons"

    @property
    def cache_folder(self) -> Path:
        """What was found out about text and may be lost."""
        return self.folder / "cache"

    @property
    def model_report_file(self) -> Path:
        """What is known of the model, kept so that a reopened project shows it at once."""
        return self.folder / "model-report.json"

    def update(self, **changes: object) -> None:
        """Change fields of the document and save it."""
        document = self.document.with_changes(**changes)
        if document != self.document:
            self.document = document
            self.save()

    def save(self) -> None:
        """Write the document."""
        write_text_atomically(self.file, self.document.model_dump_json(indent=2) + "\n")

    def resolve(self, path: Path) -> Path:
        """Return a path of the document as an absolute one."""
        return path if path.is_absolute() else self.folder / path

    def relative(self, path: Path) -> Path:
        """Return `path` as the document keeps it: relative inside the project folder, so that a moved project works."""
        path = Path(path).absolute()
        return path.relative_to(self.folder) if path.is_relative_to(self.folder) else path

    @property
    def model_source(self) -> str | None:
        """The model as the engine takes it."""
        model = self.document.model
        if model is not None and (self.folder / model).exists():
            return str(self.folder / model)
        return model

    def language(self, code: str) -> ProjectLanguage:
        """Return the project's language with `code`.

        Raises:
            KeyError: the project has no such language.
        """
        for language in self.document.languages:
            if language.code == code:
                return language
        raise KeyError(code)

    def corpus(self, code: str, *, held_out: bool = False) -> CorpusSource | None:
        """Return the files of a language as a job takes them, or nothing where there are none.

        Args:
            code: language of the project.
            held_out: prefer the text that is kept for evaluation, where the language has some.
        """
        language = self.language(code)
        paths = language.held_out if held_out and language.held_out else language.paths
        if not paths:
            return None
        return CorpusSource(
            language=code,
            paths=tuple(self.resolve(path) for path in paths),
            reading={str(self.resolve(Path(path))): options for path, options in language.reading.items()},
            cleaning=language.cleaning,
            held_out=() if held_out else tuple(self.resolve(path) for path in language.held_out),
        )
