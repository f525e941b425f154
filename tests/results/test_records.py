"""Runs on the disk: what is read, what is refused, and the schema that says what to expect."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import ReportError
from eyechart.results.records import (
    RECORDS_FILE,
    SCHEMA,
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
    json_schema,
    read_run,
    to_plain,
)


def test_a_run_is_read_from_its_folder_or_its_file(run_folder: Path) -> None:
    assert read_run(run_folder) == read_run(run_folder / "records.json")
    assert len(read_run(run_folder).records) == 3


def test_a_run_that_is_not_there_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"No run can be read at .*records\.json \(No such file.*reports/runs/latest"):
        read_run(tmp_path)


def test_a_folder_of_runs_is_answered_with_the_latest_run(run_folder: Path) -> None:
    with pytest.raises(ReportError, match=rf"such as {re.escape(str(run_folder))}\.$"):
        read_run(run_folder.parent)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"run": {}}', b'{"run": 1, "records": []}'])
def test_what_is_no_run_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "records.json").write_bytes(content)
    with pytest.raises(ReportError, match=r"records\.json is not a run's records\.json: "):
        read_run(tmp_path)


@pytest.fixture
def changed(run_folder: Path) -> Callable[[Callable[[Any], None]], Path]:
    """Change a run's file."""

    def change(how: Callable[[Any], None]) -> Path:
        path = run_folder / "records.json"
        raw = json.loads(path.read_bytes())
        how(raw)
        path.write_text(json.dumps(raw))
        return path

    return change


def test_a_pointer_in_place_of_the_records_is_named_and_a_byte_order_mark_read(run_folder: Path) -> None:
    path = run_folder / RECORDS_FILE
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_run(run_folder).records
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(ReportError, match=r"records\.json is a pointer of Git LFS .*: run git lfs pull"):
        read_run(run_folder)


def test_a_run_of_a_later_schema_is_refused(changed: Callable[[Callable[[Any], None]], Path]) -> None:
    path = changed(lambda raw: raw["run"].update(schema=SCHEMA + 1))
    with pytest.raises(ReportError, match=rf"has schema {SCHEMA + 1}; this eyechart reads schema {SCHEMA}\. Upgrade"):
        read_run(path)


def test_a_run_of_an_earlier_schema_is_refused_with_the_remedy(
    changed: Callable[[Callable[[Any], None]], Path],
) -> None:
    path = changed(lambda raw: (raw["run"].update(schema=1), raw["records"][0].pop("metrics")))
    with pytest.raises(ReportError, match=rf"has schema 1; this eyechart reads schema {SCHEMA}\. Run the suite again"):
        read_run(path)


def test_a_run_of_a_later_schema_that_looks_otherwise_is_refused_for_its_schema(
    changed: Callable[[Callable[[Any], None]], Path],
) -> None:
    path = changed(lambda raw: (raw["run"].update(schema=SCHEMA + 1), raw.update(records={"by": "case"})))
    with pytest.raises(ReportError, match="Upgrade eyechart"):
        read_run(path)


def test_one_line_of_json_is_a_record(run_folder: Path) -> None:
    text = encode(read_run(run_folder).records[0]).decode()
    assert text.startswith('{\n  "artifacts"')
    assert list(json.loads(text)) == sorted(json.loads(text))


def test_the_schema_describes_a_run(run_folder: Path) -> None:
    definitions = json_schema()["$defs"]
    raw = json.loads((run_folder / "records.json").read_bytes())
    for record in raw["records"]:
        assert record.keys() == definitions["Record"]["properties"].keys()
        assert set(definitions["Record"]["required"]) <= record.keys()
        for metric in record["metrics"]:
            assert metric.keys() == definitions["Metric"]["properties"].keys()


def test_every_part_that_the_schema_points_at_is_there() -> None:
    text = json.dumps(json_schema())
    pointed = {line.partition('"')[0] for line in text.split('"#/$defs/')[1:]}
    assert pointed == json_schema()["$defs"].keys()


def test_no_number_is_null() -> None:
    metric = Metric("acc1", "ImGT", "all", value=float("nan"), n=0, n_clusters=0, ci=None, ci_method="wilson")
    assert json.loads(encode(metric))["value"] is None


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
