"""What is in the files of each language: read, and its tokens counted, by processes of their own.

In: the project's languages. Out: a `CorpusSummary` and a number of tokens each, as they become known.
"""

from functools import cache

from pydantic import JsonValue, TypeAdapter
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from lapestudio.core.project import Project
from lapestudio.core.specs import CorpusSource
from lapestudio.corpora.corpus_summary import CorpusSummary
from lapestudio.jobs.queries import News, run_query
from lapestudio.ui.query_thread import IsCancelled, LatestAnswer

_GATHER_MS = 300
PREVIEW_SEGMENTS = 50


@cache
def _summaries() -> TypeAdapter[CorpusSummary]:
    return TypeAdapter(CorpusSummary)


class CorpusSurvey(QObject):
    """Has the corpora of a project read.

    Args:
        project: whose languages.
        parent: the Qt parent.

    Signals:
        language_changed: code of the language of which more, or less, is known now.
        tokens_changed: the numbers of tokens have changed.
        progress_changed: code of the language of whose text more has been read.
    """

    language_changed = Signal(str)
    tokens_changed = Signal()
    progress_changed = Signal(str)
    _described = Signal(object)
    _counted = Signal(object)

    def __init__(self, project: Project, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._project = project
        self._model: str | None = None
        self.summaries: dict[str, CorpusSummary] = {}
        self.tokens: dict[str, int] = {}
        self.characters_read: dict[str, int] = {}
        """Of languages that are being read or counted."""
        self.token_fault = ""
        self._waiting: list[str] = []
        self._reading: dict[str, CorpusSource] = {}
        self._counting: dict[str, CorpusSource] = {}
        self._described.connect(self._on_described)
        self._counted.connect(self._on_counted)
        self._reader = LatestAnswer(self, interrupts=False)
        self._reader.failed.connect(self._on_description_failed)
        self._reader.busy_changed.connect(self._on_reader_busy_changed)
        self._counter = LatestAnswer(self)
        self._counter.answered.connect(self._on_count_finished)
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
        return code in self._reading or code in self._waiting

    def look_at_everything(self) -> None:
        """Read the files of all languages."""
        for language in self._project.document.languages:
            self._forget(language.code)
        self._read_next()

    def look_at(self, code: str) -> None:
        """Read the files of a language anew."""
        self._forget(code)
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

    def _forget(self, code: str) -> None:
        self.summaries.pop(code, None)
        self.tokens.pop(code, None)
        self.characters_read.pop(code, None)
        if self._corpus(code) is not None and code not in self._waiting:
            self._waiting.append(code)
        self.language_changed.emit(code)

    def _read_next(self) -> None:
        if self._reading or not self._waiting:
            return
        self._reading = {code: corpus for code in self._waiting if (corpus := self._corpus(code)) is not None}
        self._waiting = []
        arguments: dict[str, JsonValue] = {
            "corpora": [corpus.model_dump(mode="json") for corpus in self._reading.values()],
            "preview": PREVIEW_SEGMENTS,
            "cache": str(self._project.cache_folder),
        }

        def read(is_cancelled: IsCancelled) -> object:
            return run_query("describe", arguments, is_cancelled=is_cancelled, on_news=self._described.emit)

        if self._reading:
            self._reader.ask(read)

    def _corpus(self, code: str) -> CorpusSource | None:
        if code not in {language.code for language in self._project.document.languages}:
            return None
        return self._project.corpus(code)

    @Slot(object)
    def _on_described(self, news: News) -> None:
        code = str(news["name"])
        if "result" not in news:
            self._tell_progress(code, news)
            return
        asked = self._reading.pop(code, None)
        # Files may have been added or removed meanwhile; then the language waits again.
        if asked is not None and self._corpus(code) == asked:
            self.summaries[code] = _summaries().validate_python(news["result"], strict=False)
            self.characters_read.pop(code, None)
            self._gathering.start()
        self.language_changed.emit(code)

    def _tell_progress(self, code: str, news: News) -> None:
        self.characters_read[code] = int(str(news["done"]))
        self.progress_changed.emit(code)

    @Slot(str, str)
    def _on_description_failed(self, message: str, _details: str) -> None:
        for code in self._reading:
            self.summaries[code] = CorpusSummary(language=code, problems=[message])

    @Slot(bool)
    def _on_reader_busy_changed(self, is_busy: bool) -> None:
        if is_busy:
            return
        left, self._reading = self._reading, {}
        for code in left:
            self.language_changed.emit(code)
        self._read_next()

    @Slot()
    def _on_gathered(self) -> None:
        model = self._model
        missing = {code: corpus for code in self.summaries if (corpus := self._corpus(code)) is not None}
        missing = {code: corpus for code, corpus in missing.items() if code not in self.tokens}
        if model is None or not missing:
            return
        self._counting = missing
        arguments: dict[str, JsonValue] = {
            "model": model,
            "corpora": [corpus.model_dump(mode="json") for corpus in missing.values()],
            "fingerprints": {code: self.summaries[code].fingerprint for code in missing},
            "cache": str(self._project.cache_folder),
        }

        def tell(news: News) -> None:
            self._counted.emit((model, news))

        def count(is_cancelled: IsCancelled) -> object:
            return run_query("count_tokens", arguments, is_cancelled=is_cancelled, on_news=tell)

        self._counter.ask(count)

    @Slot(object)
    def _on_counted(self, answer: tuple[str, News]) -> None:
        model, news = answer
        code = str(news["name"])
        if model != self._model or self._corpus(code) != self._counting.get(code):
            return
        if "result" not in news:
            self._tell_progress(code, news)
            return
        self.tokens[code] = int(str(news["result"]))
        self.characters_read.pop(code, None)
        self.tokens_changed.emit()

    @Slot(object)
    def _on_count_finished(self, _answer: object) -> None:
        self.token_fault = ""

    @Slot(str, str)
    def _on_count_failed(self, message: str, _details: str) -> None:
        self.token_fault = message

    @Slot(bool)
    def _on_counter_busy_changed(self, is_busy: bool) -> None:
        if not is_busy:
            self.characters_read = {}
        self.tokens_changed.emit()
