"""The card of an exported model: its facts, and names that would break its metadata."""

import json
from typing import Any

import yaml

from lapestudio.engine.model_card import model_card

FACTS: dict[str, Any] = {
    "base": "SmolLM2-135M",
    "language": "mt",
    "num_trained": 1_234_567,
    "num_neurons": 890,
    "num_tokens": 65_432,
    "num_steps": 321,
    "text_files": ["gazzetta.txt", "ktieb.jsonl"],
    "loss_before": {"mt": 4.0, "en": 2.5},
    "loss_after": {"mt": 3.25, "en": 2.51},
}


def metadata_of(card: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(card.split("---\n")[1])
    return found


def test_the_card_says_what_was_done() -> None:
    card = model_card(**FACTS)
    for fact in ("SmolLM2-135M", "Maltese (`mt`)", "1,234,567", "890 neurons", "65,432 tokens", "321 steps"):
        assert fact in card
    assert "gazzetta.txt, ktieb.jsonl" in card
    assert "| Maltese | 4.0000 | 3.2500 | -0.7500 |" in card
    assert "| English | 2.5000 | 2.5100 | +0.0100 |" in card
    assert "licence of the base model holds" in card
    assert metadata_of(card)["language"] == "mt"
    assert metadata_of(card)["base_model"] == "SmolLM2-135M"


def test_names_cannot_break_the_metadata() -> None:
    base = 'my "best": model\n---\nlicense: {mit} #1 ქართული'
    assert metadata_of(model_card(**{**FACTS, "base": base}))["base_model"] == json.loads(json.dumps(base))


def test_without_measured_losses_there_is_no_table() -> None:
    card = model_card(**{**FACTS, "loss_after": {}})
    assert "Loss on held-out text" not in card
    assert "## Licence" in card
