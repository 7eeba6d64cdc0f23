"""The built-in example: complete, small, parallel, and a model that has really learnt."""

import json
from pathlib import Path

import numpy as np
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


def own_entropy(ids: torch.Tensor) -> float:
    """Nats a token of a text's own frequencies, by numpy alone."""
    counts = np.unique(ids.numpy(), return_counts=True)[1]
    return float(np.log(len(ids)) - (counts * np.log(counts)).sum() / len(ids))


def test_figures_are_those_of_the_model_that_is_there(example: Path, tokenizer) -> None:
    """Measured anew on the sample corpus, which the model never saw, with transformers alone.

    These everyday sentences are unlike what the model learnt from: most losses are above the sentences' own entropy,
    so nothing is claimed here but that the figures are true and that the target is known worse than most languages.
    """
    model = AutoModelForCausalLM.from_pretrained(example / "model", dtype=torch.float32)
    figures = json.loads((example / "figures.json").read_text(encoding="utf-8"))
    losses = {}
    for language in LANGUAGES:
        ids = torch.tensor(tokenizer("\n".join(lines(example, language)), add_special_tokens=False).input_ids)
        nats = 0.0
        with torch.inference_mode():
            for part in ids.split(127):
                window = torch.cat([torch.tensor([tokenizer.bos_token_id]), part])[None]
                logits = model(window).logits[0, :-1]
                nats += float(torch.nn.functional.cross_entropy(logits, part, reduction="sum"))
        losses[language] = nats / len(ids)
        assert losses[language] == pytest.approx(figures["sample_corpus_loss_nats"][language], abs=0.005)
        entropy = figures["sample_corpus_unigram_entropy_nats"][language]
        assert own_entropy(ids) == pytest.approx(entropy, abs=0.001)
    better_known = [language for language in LANGUAGES if losses[language] < losses[TARGET]]
    assert len(better_known) > len(LANGUAGES) / 2


def test_figures_show_real_language_neurons(example: Path) -> None:
    figures = json.loads((example / "figures.json").read_text(encoding="utf-8"))
    losses, entropies = figures["held_out_loss_nats"], figures["unigram_entropy_nats"]
    well_known = [language for language in LANGUAGES if losses[language] < 0.75 * entropies[language]]
    assert set(LANGUAGES) - set(well_known) == {"mt", "is", "af", "sw"}
    table = figures["change_when_switched_off_nats"]
    hit = [language for language in LANGUAGES if table[language][language] == max(table[language].values())]
    assert sorted(hit) == sorted(figures["languages_hit_hardest_by_their_own_neurons"])
    assert len(hit) > len(LANGUAGES) / 2
