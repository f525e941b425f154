"""Records: whatever is written is read back, by today's reader and by one that knows less."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.results.records import (
    DataRecord,
    File,
    Metric,
    ModelRecord,
    OutcomeCounts,
    Record,
    Records,
    Reported,
    Run,
    decode,
    encode,
    from_plain,
    to_plain,
)

words, counts = st.text(max_size=8), st.integers(0, 10**6)
numbers = st.floats(allow_nan=False, allow_infinity=False)
texts = st.dictionaries(words, words, max_size=3)
metrics = st.builds(
    Metric,
    name=words,
    labels=words,
    subset=words,
    level=words,
    prompt=words,
    value=st.none() | numbers,
    n=counts,
    n_clusters=counts,
    ci=st.none() | st.tuples(numbers, numbers),
    ci_method=words,
)
models = st.builds(
    ModelRecord, spec=words, backend=words, revision=words, weights_sha256=words, dtype=words, device=words
)
data = st.builds(DataRecord, fingerprint=words, n=counts, expected_n=st.none() | counts, labels=texts)
files = st.builds(File, path=words, sha256=words)
records = st.builds(
    Record,
    case=words,
    benchmark=words,
    split=words,
    protocol=words,
    variant=texts,
    model=models,
    data=data,
    limit=st.none() | counts,
    seed=counts,
    outcomes=st.builds(OutcomeCounts, correct=counts, wrong=counts, unparsed=counts, error=counts),
    metrics=st.lists(metrics, max_size=3).map(tuple),
    reported=st.none() | st.builds(Reported, value=numbers, source=words, delta=st.none() | numbers),
    predictions=st.none() | files,
    artifacts=st.dictionaries(words, files, max_size=2),
    notes=st.lists(words, max_size=2).map(tuple),
    loads=counts,
    seconds=numbers,
    environment=texts,
    command=words,
)
runs = st.builds(
    Run,
    eyechart=words,
    started=words,
    seconds=numbers,
    exit_status=counts,
    workers=counts,
    loads=counts,
    command=words,
)
sessions = st.builds(Records, run=runs, records=st.lists(records, max_size=2).map(tuple))


@given(sessions)
def test_what_is_written_is_read_back(session: Records) -> None:
    assert decode(encode(session), Records) == session


@given(records)
def test_a_record_travels_as_plain_values(record: Record) -> None:
    travelling = to_plain(record)
    assert from_plain(travelling) == record
    assert from_plain(json.loads(json.dumps(travelling))) == record


@given(records)
def test_the_bytes_are_the_same_every_time(record: Record) -> None:
    assert encode(record) == encode(from_plain(to_plain(record)))


@pytest.mark.deep
@given(sessions, words, st.integers() | words | st.lists(words))
def test_readers_ignore_what_they_do_not_know(session: Records, name: str, value: Any) -> None:
    raw = json.loads(encode(session))
    for index in (raw, raw["run"], *raw["records"], *(record["model"] for record in raw["records"])):
        index[f"later {name}"] = value
    assert decode(json.dumps(raw).encode(), Records) == session


@given(metrics)
def test_a_value_is_a_number_or_null(metric: Metric) -> None:
    assert type(json.loads(encode(metric))["value"]) in (float, int, type(None))
    assert (json.loads(encode(metric))["value"] is None) == (metric.value is None)


@pytest.mark.parametrize("field", ["case", "model", "metrics", "seed"])
@given(record=records)
def test_a_record_without_what_it_must_have_is_refused(field: str, record: Record) -> None:
    raw = to_plain(record)
    del raw[field]
    with pytest.raises(msgspec.ValidationError, match=f"missing required field `{field}`"):
        from_plain(raw)
