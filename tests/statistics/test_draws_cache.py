"""Cached results of resampling: equal to those without a cache, and under another key whenever an input differs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.realbirdid.statistics.abstention_tradeoff import harmonic_mean_bootstrap, ua_a
from eyechart.statistics import draws_cache
from eyechart.statistics.draws_cache import _hash_call, cached_array, use_results
from eyechart.statistics.intervals import Interval
from eyechart.statistics.measures import paired_change
from eyechart.statistics.resampling import bootstrap_counts, unit_bootstrap_shares
from eyechart.statistics.selective import accuracy_coverage_auc

UNSURE, WITHOUT = np.array([0.9, 0.7, 0.5, 0.5, 0.2]), np.array([True, False, True, False, False])
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4))
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner), max_leaves=6)


@dataclass(frozen=True)
class Pair:
    """A value that a metric could take."""

    first: object
    second: object


def key(*arguments: object, **keywords: Any) -> str | None:
    return _hash_call(paired_change, arguments, keywords)


def plain(value: object) -> object:
    """A value with its types, in which NaN equals NaN, -0.0 is not 0.0, and True is not 1."""
    if isinstance(value, list | tuple):
        return type(value).__name__, tuple(map(plain, value))
    return type(value).__name__, repr(value)


@given(values, values)
def test_two_values_have_one_key_only_if_they_are_equal(one, other) -> None:
    assert (key(one) == key(other)) == (plain(one) == plain(other))
    assert key(one, other) != key((one, other))
    assert (key(Pair(one, other)) == key(Pair(other, one))) == (plain(one) == plain(other))


@pytest.mark.parametrize(
    "other",
    [
        np.array([0.9, 0.7, 0.5, 0.5, np.nextafter(0.2, 1)]),
        np.array([0.9, 0.7, 0.5, 0.5, 0.2], np.float32),
        np.array([[0.9, 0.7, 0.5, 0.5, 0.2]]),
        np.array([0.9, 0.7, 0.5, 0.5]),
        UNSURE.tolist(),
    ],
    ids=["the last bit", "the number format", "the shape", "the length", "a list"],
)
def test_an_array_with_another_bit_format_or_shape_has_another_key(other) -> None:
    assert key(UNSURE) != key(other)


def test_how_an_array_lies_in_memory_does_not_matter() -> None:
    table = np.arange(12.0).reshape(3, 4)
    assert key(table) == key(np.asfortranarray(table)) == key(np.repeat(table, 2, axis=1)[:, ::2])


def test_keywords_functions_and_resamples_are_part_of_the_key() -> None:
    samples = [
        bootstrap_counts(n, times, seed, strata, clusters)
        for n, times, seed, strata, clusters in (
            (4, 9, 1, None, None),
            (5, 9, 1, None, None),
            (4, 8, 1, None, None),
            (4, 9, 2, None, None),
            (4, 9, 1, [0, 0, 1, 1], None),
            (4, 9, 1, None, [0, 0, 1, 2]),
        )
    ]
    keys = [key(sample) for sample in samples]
    keys += [key(seed=1), key(seed=2), key(times=1), _hash_call(harmonic_mean_bootstrap, (), {"seed": 1})]
    assert len({*keys}) == len(keys)
    assert key(bootstrap_counts(4, 9, 1)) == keys[0]


def test_another_source_code_has_another_key(monkeypatch) -> None:
    before = key(1)
    monkeypatch.setattr(draws_cache, "_source_digest", lambda: b"another")
    assert key(1) != before


def test_the_source_code_of_every_module_counts(tmp_path, monkeypatch) -> None:
    changed = [tmp_path / "statistics" / "one.py", tmp_path / "study" / "statistics" / "other.py"]
    monkeypatch.setattr(draws_cache, "__file__", str(tmp_path / "statistics" / "draws_cache.py"))
    for path in changed:
        path.parent.mkdir(parents=True)
        path.write_text("x = 1\n")
    digests = set()
    for path in (None, *changed):
        if path:
            path.write_text("x = 2\n")
        draws_cache._source_digest.cache_clear()
        digests.add(draws_cache._source_digest())
    draws_cache._source_digest.cache_clear()
    assert len(digests) == 3


@pytest.mark.parametrize("value", [np.random.default_rng(0), iter([1]), np.array([object()]), {1: 2}, Pair(1, {2})])
def test_what_cannot_be_hashed_is_computed_each_time(value) -> None:
    calls = []

    @cached_array
    def count(argument: object) -> Any:
        calls.append(argument)
        return np.array([float(len(calls))])

    results: dict[str, Any] = {}
    with use_results(results):
        assert [count(value).tolist() for _ in range(2)] == [[1.0], [2.0]]
    assert results == {}


@given(st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=5, max_size=5), st.integers(0, 3))
def test_results_with_a_cache_are_those_without(outcomes, seed) -> None:
    def compute() -> list[Any]:
        samples = bootstrap_counts(5, 20, seed, WITHOUT.astype(int))
        known = ~np.isnan(outcomes)
        return [
            accuracy_coverage_auc(UNSURE, outcomes).resample(samples),
            harmonic_mean_bootstrap(outcomes, WITHOUT, samples),
            unit_bootstrap_shares(np.where(known, outcomes, 0), known.astype(int), 20, seed),
            np.array(ua_a(UNSURE, WITHOUT).interval(times=20, seed=seed)),
        ]

    expected, results = compute(), {}
    with use_results(results):
        first = compute()
        for stored in results.values():
            stored.flags.writeable = False  # as arrays that are read from a file
        again = compute()
    assert len(results) >= 4
    for one, other, third in zip(expected, first, again, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, third)
        third[:] = 0  # what a caller does to a result is not stored
    with use_results(results):
        for one, other in zip(expected, compute(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_tuple_from_the_cache_has_its_type() -> None:
    results: dict[str, Any] = {}
    with use_results(results):
        intervals = [ua_a(UNSURE, WITHOUT).interval(times=50) for _ in range(2)]
        changes = [paired_change(ua_a(UNSURE, WITHOUT), ua_a(UNSURE[::-1], WITHOUT), times=50) for _ in range(2)]
    assert len(results) == 2
    assert intervals[0] == intervals[1]
    assert changes[0] == changes[1]
    assert {type(interval) for interval in (*intervals, changes[1].interval)} == {Interval}


def test_the_cache_ends_with_its_context() -> None:
    results: dict[str, Any] = {}
    with use_results(results), use_results(None):
        ua_a(UNSURE, WITHOUT).interval(times=5)
    ua_a(UNSURE, WITHOUT).interval(times=5)
    assert results == {}
