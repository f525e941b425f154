"""Nodes of a trie that the worker reads side by side have the log-probabilities of transformers."""

import numpy as np
import pytest

from eyechart.models.types import Request
from eyechart.models.vllm.trie_scoring import NODES
from tests.models.vllm.pairs import CHOICES, MANY, Pair

pytestmark = pytest.mark.deep


def test_scores_are_those_of_transformers(pair: Pair, questions: list[Request]) -> None:
    np.testing.assert_allclose(pair.vllm.score(questions, CHOICES), pair.scores, rtol=0, atol=1e-4)


def test_more_nodes_than_one_pass_reads_have_the_same_scores(pair: Pair, questions: list[Request]) -> None:
    assert len(pair.chat.build_trie(MANY).nodes) > NODES
    np.testing.assert_allclose(pair.vllm.score(questions[:2], MANY), pair.many, rtol=0, atol=1e-4)
