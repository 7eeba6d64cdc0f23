"""A model folder as a user has one, small enough for a test: three layers of random weights and a byte tokenizer."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

NUM_LAYERS = 3
INTERMEDIATE_SIZE = 48


def write_model_folder(folder: Path, *, seed: int = 0, intermediate_size: int = INTERMEDIATE_SIZE) -> Path:
    """Write a random Llama model and its tokenizer, which adds a begin-of-sequence token."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate(["<s>", "</s>", *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>").save_pretrained(folder)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=intermediate_size,
        num_hidden_layers=NUM_LAYERS,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=False,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


SENTENCES = {
    "mt": "il-kelb qabeż fuq ħajt għoli waqt ix-xita u żżejjed bl-imħabba ta' ċkejken",
    "cy": "mae'r ci yn neidio dros wal uchel yn y glaw gyda llawer o gariad bach",
    "ka": "ძაღლი გადახტა მაღალ კედელზე წვიმაში დიდი სიყვარულით პატარა სახლთან",
    "en": "the dog jumped over a high wall in the rain with much love for little",
}


def write_corpus(path: Path, language: str, *, num_sentences: int = 60, first: int = 0) -> Path:
    """Write sentences that all differ: words of the language in an order that the number of the sentence gives."""
    words = SENTENCES[language].split()
    lines = []
    for number in range(first, first + num_sentences):
        picks = [words[(number * 7 + position * (1 + number % 5)) % len(words)] for position in range(8)]
        lines.append(" ".join([*picks, str(number)]) + ".")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
