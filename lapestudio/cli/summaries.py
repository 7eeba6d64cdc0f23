"""The result of a job for people: the summary of its last event as text and tables.

In: kind of the job and the summary that its recipe made. Out: text for standard output.
"""

import math
from collections.abc import Mapping
from typing import Any

from lapestudio.cli.terminal import size_text, table
from lapestudio.core.errors import UserError
from lapestudio.core.languages import find_language


def summary_text(kind: str, summary: Mapping[str, Any]) -> str:
    """Return a summary as people read it."""
    tables = {
        "identify": neurons_table,
        "train": losses_table,
        "evaluate": perplexity_table,
        "export": files_table,
        "fetch": fetch_table,
    }
    return f"{tables[kind](summary)}\n\n{summary['text']}"


def neurons_table(summary: Mapping[str, Any]) -> str:
    """Return neurons and tokens by language."""
    tokens = summary["tokens"]
    rows = [
        (_language_text(language), f"{count:,}", f"{tokens[language]:,}")
        for language, count in summary["neurons"].items()
    ]
    return table(("language", "neurons", "tokens counted"), rows)


def losses_table(summary: Mapping[str, Any]) -> str:
    """Return the loss before and after by language, the trained one first."""
    before, after = summary["loss_before"], summary["loss_after"]
    rows = [(_language_text(language), *_change(before[language], after[language])) for language in before]
    return table(("language", "loss before", "after", "change"), rows)


def perplexity_table(summary: Mapping[str, Any]) -> str:
    """Return loss and perplexity by language."""
    rows = [
        (
            _language_text(language),
            f"{float(of['loss_nats']):.4f}",
            f"{float(of['perplexity']):,.2f}",
            f"{of['tokens']:,}",
        )
        for language, of in summary["languages"].items()
    ]
    return table(("language", "nats a token", "perplexity", "tokens"), rows)


def fetch_table(summary: Mapping[str, Any]) -> str:
    """Return what a fetch has written."""
    row = (summary["file"], f"{summary['records']:,}", f"{summary['characters']:,}")
    return table(("file", "texts", "characters"), [row])


def files_table(summary: Mapping[str, Any]) -> str:
    """Return what an export has written."""
    return table(("file", "size"), [(file["name"], size_text(file["num_bytes"])) for file in summary["files"]])


def _language_text(code: str) -> str:
    try:
        return f"{code} {find_language(code).name}"
    except UserError:
        # A job description may name a language as it likes.
        return code


def _change(before: object, after: object) -> tuple[str, str, str]:
    first, second = float(str(before)), float(str(after))
    difference = second - first
    return f"{first:.4f}", f"{second:.4f}", "not finite" if not math.isfinite(difference) else f"{difference:+.4f}"
