"""Groups of documents: near copies together, others apart, whatever their number and order."""

import numpy as np
import pytest
from numpy.typing import NDArray

from lapestudio.corpora.document_groups import group_documents


def grouped(documents: list[list[int]]) -> list[int]:
    keys = np.array([key for document in documents for key in document], dtype=np.uint64)
    document_of = np.repeat(np.arange(len(documents)), [len(document) for document in documents])
    return group_documents(keys, document_of).tolist()


def distinct(count: int, seed: int) -> list[int]:
    numbers: NDArray[np.uint64] = np.random.default_rng(seed).integers(0, 2**63, count, dtype=np.uint64)
    return numbers.tolist()


def test_copies_in_any_order_of_sentences_are_one_group_and_others_are_none() -> None:
    first, second = distinct(50, 1), distinct(50, 2)
    assert grouped([first, second, first[::-1], [*second, *second]]) == [0, 1, 0, 1]


def test_short_documents_are_left_to_be_compared_as_they_are() -> None:
    assert grouped([[1], [1], [1, 2, 3], [1, 2, 3]]) == [0, 1, 2, 3]
    assert grouped([[1], distinct(9, 1), [2], distinct(9, 1)]) == [0, 1, 2, 1]


def test_a_chain_of_editions_is_one_group() -> None:
    sentences = distinct(2100, 3)
    chain = [sentences[start : start + 100] for start in range(0, 2000, 2)]
    groups = grouped(chain)
    # A link is missed once in a while, each time beginning another group.
    assert len(set(groups)) < 20
    assert groups == sorted(groups)


@pytest.mark.parametrize("num_common", [50, 80, 90, 96])
def test_pairs_come_together_as_often_as_theory_says(num_common: int) -> None:
    num_pairs = 400
    documents = []
    for pair in range(num_pairs):
        union = distinct(100, pair)
        num_own = (100 - num_common) // 2
        documents += [union[: num_common + num_own], union[:num_common] + union[num_common + num_own :]]
    groups = grouped(documents)
    found = sum(groups[place] == groups[place + 1] for place in range(0, 2 * num_pairs, 2)) / num_pairs
    similarity = num_common / 100
    expected = 1 - (1 - similarity**6) ** 6
    # Three standard deviations of so many tosses, and a little for the tails.
    assert abs(found - expected) < 3 * (expected * (1 - expected) / num_pairs) ** 0.5 + 0.01
