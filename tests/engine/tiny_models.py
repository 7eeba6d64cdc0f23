"""Tiny random models of every supported family: three layers, 48 neurons each, made in milliseconds."""

from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

NUM_LAYERS = 3
HIDDEN_SIZE = 32
INTERMEDIATE_SIZE = 48
VOCAB_SIZE = 101

_HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2}
_COMMON = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": HIDDEN_SIZE,
    "num_hidden_layers": NUM_LAYERS,
    "intermediate_size": INTERMEDIATE_SIZE,
    "max_position_embeddings": 128,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
_GEMMA = {"head_dim": 8, "sliding_window": 16, "query_pre_attn_scalar": 8}

FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {**_COMMON, **_HEADS},
    "mistral": {**_COMMON, **_HEADS, "sliding_window": 16},
    "qwen2": {**_COMMON, **_HEADS},
    "qwen3": {**_COMMON, **_HEADS, "head_dim": 8},
    "gemma2": {**_COMMON, **_HEADS, **_GEMMA, "final_logit_softcapping": 5.0, "attn_logit_softcapping": 5.0},
    "gemma3_text": {**_COMMON, **_HEADS, **_GEMMA, "hidden_activation": "gelu_pytorch_tanh"},
    "cohere": {**_COMMON, **_HEADS, "logit_scale": 0.25},
    "cohere2": {**_COMMON, **_HEADS, "logit_scale": 0.25, "sliding_window": 16},
    "olmo2": {**_COMMON, **_HEADS},
    "phi3": {**_COMMON, **_HEADS},
    "gpt2": {
        "vocab_size": VOCAB_SIZE,
        "n_embd": HIDDEN_SIZE,
        "n_layer": NUM_LAYERS,
        "n_head": 4,
        "n_inner": INTERMEDIATE_SIZE,
        "n_positions": 128,
        "bos_token_id": 1,
        "eos_token_id": 2,
    },
    "opt": {
        "vocab_size": VOCAB_SIZE,
        "hidden_size": HIDDEN_SIZE,
        "word_embed_proj_dim": HIDDEN_SIZE,
        "num_hidden_layers": NUM_LAYERS,
        "num_attention_heads": 4,
        "ffn_dim": INTERMEDIATE_SIZE,
        "max_position_embeddings": 128,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    },
    "bloom": {
        "vocab_size": VOCAB_SIZE,
        "hidden_size": HIDDEN_SIZE,
        "n_layer": NUM_LAYERS,
        "n_head": 4,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    },
    "gpt_neox": {**_COMMON, "num_attention_heads": 4},
    "phi": {**_COMMON, "num_attention_heads": 4, "hidden_act": "gelu_new"},
}


def tiny_config(family: str, **changes: Any) -> Any:
    """Return the config of a tiny model."""
    return AutoConfig.for_model(family, **{**FAMILIES[family], **changes})


def tiny_model(family: str, dtype: torch.dtype = torch.float32, seed: int = 0, **changes: Any) -> PreTrainedModel:
    """Return a tiny random model in eval mode; all weights, norms and biases included, are random.

    Fresh models have zero biases and unit norms, over which many a mistake would pass.
    """
    model = AutoModelForCausalLM.from_config(tiny_config(family, **changes), dtype=torch.float32)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            scale = 0.1 if parameter.ndim == 1 else 1 / parameter.shape[-1] ** 0.5
            centre = parameter if parameter.ndim == 1 and "bias" not in name else 0.0
            parameter.copy_(centre + scale * noise)
    return model.to(dtype).eval()
