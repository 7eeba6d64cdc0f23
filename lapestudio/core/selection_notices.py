"""What the user should know about a selection, in plain words.

In: the figures of a selection. Out: sentences, none where all is as expected. `lape` puts them into the `Selection`.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def language_name(index: int, languages: Sequence[str]) -> str:
    """Return the language's name, or its place, counted from one, where names are not known."""
    return languages[index] if languages else f"language number {index + 1}"


def on_scores(scores: npt.NDArray[np.float64], num_kept: int, num_wanted: int) -> list[str]:
    """Say how many neurons never fired, and whether fewer than `num_wanted` could be kept."""
    notices = []
    num_silent = int(np.count_nonzero(np.isinf(scores)))
    if num_silent:
        notices.append(f"{num_silent:,} of {scores.size:,} neurons never fired on any text; they are left out.")
    if num_wanted == 0:
        notices.append(f"The share to keep is less than one of the {scores.size:,} neurons: nothing is selected.")
    elif num_kept < num_wanted:
        notices.append(
            f"Only {num_kept:,} of the {num_wanted:,} wanted neurons are active enough for some language; lower the "
            "activity quantile to find more."
        )
    return notices


def on_bar(threshold: float, num_ties: int) -> list[str]:
    """Say that `num_ties` probabilities beyond those that the quantile leaves out equal the bar."""
    if num_ties == 0:
        return []
    what = "activation probability ties" if num_ties == 1 else "activation probabilities tie"
    return [
        f"{num_ties:,} {what} with the bar of {threshold:.6g}: what does not exceed the bar does not count as active; "
        "more text would bring it above or below."
    ]


def on_languages(members: npt.NDArray[np.bool_], languages: Sequence[str]) -> list[str]:
    """Name the languages without neurons."""
    without = [language_name(k, languages) for k in np.flatnonzero(~members.any(axis=0)).tolist()]
    if not without or not len(members):
        return []
    return [f"No neuron was selected for {', '.join(without)}; keep a larger share or lower the activity quantile."]
