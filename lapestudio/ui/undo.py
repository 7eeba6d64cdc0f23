"""Changes to a project's languages that can be taken back: whatever was removed comes back as it was."""

from collections.abc import Callable

from PySide6.QtGui import QUndoCommand

Apply = Callable[[dict[str, object]], None]


class DocumentChange(QUndoCommand):
    """Some fields of the project's document, before and after.

    Args:
        text: what was done, for the menu.
        before: the fields as they were.
        after: the fields as they are to be.
        apply: writes fields into the document.
    """

    def __init__(self, text: str, before: dict[str, object], after: dict[str, object], apply: Apply) -> None:
        super().__init__(text)
        self._before = before
        self._after = after
        self._apply = apply

    def redo(self) -> None:
        """Make the change; also called when it is pushed."""
        self._apply(self._after)

    def undo(self) -> None:
        """Take the change back."""
        self._apply(self._before)
