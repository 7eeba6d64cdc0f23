"""The README of an exported model: what it is made of, what it gained and lost, how to load it.

In: facts. Out: Markdown with the metadata block that model hubs read.
"""

import json
from collections.abc import Mapping

from lapestudio import __version__
from lapestudio.core.languages import find_language

_TEMPLATE = """---
{metadata}
---

# {base} adapted to {language}

This is {base} in which only the feed-forward neurons that are specific to {language} were trained, found with LAPE
(Language Activation Probability Entropy). Every other weight is as in the base model. It loads like the base model:

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("PATH")
model = AutoModelForCausalLM.from_pretrained("PATH")
inputs = tokenizer("...", return_tensors="pt")
print(tokenizer.decode(model.generate(**inputs, max_new_tokens=40)[0]))
```

## How it was made

- Base model: {base}
- Language: {language} (`{code}`)
- Trained weights: {num_trained:,} in {num_neurons:,} neurons
- Training: {num_tokens:,} tokens in {num_steps:,} steps
- Training text: {text}
- Program: LAPE Studio {version}

{losses}## Licence

The licence of the base model holds for this model too; see its licence files.
"""


_LOSSES = """## Loss on held-out text, nats a token

| language | base | adapted | change |
|---|---|---|---|
{rows}

"""


def model_card(
    *,
    base: str,
    language: str,
    num_trained: int,
    num_neurons: int,
    num_tokens: int,
    num_steps: int,
    text_files: list[str],
    loss_before: Mapping[str, float],
    loss_after: Mapping[str, float],
) -> str:
    """Return the card.

    Args:
        base: name of the base model.
        language: tag of the taught language.
        num_trained: trained weights.
        num_neurons: trained neurons.
        num_tokens: tokens trained on.
        num_steps: optimiser steps of the written checkpoint.
        text_files: names of the training files.
        loss_before: by language, nats a token, of the base model.
        loss_after: by language, nats a token, of the written checkpoint; where it was not measured at its step it is
            empty, and the card has no table of losses.
    """
    found = find_language(language)
    metadata = {"language": found.code, "base_model": base, "library_name": "transformers", "tags": ["lape-studio"]}
    rows = [
        f"| {find_language(code).name} | {before:.4f} | {loss_after[code]:.4f} | {loss_after[code] - before:+.4f} |"
        for code, before in loss_before.items()
        if code in loss_after
    ]
    return _TEMPLATE.format(
        # JSON is YAML, and quotes whatever a name may contain.
        metadata="\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in metadata.items()),
        base=base,
        language=found.name,
        code=found.code,
        num_trained=num_trained,
        num_neurons=num_neurons,
        num_tokens=num_tokens,
        num_steps=num_steps,
        text=", ".join(text_files),
        version=__version__,
        losses=_LOSSES.format(rows="\n".join(rows)) if rows else "",
    )
