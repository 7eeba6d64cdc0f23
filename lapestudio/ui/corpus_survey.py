"""What is in the files of each language: read in a thread, one language after the other; tokens counted by the engine.

In: the project's languages. Out: a `CorpusSummary` and a number of tokens each, as they become known.
"""

from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from lapestudio.core.project import Project
from lapestudio.corpora.describing import CorpusSummary, describe
from lapestudio.jobs.queries import count_tokens_by_language
from lapestudio.ui.query_thread import IsCancelled, LatestAnswer

_GATHER_MS = 300
PREVIEW_SEGMENTS = 50


class CorpusSurvey(QObject):
    """Reads the corpora of a project.

    Args:
        project: whose languages.
        parent: the Qt parent.

    Signals:
        language_changed: code of the language of which more, or less, is known now.
        tokens_changed: the numbers of tokens have changed.
    """

    language_changed = Signal(str)
    tokens_changed = Signal()

    def __init__(self, project: Project, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._project = project
        self._model: str | None = None
        self.summaries: dict[str, CorpusSummary] = {}
        self.tokens: dict[str, int] = {}
        self.token_fault = ""
        self._waiting: list[str] = []
        self._reading = ""
        self._reader = LatestAnswer(self, interrupts=False)
        self._reader.answered.connect(self._on_described)
        self._reader.failed.connect(self._on_description_failed)
        self._reader.busy_changed.connect(self._on_reader_busy_changed)
        self._counter = LatestAnswer(self)
        self._counter.answered.connect(self._on_counted)
        self._counter.failed.connect(self._on_count_failed)
        self._counter.busy_changed.connect(self._on_counter_busy_changed)
        # Files are dropped by the dozen: one question to the engine for all of them.
        self._gathering = QTimer(self)
        self._gathering.setSingleShot(True)
        self._gathering.setInterval(_GATHER_MS)
        self._gathering.timeout.connect(self._on_gathered)

    @property
    def is_counting(self) -> bool:
        """Whether tokens are being counted."""
        return self._counter.is_busy or self._gathering.isActive()

    def is_reading(self, code: str) -> bool:
        """Whether a language's files are being read, or will be."""
        return code == self._reading or code in self._waiting

    def look_at_everything(self) -> None:
        """Read the files of all languages."""
        for language in self._project.document.languages:
            self.look_at(language.code)

    def look_at(self, code: str) -> None:
        """Read the files of a language anew."""
        self.summaries.pop(code, None)
        self.tokens.pop(code, None)
        if self._project.corpus(code) is not None and code not in self._waiting:
            self._waiting.append(code)
        self.language_changed.emit(code)
        self._read_next()

    def set_model(self, source: str | None) -> None:
        """Count tokens with the tokenizer of another model, or not at all."""
        if source != self._model:
            self._model = source
            self.tokens = {}
            self._gathering.start()
            self.tokens_changed.emit()

    def shut_down(self) -> None:
        """Stop the threads."""
        self._gathering.stop()
        self._waiting = []
        self._reader.shut_down()
        self._counter.shut_down()

    def _read_next(self) -> None:
        if self._reading or not self._waiting:
            return
        code = self._waiting.pop(0)
        corpus = self._corpus_paths(code)
        if corpus is None:
            self._read_next()
            return
        self._reading = code

        def read(is_cancelled: IsCancelled) -> object:
            summary = describe(
                corpus, language=code, preview=PREVIEW_SEGMENTS, on_error="collect", is_cancelled=is_cancelled
            )
            return code, corpus, summary

        self._reader.ask(read)

    def _corpus_paths(self, code: str) -> tuple[Path, ...] | None:
        if code not in {language.code for language in self._project.document.languages}:
            return None
        corpus = self._project.corpus(code)
        return None if corpus is None else corpus.paths

    @Slot(object)
    def _on_described(self, answer: tuple[str, tuple[Path, ...], CorpusSummary]) -> None:
        code, paths, summary = answer
        # Files may have been added or removed meanwhile; then the language waits again.
        if self._corpus_paths(code) == paths:
            self.summaries[code] = summary
            self._gathering.start()

    @Slot(str, str)
    def _on_description_failed(self, message: str, _details: str) -> None:
        self.summaries[self._reading] = CorpusSummary(
            language=self._reading,
            num_files=0,
            num_documents=0,
            num_segments=0,
            num_characters=0,
            num_words=0,
            words_are_spaced=True,
            fingerprint="",
            preview=[],
            problems=[message],
        )

    @Slot(bool)
    def _on_reader_busy_changed(self, is_busy: bool) -> None:
        if is_busy:
            return
        code, self._reading = self._reading, ""
        self.language_changed.emit(code)
        self._read_next()

    @Slot()
    def _on_gathered(self) -> None:
        model = self._model
        missing = {code: paths for code in self.summaries if (paths := self._corpus_paths(code)) is not None}
        missing = {code: paths for code, paths in missing.items() if code not in self.tokens}
        if model is None or not missing:
            return

        def count(is_cancelled: IsCancelled) -> object:
            return model, missing, count_tokens_by_language(model, missing, is_cancelled=is_cancelled)

        self._counter.ask(count)

    @Slot(object)
    def _on_counted(self, answer: tuple[str, dict[str, tuple[Path, ...]], dict[str, int]]) -> None:
        model, paths, tokens = answer
        if model == self._model:
            self.token_fault = ""
            self.tokens |= {code: number for code, number in tokens.items() if self._corpus_paths(code) == paths[code]}

    @Slot(str, str)
    def _on_count_failed(self, message: str, _details: str) -> None:
        self.token_fault = message

    @Slot(bool)
    def _on_counter_busy_changed(self, _is_busy: bool) -> None:
        self.tokens_changed.emit()
