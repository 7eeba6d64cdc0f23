import json
from pathlib import Path

import pytest

from lapestudio.core.errors import UserError
from lapestudio.core.languages import find_language
from lapestudio.core.project import Project
from lapestudio.core.resources import example_folder
from lapestudio.jobs.example import write_example


def test_the_example_is_a_whole_project(tmp_path):
    project = write_example(tmp_path / "my Malti 日本")
    reopened = Project.open(project.folder)
    document = reopened.document
    assert document == project.document
    codes = [language.code for language in document.languages]
    assert len(codes) >= 12
    assert {document.target, *document.controls} <= set(codes)
    assert {"mt", "cy", "is", "ka", "ne", "sl", "et", "en", "it", "ar"} <= set(codes)
    for language in document.languages:
        find_language(language.code)
        for path in (*language.paths, *language.held_out):
            assert not path.is_absolute()
            assert reopened.resolve(path).stat().st_size > 0
    assert reopened.language(document.target).held_out
    assert Path(reopened.model_source).is_relative_to(reopened.folder)
    assert (Path(reopened.model_source) / "config.json").is_file()


def test_the_example_is_small():
    assert sum(path.stat().st_size for path in example_folder().rglob("*") if path.is_file()) <= 10 * 1024 * 1024


def test_the_users_files_are_never_overwritten(tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match="not empty"):
        write_example(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="file"):
        write_example(tmp_path / "file" / "project")


def test_all_text_of_the_example_belongs_to_a_language():
    description = json.loads((example_folder() / "example.json").read_text(encoding="utf-8"))
    texts = {path.relative_to(example_folder()).as_posix() for path in example_folder().glob("corpus/*.txt")}
    used = {f"corpus/{code}.txt" for code in description["languages"]} | set(description["held_out"].values())
    assert texts - used == {"corpus/README.txt"}
