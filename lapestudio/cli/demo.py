"""temporary"""


def demo() -> None:
    """Temporary."""
