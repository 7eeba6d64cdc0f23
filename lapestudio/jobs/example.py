"""The built-in example as a project of its own, which the user may change and delete.

In: the example's files that come with the program. Out: a project folder with model, texts and settings.
"""

import shutil
from pathlib import Path

from pydantic import Field

from lapestudio.core.errors import UserError
from lapestudio.core.project import Project, ProjectDocument, ProjectLanguage
from lapestudio.core.resources import example_folder
from lapestudio.core.settings import Settings
from lapestudio.core.specs import IdentifySettings, SelectionSettings, TrainSettings

_MODEL = "model"


class ExampleDescription(Settings):
    """What `example.json` says."""

    name: str = "Example"
    target: str
    """The language to teach."""
    controls: tuple[str, ...]
    """Languages that must not get worse."""
    languages: tuple[str, ...] = Field(min_length=2)
    """All languages; the text of each is CODE.txt in the corpus folder."""
    corpus: str
    """Folder of the texts."""
    held_out: dict[str, str] = Field(default_factory=dict)
    """Text kept for validation, by language."""
    identify: IdentifySettings = IdentifySettings()
    selection: SelectionSettings = SelectionSettings()
    train: TrainSettings = TrainSettings()


def write_example(folder: Path) -> Project:
    """Write the example project.

    Raises:
        UserError: the folder is not empty, or cannot be written.
    """
    folder = Path(folder).absolute()
    source = example_folder()
    example = ExampleDescription.model_validate_json((source / "example.json").read_bytes())
    for part in (_MODEL, example.corpus):
        if not (source / part).is_dir():
            raise UserError(f"LAPE Studio is not installed completely: there is no {source / part}.")
    try:
        if folder.exists() and any(folder.iterdir()):
            raise UserError(f"{folder} exists already and is not empty; choose another folder for the example.")
        for part in (_MODEL, example.corpus):
            # Content alone is copied: an installed program's files may be read-only.
            shutil.copytree(source / part, folder / part, copy_function=shutil.copyfile)
    except OSError as error:
        raise UserError(f"The example cannot be written to {folder}: {error.strerror or error}.") from error
    # The document comes last: a folder that was left half-written is no project.
    return Project.create(folder, _document(example))


def _document(example: ExampleDescription) -> ProjectDocument:
    languages = tuple(
        ProjectLanguage(
            code=code,
            paths=(Path(example.corpus) / f"{code}.txt",),
            held_out=(Path(example.held_out[code]),) if code in example.held_out else (),
        )
        for code in example.languages
    )
    return ProjectDocument(
        name=example.name,
        model=_MODEL,
        languages=languages,
        target=example.target,
        controls=example.controls,
        identify=example.identify,
        selection=example.selection,
        train=example.train,
    )
