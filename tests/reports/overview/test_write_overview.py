"""The overview has every number with its n and interval; aggregate.csv has the columns and rollup rows of Mill."""

import csv
from io import StringIO

import pytest

from eyechart.reports.overview.write_overview import AGGREGATE, aggregate, overview_tables, stderr, write_overview
from eyechart.reports.runs import load
from eyechart.results.glossary import is_counted, is_percent
from eyechart.results.records import Metric, read_run

PROGRESSION = [(f"{stage}_acc", "ID", 0.9, 30, (0.7, 1.0), "bootstrap") for stage in "ecl"]


@pytest.fixture
def pool(bench, existing):
    """A case of existence, one of progression and one of detection."""
    existing("hf[a]", "coco", {"ID": "ynyn", "OOD-H": "ynnn"})
    bench.case("progression", metrics=PROGRESSION)
    bench.case("detection", "open_clip[b]", metrics=[("flagged", "all", 0.5, 10, (0.2, 0.8), "wilson")])
    return bench.pool()


def test_every_case_has_its_numbers_and_its_outcomes(pool) -> None:
    titles = [table.title for table in overview_tables(pool)]
    assert [title.rpartition(": ")[2] for title in titles][-2:] == ["outcomes", "every metric"]
    assert any("existence" in title for title in titles)
    assert any("progression" in title for title in titles)


def test_nothing_of_a_set_is_the_benchmark_as_a_whole(pool) -> None:
    rows = list(csv.DictReader(StringIO(aggregate(pool))))
    assert {row["metric"] for row in rows} >= {"e_acc", "flagged"}
    assert all(row["task"] != row["benchmark"] for row in rows)


def test_notes_name_the_division_and_leave_no_gap(pool, tmp_path) -> None:
    text = write_overview(pool, tmp_path)
    assert "Divisions, annotations and observations: OODBench dddddddddddd." in text
    assert "equivalences ;" not in text
    assert "labels: ." not in text


CLIP = "ViT-B-32/laion2b_s34b_b79k"


@pytest.fixture
def rows(run_folder):
    return list(csv.DictReader(StringIO(aggregate(load([run_folder])))))


def test_the_columns_are_mills(run_folder):
    head = aggregate(load([run_folder])).splitlines()[0]
    assert head == "model,benchmark,task,task_type,n_shot,metric,performance,stderr" == ",".join(AGGREGATE)


def test_a_rollup_row_has_the_benchmark_as_its_task(rows):
    rollup = {row["model"]: row for row in rows if row["task"] == row["benchmark"] and row["metric"] == "acc"}
    assert set(rollup) == {CLIP, "conse[]", "timm[tf_efficientnet_lite0]"}
    assert list(rollup[CLIP].values()) == [
        CLIP, "imagenet", "imagenet", "zero_shot_classification", "0", "acc", "0.7059", "0.1139"
    ]  # fmt: skip


def test_every_other_metric_has_a_task_of_its_own(rows):
    keys = [(row["model"], row["task"], row["metric"]) for row in rows]
    assert len(set(keys)) == len(keys)
    by_task = {row["task"]: row for row in rows if row["model"] == CLIP and row["metric"] == "acc"}
    assert by_task["imagenet/ReGT/single_label_other"]["performance"] == "1.0000"


def test_every_defined_metric_of_the_records_is_there(rows, run_folder):
    metrics = [metric for record in read_run(run_folder).records for metric in record.metrics]
    assert len(rows) == sum(metric.value is not None for metric in metrics)


@pytest.mark.deep
def test_what_records_remark_stands_at_the_head_alone(make_run, tmp_path):
    text = write_overview(load([make_run(errors={3: "broken"})]), tmp_path)
    head, _, below = text.partition("###")
    assert (head.count("1 of 18 images ended in an error"), below.count("ended in an error")) == (3, 0)


def test_another_split_is_not_mills_imagenet(make_run):
    rows = csv.DictReader(StringIO(aggregate(load([make_run(split="sample")]))))
    assert {row["benchmark"] for row in rows} == {"imagenet/sample"}


def metric(value, n, method="wilson"):
    return Metric("acc1", "ImGT", "all", value=value, n=n, n_clusters=n, ci=None, ci_method=method)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (metric(0.6656, 50_000), "0.0021"),
        (metric(0.5, 1), ""),
        (metric(0.5, 9, "stratified"), ""),
        (metric(None, 0), ""),
    ],
)
def test_the_standard_error_is_mills(given, error):
    assert stderr(given) == error


@pytest.mark.deep
def test_the_overview_is_written_in_three_forms(run_folder, tmp_path):
    text = write_overview(load([run_folder]), tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "aggregate.csv",
        "overview.md",
        "overview.tex",
    ]
    assert (tmp_path / "out" / "overview.md").read_text() == text
    assert text.startswith("# eyechart\n\n- run (2026-01-01 00:00:00 UTC): eyechart 0.1.0, 2 s, exit status 0")
    tex = (tmp_path / "out" / "overview.tex").read_text()
    further_parts = tex.count(r"\addtocounter{table}{-1}")
    assert tex.count(r"\caption{") - further_parts == text.count("### ")


@pytest.mark.deep
def test_the_overview_holds_every_number_with_its_n_and_interval(run_folder, tmp_path):
    text = write_overview(load([run_folder]), tmp_path)
    for metric in (m for record in read_run(run_folder).records for m in record.metrics if m.n):
        share = is_percent(metric.name, metric.value, counted=is_counted(metric.ci_method))
        numbers = [f"{100 * number:.2f}" if share else f"{number:.4f}" for number in (metric.value, *metric.ci)]
        assert "{} [{}, {}]".format(*numbers) + f" n={metric.n}" in text


def test_an_overview_without_a_second_ground_truth_has_the_rest(make_run, tmp_path):
    text = write_overview(load([make_run(labels=("ImGT",))]), tmp_path)
    assert "label categories" not in text
    assert "every metric" in text


def test_errors_are_counted_beside_the_answers(make_run, tmp_path):
    folder = make_run(models={"conse[]": ("zero_shot", [356] * 18)}, errors={0: "truncated"})
    text = write_overview(load([folder]), tmp_path)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "94.44" in line]
    assert ["18", "2", "14", "0", "0", "1", "94.44"] in [row[2:9] for row in rows]


def test_a_name_from_outside_stays_text(make_run, tmp_path):
    folder = make_run(models={"hf[a|b<script>alert(1)</script>]": ("supervised", [0] * 18)})
    text = write_overview(load([folder]), tmp_path)
    assert r"hf[a\|b\<script>" in text
    assert "<script" not in text.replace(r"\<script", "")
    assert r"a\textbar{}b\textless{}script" in (tmp_path / "overview.tex").read_text()
