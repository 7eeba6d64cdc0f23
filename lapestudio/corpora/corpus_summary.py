"""What is known of a corpus: the value that describing yields and that the window and the command line show."""

from dataclasses import dataclass, field

from lapestudio.corpora.cleaning import StepResult
from lapestudio.corpora.language_check import LanguageVerdict
from lapestudio.corpora.reader import FileNotes
from lapestudio.corpora.segment import Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusSummary:
    """What a corpus holds after cleaning.

    `problems` are whole sentences: faulty lines and files that were passed over.
    """

    language: str
    num_files: int = 0
    num_documents: int = 0
    num_segments: int = 0
    num_characters: int = 0
    num_words: int = 0
    """Runs between spaces that hold a letter or digit; says little where `words_are_spaced` is false."""
    words_are_spaced: bool = True
    """Whether the writing puts spaces between words; where not (Thai, Chinese ...), characters are what counts."""
    fingerprint: str = ""
    """64 hex digits of the text content, whatever the files' names and order."""
    preview: list[Segment] = field(default_factory=list)
    files: list[FileNotes] = field(default_factory=list)
    """The first of them, as many as the reading log keeps."""
    skipped: dict[str, int] = field(default_factory=dict)
    """What readers left out on purpose: reason -> number."""
    cleaning: list[StepResult] = field(default_factory=list)
    """What each cleaning step removed or changed, with examples."""
    scripts: dict[str, float] = field(default_factory=dict)
    """Share of the letters by script (ISO 15924) in a sample, the largest first."""
    verdict: LanguageVerdict | None = None
    """What language a sample looks like; nothing where there is no text."""
    problems: list[str] = field(default_factory=list)

    @property
    def num_read(self) -> int:
        """Segments before cleaning."""
        return self.num_segments + sum(step.num_removed for step in self.cleaning)
