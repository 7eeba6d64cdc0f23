"""What the figures of a corpus mean, in plain words: tokens a word, script, repetitions, language."""

from typing import Literal

from PySide6.QtCore import QCoreApplication

from lapestudio.corpora.corpus_summary import CorpusSummary
from lapestudio.ui.text import language_name, number_text, percent_text

Level = Literal["good", "note", "warning"]
Verdict = tuple[Level, str]
_FEW_TOKENS_A_WORD = 1.8
_MANY_TOKENS_A_WORD = 3.0
_FEW_TOKENS_A_CHARACTER = 0.45
_MANY_TOKENS_A_CHARACTER = 0.9
_MANY_DUPLICATES = 0.2
_SMALL_SHARE = 0.02


def _tr(text: str) -> str:
    return QCoreApplication.translate("CorpusVerdicts", text)


def fertility(summary: CorpusSummary, num_tokens: int | None) -> Verdict | None:
    """Return what the model's tokenizer makes of the text; nothing where no tokens were counted."""
    if not num_tokens or not summary.num_words or not summary.num_characters:
        return None
    language = language_name(summary.language)
    if not summary.words_are_spaced:
        ratio = num_tokens / summary.num_characters
        few, many = _FEW_TOKENS_A_CHARACTER, _MANY_TOKENS_A_CHARACTER
        fact = _tr("This model's tokenizer makes {ratio} tokens of a character of {language}")
    else:
        ratio = num_tokens / summary.num_words
        few, many = _FEW_TOKENS_A_WORD, _MANY_TOKENS_A_WORD
        fact = _tr("This model's tokenizer cuts {language} into {ratio} tokens a word")
    fact = fact.format(ratio=number_text(ratio, 1), language=language)
    if ratio < few:
        return "good", _tr("{fact}: it knows the words well.").format(fact=fact)
    if ratio < many:
        return "note", _tr("{fact}: somewhat more than English; training is a little slower.").format(fact=fact)
    return "warning", _tr("{fact}: it knows few of the words; expect slower training.").format(fact=fact)


def language(summary: CorpusSummary) -> Verdict | None:
    """Return what language the text looks like."""
    verdict = summary.verdict
    if verdict is None:
        return None
    said = language_name(summary.language)
    if verdict.outcome == "agrees":
        return "good", _tr("It reads like {language}.").format(language=said)
    if verdict.outcome == "differs" and verdict.looks_like is not None:
        other = language_name(verdict.looks_like)
        text = _tr("It looks like {other}, not {language}: check the first segments at the side.")
        return "warning", text.format(other=other, language=said)
    if verdict.outcome == "close" and verdict.looks_like is not None:
        text = _tr("It reads like {language} or {other}; the language check cannot tell the two apart.")
        return "good", text.format(language=said, other=language_name(verdict.looks_like))
    if verdict.outcome == "unsure":
        return "note", _tr("The language check cannot tell what language this is; look at the first segments.")
    return "note", _tr("The language check does not know {language}; that is no fault.").format(language=said)


def repetitions(summary: CorpusSummary) -> Verdict | None:
    """Return how much of the text repeats itself."""
    removed = sum(step.num_removed for step in summary.cleaning if "duplicates" in step.setting)
    if not removed or not summary.num_read:
        return None
    share = removed / summary.num_read
    text = _tr("{share} of the segments are repetitions and are left out.").format(share=percent_text(share, 0))
    return ("warning" if share > _MANY_DUPLICATES else "note"), text


def scripts(summary: CorpusSummary) -> Verdict | None:
    """Return what scripts the text is written in."""
    shares = [(script, share) for script, share in summary.scripts.items() if share >= _SMALL_SHARE]
    if not shares:
        return None
    listed = ", ".join(f"{script} {percent_text(share, 0)}" for script, share in shares)
    return "note", _tr("Scripts: {listed}.").format(listed=listed)
