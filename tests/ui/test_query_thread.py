"""Questions asked in a thread: their answers, their failures in words, and which of many is answered."""

import threading

import pytest

from lapestudio.core.errors import UserError
from lapestudio.jobs.queries import EngineError
from lapestudio.ui.query_thread import LatestAnswer
from tests.ui.conftest import WAIT_MS


@pytest.fixture
def make_asker(qapp):
    askers = []

    def make(*, interrupts=True):
        askers.append(LatestAnswer(interrupts=interrupts))
        return askers[-1]

    yield make
    for asker in askers:
        asker.shut_down()


def test_the_answer_comes_from_another_thread(qtbot, make_asker):
    asker = make_asker()
    with qtbot.waitSignal(asker.answered, timeout=WAIT_MS) as answer:
        asker.ask(lambda _is_cancelled: threading.get_ident())
    assert answer.args[0] != threading.get_ident()
    qtbot.waitUntil(lambda: not asker.is_busy)


@pytest.mark.parametrize(
    ("error", "message", "details"),
    [
        (UserError("No model there."), "No model there.", ""),
        (EngineError("The engine broke.", "its log"), "The engine broke.", "its log"),
        (ValueError("odd"), "Something went wrong inside the program (ValueError: odd).", "Traceback"),
    ],
)
def test_errors_are_told_in_words(qtbot, make_asker, error, message, details):
    asker = make_asker()

    def question(_is_cancelled):
        raise error

    with qtbot.waitSignal(asker.failed, timeout=WAIT_MS) as failure:
        asker.ask(question)
    assert failure.args[0] == message
    assert failure.args[1].startswith(details)


def test_of_many_questions_only_the_last_is_answered(qtbot, make_asker):
    asker, answers, asked = make_asker(), [], []
    gate = threading.Event()
    asker.answered.connect(answers.append)

    def question(number):
        def ask(_is_cancelled):
            asked.append(number)
            gate.wait(WAIT_MS / 1000)
            return number

        return ask

    for number in range(5):
        asker.ask(question(number))
    gate.set()
    qtbot.waitUntil(lambda: not asker.is_busy, timeout=WAIT_MS)
    assert asked == [0, 4]
    assert answers == [4]


def test_without_interruption_answers_on_the_way_are_told(qtbot, make_asker):
    asker, answers = make_asker(interrupts=False), []
    gate = threading.Event()
    asker.answered.connect(answers.append)
    asker.ask(lambda _is_cancelled: gate.wait(WAIT_MS / 1000) and 1)
    asker.ask(lambda _is_cancelled: 2)
    asker.ask(lambda _is_cancelled: 3)
    gate.set()
    qtbot.waitUntil(lambda: not asker.is_busy, timeout=WAIT_MS)
    assert answers == [1, 3]


def test_shutting_down_cancels_and_waits(qtbot, make_asker):
    asker, cancelled = make_asker(), []

    def question(is_cancelled):
        while not is_cancelled():
            pass
        cancelled.append(True)

    asker.answered.connect(lambda _answer: pytest.fail("nobody wants this answer"))
    asker.ask(question)
    asker.shut_down()
    assert cancelled == [True]
    asker.ask(question)
    qtbot.wait(20)
    assert cancelled == [True]
