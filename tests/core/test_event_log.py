import pytest

from lapestudio.core.event_log import EventTail, EventWriter, read_last_events
from lapestudio.core.events import MetricsEvent, NoticeEvent, event_to_line


@pytest.fixture
def file(tmp_path):
    return tmp_path / "events.jsonl"


def notices(*texts):
    return [NoticeEvent(time=1.0, text=text) for text in texts]


def write(file, events):
    with EventWriter(file) as writer:
        for event in events:
            writer.write(event)


def test_a_tail_returns_each_event_once_and_starts_before_the_file_does(file):
    tail = EventTail(file)
    assert tail.read_new() == []
    write(file, notices("a", "b"))
    assert tail.read_new() == notices("a", "b")
    write(file, notices("c"))
    assert tail.read_new() == notices("c")
    assert tail.read_new() == []


def test_an_event_can_be_read_before_the_writer_is_closed(file):
    with EventWriter(file) as writer:
        writer.write(notices("a")[0])
        assert EventTail(file).read_new() == notices("a")


def test_half_a_line_waits_for_its_rest(file):
    line = event_to_line(notices("ħċ")[0]).encode()
    # Cut inside a letter of two bytes.
    cut = line.index("ħ".encode()) + 1
    tail = EventTail(file)
    file.write_bytes(line[:cut])
    assert tail.read_new() == []
    file.write_bytes(line + b"\n")
    assert tail.read_new() == notices("ħċ")
    assert tail.num_damaged == 0


def test_a_line_that_a_kill_cut_off_costs_only_itself(file):
    write(file, notices("a"))
    with file.open("ab") as stream:
        stream.write(b'{"type":"noti')
    write(file, notices("b"))
    tail = EventTail(file)
    assert tail.read_new() == notices("a", "b")
    assert tail.num_damaged == 1
    assert read_last_events(file) == notices("a", "b")


def test_the_last_events_of_a_long_file_are_its_end(file):
    events = [MetricsEvent(time=1.0, step=step, tokens=step, values={"train_loss": 1.0}) for step in range(2000)]
    write(file, events)
    last = read_last_events(file)
    assert 10 < len(last) < 1000
    assert last == events[-len(last) :]


def test_no_file_has_no_last_events(file):
    assert read_last_events(file) == []
