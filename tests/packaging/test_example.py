"""The built-in example: complete, small, parallel, and a model that has really learnt."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from lapestudio.core.languages import find_language

LANGUAGES = ("mt", "cy", "is", "ka", "ne", "sl", "et", "en", "it", "ar", "af", "lt", "sw", "tr")
TARGET = "mt"
MAX_BYTES = 10_000_000


@pytest.fixture(scope="module")
def example(repository: Path) -> Path:
    return repository / "resources" / "example"


def lines(example: Path, name: str) -> list[str]:
    return (example / "corpus" / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def test_it_is_small(example: Path) -> None:
    assert sum(path.stat().st_size for path in example.rglob("*") if path.is_file()) <= MAX_BYTES


def test_sentences_are_parallel_and_differ(example: Path) -> None:
    for language in LANGUAGES:
        own = lines(example, language)
        assert len(own) == (210 if language == TARGET else 40)
        assert len(set(own)) == len(own)
        assert all(line == line.strip() and line for line in own)
        assert find_language(language).name
    assert not set(lines(example, TARGET)) & set(lines(example, "mt-heldout"))
    assert len(lines(example, "mt-heldout")) >= 30


def test_description_names_what_is_there(example: Path) -> None:
    description = json.loads((example / "example.json").read_text(encoding="utf-8"))
    assert tuple(description["languages"]) == LANGUAGES
    assert description["target"] == TARGET
    assert set(description["controls"]) < set(LANGUAGES) - {TARGET}


@pytest.fixture(scope="module")
def tokenizer(example: Path):
    return AutoTokenizer.from_pretrained(example / "model")


@pytest.mark.parametrize("language", LANGUAGES)
def test_tokenizer_keeps_the_text(example: Path, tokenizer, language: str) -> None:
    text = "\n".join(lines(example, language))
    ids = tokenizer(text).input_ids
    assert ids[0] == tokenizer.bos_token_id
    assert tokenizer.decode(ids, skip_special_tokens=True) == text


def test_the_target_is_known_worse_than_most_languages(example: Path, tokenizer) -> None:
    """Measured on the sample corpus, which the model never saw, with transformers alone."""
    model = AutoModelForCausalLM.from_pretrained(example / "model", dtype=torch.float32)
    losses = {}
    for language in LANGUAGES:
        ids = torch.tensor(tokenizer("\n".join(lines(example, language)[:40])).input_ids)
        with torch.inference_mode():
            parts = [float(model(part[None], labels=part[None]).loss) for part in ids.split(128) if len(part) > 1]
        losses[language] = sum(parts) / len(parts)
    better_known = [language for language in LANGUAGES if losses[language] < losses[TARGET]]
    assert len(better_known) > len(LANGUAGES) / 2


def test_figures_show_real_language_neurons(example: Path) -> None:
    figures = json.loads((example / "figures.json").read_text(encoding="utf-8"))
    losses, entropies = figures["held_out_loss_nats"], figures["unigram_entropy_nats"]
    known = [language for language in LANGUAGES if language != TARGET]
    assert sum(losses[language] < 0.75 * entropies[language] for language in known) >= len(known) - 2
    table = figures["change_when_switched_off_nats"]
    hit = [language for language in LANGUAGES if table[language][language] == max(table[language].values())]
    assert sorted(hit) == sorted(figures["languages_hit_hardest_by_their_own_neurons"])
    assert len(hit) > len(LANGUAGES) / 2
