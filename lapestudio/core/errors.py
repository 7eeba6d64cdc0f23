"""The error that a user reads: one sentence that says what went wrong, where, and what to do about it."""


class UserError(Exception):
    """A fault in the input or the surroundings, not in the program.

    Its text is shown to the user as it stands; a traceback is shown only when asked for.
    """
