"""Work that would stall the window, done in a thread: questions to the engine, reading of corpora, selections.

In: a function. Out: its answer as a signal, or the error in words.
"""

import traceback
from collections.abc import Callable

from PySide6.QtCore import QObject, QThread, Signal, Slot

from lapestudio.core.errors import UserError
from lapestudio.jobs.queries import EngineError

IsCancelled = Callable[[], bool]
Question = Callable[[IsCancelled], object]


class QueryThread(QThread):
    """Calls one function.

    Signals:
        answered: what the function returned.
        failed: one sentence, and details for whoever wants them.
    """

    answered = Signal(object)
    failed = Signal(str, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.question: Question | None = None

    def run(self) -> None:
        """Call the function."""
        assert self.question is not None, "a thread without a question"
        try:
            answer = self.question(self.isInterruptionRequested)
        except UserError as error:
            self._fail(str(error), "")
        except EngineError as error:
            self._fail(str(error), error.details)
        except Exception as error:  # noqa: BLE001 - whatever it is, the user is told, with its traceback
            message = self.tr("Something went wrong inside the program ({error}).")
            self._fail(message.format(error=f"{type(error).__name__}: {error}"), traceback.format_exc())
        else:
            if not self.isInterruptionRequested():
                self.answered.emit(answer)

    def _fail(self, message: str, details: str) -> None:
        if not self.isInterruptionRequested():
            self.failed.emit(message, details)


class LatestAnswer(QObject):
    """Asks one question at a time; of those asked meanwhile, only the last is asked afterwards.

    Args:
        parent: the Qt parent.
        interrupts: a new question cancels the one that is being answered; else its answer is still told.

    Signals:
        answered: the answer.
        failed: one sentence, and details.
        busy_changed: whether a question is being answered.
    """

    answered = Signal(object)
    failed = Signal(str, str)
    busy_changed = Signal(bool)

    def __init__(self, parent: QObject | None = None, *, interrupts: bool = True) -> None:
        super().__init__(parent)
        self._interrupts = interrupts
        self._pending: Question | None = None
        # One thread is started again and again: nothing to delete while it may still be at its end.
        self._thread = QueryThread(self)
        self._thread.answered.connect(self._on_answered)
        self._thread.failed.connect(self._on_failed)
        self._thread.finished.connect(self._on_finished)
        self._is_busy = False
        self._is_shut = False

    @property
    def is_busy(self) -> bool:
        """Whether an answer is on its way."""
        return self._is_busy

    def ask(self, question: Question) -> None:
        """Ask, now or as soon as the current question is answered."""
        if self._is_shut:
            return
        self._pending = question
        if not self._is_busy:
            self._set_busy(is_busy=True)
            self._start()
        elif self._interrupts:
            self._thread.requestInterruption()

    def cancel(self) -> None:
        """Forget all questions."""
        self._pending = None
        self._thread.requestInterruption()

    def shut_down(self) -> None:
        """Interrupt and wait; nothing can be asked any more."""
        self._is_shut = True
        self.cancel()
        self._thread.wait()

    def _start(self) -> None:
        self._thread.question, self._pending = self._pending, None
        self._thread.start()

    def _set_busy(self, *, is_busy: bool) -> None:
        self._is_busy = is_busy
        self.busy_changed.emit(is_busy)

    @Slot(object)
    def _on_answered(self, answer: object) -> None:
        if not (self._is_shut or (self._pending is not None and self._interrupts)):
            self.answered.emit(answer)

    @Slot(str, str)
    def _on_failed(self, message: str, details: str) -> None:
        if not (self._is_shut or (self._pending is not None and self._interrupts)):
            self.failed.emit(message, details)

    @Slot()
    def _on_finished(self) -> None:
        if self._pending is not None and not self._is_shut:
            self._start()
        else:
            self._set_busy(is_busy=False)
