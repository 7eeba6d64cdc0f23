import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from lapestudio.core.errors import UserError
from lapestudio.core.project import Project, ProjectDocument, ProjectLanguage


@pytest.fixture
def project(tmp_path):
    languages = (
        ProjectLanguage(code="mt", paths=(Path("corpus/mt"),), held_out=(Path("held out/mt.txt"),)),
        ProjectLanguage(code="en", paths=(Path("corpus/en"),)),
        ProjectLanguage(code="cy"),
    )
    return Project.create(tmp_path / "Malti 日本", ProjectDocument(name="Malti", languages=languages))


def test_a_project_is_saved_as_it_is_edited(project):
    project.update(target="mt", controls=("en",))
    again = Project.open(project.folder)
    assert again.document == project.document
    assert again.document.target == "mt"
    assert Project.open(project.file).document == project.document


def test_a_project_is_never_made_over_another(project):
    before = project.file.read_bytes()
    with pytest.raises(UserError, match="a project already"):
        Project.create(project.folder, ProjectDocument(name="other"))
    assert project.file.read_bytes() == before


def test_a_wrong_change_is_refused_and_changes_nothing(project):
    before = project.file.read_bytes()
    with pytest.raises(ValidationError):
        project.update(export_dtype="int3")
    with pytest.raises(ValidationError):
        project.update(traget="mt")
    assert project.file.read_bytes() == before


def test_a_moved_project_finds_its_files(project, tmp_path):
    (project.folder / "model").mkdir()
    project.update(model=str(project.relative(project.folder / "model")))
    project.folder.rename(tmp_path / "moved")
    moved = Project.open(tmp_path / "moved")
    assert moved.model_source == str(tmp_path / "moved" / "model")
    assert moved.corpus("mt").paths == (tmp_path / "moved" / "corpus" / "mt",)


def test_a_hub_id_stays_a_hub_id(project):
    project.update(model="org/name")
    assert project.model_source == "org/name"


def test_held_out_text_is_preferred_only_where_asked_and_there(project):
    assert project.corpus("mt", held_out=True).paths == (project.folder / "held out" / "mt.txt",)
    assert project.corpus("en", held_out=True).paths == (project.folder / "corpus" / "en",)
    assert project.corpus("cy") is None
    with pytest.raises(KeyError):
        project.corpus("xx")


def test_files_outside_keep_their_place(project, tmp_path):
    assert project.relative(tmp_path / "elsewhere.txt") == tmp_path / "elsewhere.txt"
    assert project.resolve(tmp_path / "elsewhere.txt") == tmp_path / "elsewhere.txt"


def test_no_project_and_damaged_ones_are_named(project, tmp_path):
    with pytest.raises(UserError, match="holds no project"):
        Project.open(tmp_path / "none")
    document = json.loads(project.file.read_text(encoding="utf-8"))
    for damage in ({"schema_version": 2}, {"trget": "mt"}):
        project.file.write_text(json.dumps(document | damage), encoding="utf-8")
        with pytest.raises(UserError, match=next(iter(damage))):
            Project.open(project.folder)
    project.file.write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match="damaged"):
        Project.open(project.folder)
