import pytest

from lapestudio.cli.summaries import summary_text
from lapestudio.cli.terminal import TerminalReport, duration_text, size_text, table
from lapestudio.core.events import MetricsEvent, NoticeEvent, ProgressEvent, StageEvent


@pytest.fixture
def shown(capsys):
    def show(*events):
        report = TerminalReport(is_live=False)
        for event in events:
            report.show(event)
        report.close()
        captured = capsys.readouterr()
        assert captured.out == ""
        return captured.err.splitlines()

    return show


def test_stages_notices_and_validations_are_lines(shown):
    values = {"train_loss": 3.0, "validation_loss": 2.5, "control_loss/en": float("nan"), "learning_rate": 0.1}
    assert shown(
        StageEvent(name="train", text="Training"),
        NoticeEvent(text="one file is passed over"),
        NoticeEvent(level="warning", text="memory is short"),
        MetricsEvent(step=50, tokens=100, values=values),
        MetricsEvent(step=51, tokens=102, values={"train_loss": 3.0}),
    ) == [
        "Training",
        "Note: one file is passed over",
        "Warning: memory is short",
        "  step 50: loss training 3.000, validation 2.500, en nan",
    ]


def test_progress_in_a_file_is_one_line_in_a_while(shown):
    events = [
        ProgressEvent(stage="count", done=done, total=2000, rate_per_s=400.0, remaining_s=65.0)
        for done in range(500, 600)
    ]
    assert shown(*events) == ["   25%  500 of 2,000 tokens  400 tokens/s  1:05 left"]


def test_progress_without_a_known_end_says_what_is_known(shown):
    assert shown(ProgressEvent(stage="tokens", done=1500, total=0)) == ["  1,500 tokens"]


def test_tables_are_aligned():
    assert table(("a", "bb"), [("long", "1"), ("x", "200")]).splitlines() == [
        "a      bb",
        "----  ---",
        "long    1",
        "x     200",
    ]


def test_sizes_and_durations_are_for_people():
    assert [size_text(size) for size in (999, 1500, 98_400_000)] == ["999 bytes", "1.5 kB", "98.4 MB"]
    assert [duration_text(seconds) for seconds in (5.4, 65, 3725)] == ["0:05", "1:05", "1:02:05"]


def test_a_loss_that_is_no_number_is_said_to_be_none():
    summary = {"loss_before": {"mt": 3.0, "en": 2.0}, "loss_after": {"mt": 2.5, "en": "NaN"}, "text": "Done."}
    lines = summary_text("train", summary).splitlines()
    assert lines[2].split() == ["mt", "Maltese", "3.0000", "2.5000", "-0.5000"]
    assert lines[3].endswith("not finite")
    assert lines[-1] == "Done."
