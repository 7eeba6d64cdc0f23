from pathlib import Path

import pytest
from pydantic import ValidationError

from lapestudio.core.errors import UserError
from lapestudio.core.specs import (
    CorpusSource,
    EvaluateSpec,
    ExportSpec,
    IdentifySettings,
    IdentifySpec,
    SelectionSettings,
    TrainSettings,
    TrainSpec,
    first_problem,
    job_label,
    spec_from_json,
)


def corpora(*languages):
    return tuple(CorpusSource(language=language, paths=(Path(f"{language}.txt"),)) for language in languages)


EVERY_KIND = [
    IdentifySpec(model="m", corpora=corpora("mt", "cy")),
    TrainSpec(model="m", neurons=Path("n"), language="mt", paths=(Path("a b.txt"),), controls=corpora("en")),
    EvaluateSpec(model="m", corpora=corpora("mt")),
    ExportSpec(trained=Path("t"), out=Path("日本")),
]


@pytest.mark.parametrize("spec", EVERY_KIND, ids=lambda spec: spec.kind)
def test_a_spec_survives_its_json(spec):
    assert spec_from_json(spec.model_dump_json(), origin="spec.json") == spec


def test_a_misspelt_setting_is_refused_by_name():
    text = EVERY_KIND[0].model_dump_json().replace("block_size", "blok_size")
    with pytest.raises(UserError, match=r"my spec.*blok_size"):
        spec_from_json(text, origin="my spec")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"kind": "party"}', b"\xff\xfe"])
def test_anything_else_is_no_spec(text):
    with pytest.raises(UserError, match=r"spec\.json is not a valid job description"):
        spec_from_json(text, origin="spec.json")


def test_identification_needs_two_different_languages():
    with pytest.raises(ValidationError) as caught:
        IdentifySpec(model="m", corpora=corpora("mt"))
    assert "corpora" in first_problem(caught.value)
    with pytest.raises(ValidationError) as caught:
        IdentifySpec(model="m", corpora=corpora("mt", "cy", "mt"))
    assert "mt is given twice" in first_problem(caught.value)


@pytest.mark.parametrize(
    ("settings", "field", "value"),
    [
        (SelectionSettings, "top_rate", 0.0),
        (SelectionSettings, "activity_quantile", 1.0),
        (IdentifySettings, "block_size", 0),
        (TrainSettings, "learning_rate", 0.0),
        (TrainSettings, "learning_rate", float("nan")),
        (TrainSettings, "epochs", 0.0),
        (TrainSettings, "seed", -1),
    ],
)
def test_values_out_of_range_are_refused(settings, field, value):
    with pytest.raises(ValidationError) as caught:
        settings(**{field: value})
    assert first_problem(caught.value).startswith(field)


def test_the_published_recipe_is_the_one_of_the_paper():
    recipe = TrainSettings.published()
    assert (recipe.learning_rate, recipe.schedule, recipe.warmup_share) == (1e-4, "constant", 0.0)
    assert (recipe.batch_size, recipe.block_size, recipe.weight_decay, recipe.gradient_clip) == (2, 512, 0.01, 1.0)


EXPLAINED = [SelectionSettings, IdentifySettings, TrainSettings, TrainSpec, EvaluateSpec, ExportSpec]


@pytest.mark.parametrize("settings", EXPLAINED)
def test_every_setting_explains_itself(settings):
    silent = [name for name, field in settings.model_fields.items() if name != "settings" and not field.description]
    assert [name for name in silent if name != "kind"] == []


def test_labels_are_short():
    assert [job_label(spec) for spec in EVERY_KIND] == ["mt-cy", "mt", "mt", "日本"]
    many = IdentifySpec(model="m", corpora=corpora("mt", "cy", "is", "ka"))
    assert job_label(many) == "4-languages"
