"""The ranks of models on the page, by paired tests over the same samples."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from eyechart.reports.page.rankings import describe_rankings, rank_cases, rank_rows
from eyechart.reports.runs import Runs, load
from eyechart.results.records import encode, read_run


@pytest.mark.deep
def test_without_a_baseline_it_ranks_the_models_by_paired_tests(studio: Any, opened: Any) -> None:
    driver = opened(studio.page())
    gate = driver.page.get_by_role("region", name="Verdict")
    assert gate.locator(".gate-line").inner_text() == (
        "≷ 3 of 3 models may be the best on imagenet/sample (supervised, CW, zero_shot) (paired tests of all pairs "
        "over the same samples, adjusted p ≤ 0.01). This page has no baseline and no earlier run."
    )
    card = driver.page.locator(".benchmark")
    assert [text.split("\t")[0] for text in card.locator("tbody tr").all_inner_texts()] == ["1–3"] * 3
    assert re.search(r"-\d+\.\d\d points \[.+\], \d+ lost, \d+ gained, adjusted p = ", card.inner_text())
    gate.locator("summary").click()
    assert gate.locator(".hint").last.inner_text().startswith("A comparison of another run with this one ")


@pytest.mark.deep
def test_a_benchmark_lists_its_models_with_intervals_and_leads_to_their_samples(studio: Any, opened: Any) -> None:
    driver = opened(studio.page())
    card = driver.page.locator(".benchmark")
    heading = card.get_by_role("heading").inner_text()
    assert heading == "imagenet/sample acc1 (ImGT); 12 images, a random sample of 12 (seed 42)"
    rows = [row.split("\t") for row in card.locator("tbody tr").all_inner_texts()]
    assert [(row[1], row[3].strip()) for row in rows] == [  # the best first
        ("timm[tf_efficientnet_lite0] supervised", "87.50 [52.91, 97.76]"),
        ("hf[mllm] CW", "71.43 [35.89, 91.78]"),
        ("conse[] zero_shot", "62.50 [30.57, 86.32]"),
    ]
    assert driver.page.locator(".matrix").count() == 0  # each model has one protocol
    card.get_by_role("link", name="timm").click()
    driver.page.locator(".found").wait_for()
    assert driver.page.get_by_label("Model", exact=True).input_value() == "timm[tf_efficientnet_lite0], supervised"


SIZE = 40
NOW, BEFORE, WORSE = "conse[now]", "conse[before]", "conse[worse]"


@pytest.fixture
def loaded(make_run: Any) -> Callable[..., Runs]:
    """Runs, newest last, of models that are wrong about as many of the first images as stands beside them."""

    def loaded(*wrong: Mapping[str, int]) -> Runs:
        truths = tuple((index, (index,), None) for index in range(SIZE))
        folders = []
        for number, counts in enumerate(wrong):
            models = {
                model: ("zero_shot", [999 if index < count else index for index in range(SIZE)])
                for model, count in counts.items()
            }
            variant = {"templates": f"{number} (aa)"}  # so that each run has a case of its own
            folder = make_run(f"run{number}", models=models, truths=truths, labels=("ImGT",), variant=variant)
            records = read_run(folder)
            begun = replace(records.run, started=f"2026-01-0{number + 1}T00:00:00+00:00")
            (folder / "records.json").write_bytes(encode(replace(records, run=begun)))
            folders.append(folder)
        return load(folders)

    return loaded


def test_a_model_is_ranked_by_the_case_of_its_newest_run_whatever_its_value(loaded: Any) -> None:
    (ranking,) = rank_cases(loaded({NOW: 0, WORSE: 20}, {NOW: 10}), 0.01)
    assert [(one.model.name, one.model.metric.value) for one in ranking.ranks] == [(NOW, 0.75), (WORSE, 0.5)]


def test_each_model_has_its_ranks_and_what_it_lost_against_the_best_one(loaded: Any) -> None:
    runs = loaded({NOW: 0, BEFORE: 1, WORSE: 20})
    rankings = rank_cases(runs, 0.01)
    assert rankings[0].leaders == [NOW, BEFORE]
    rows = rank_rows(runs, rankings)
    by_model = {case.model: rows[id(case)] for case in runs.cases}
    assert {model: row["ranks"] for model, row in by_model.items()} == {NOW: [1, 2], BEFORE: [1, 2], WORSE: [3, 3]}
    assert by_model[NOW]["against"] is None
    against = by_model[WORSE]["against"]
    assert {name: against[name] for name in ("model", "delta", "lost", "gained", "percent")} == {
        "model": NOW, "delta": -0.5, "lost": 20, "gained": 0, "percent": True,
    }  # fmt: skip
    assert against["ci"][0] < -0.5 < against["ci"][1] < 0
    assert against["p"] < 0.01


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({NOW: 0, WORSE: 20}, f"{NOW} is significantly better than every other model on imagenet/val (zero_shot)"),
        ({NOW: 0, BEFORE: 1, WORSE: 20}, "2 of 3 models may be the best on imagenet/val (zero_shot)"),
    ],
)
def test_one_model_is_called_the_best_only_if_the_tests_say_so(
    loaded: Any, wrong: Mapping[str, int], sentence: str
) -> None:
    rankings = rank_cases(loaded(wrong), 0.01)
    assert describe_rankings(rankings, 0.01).startswith(f"{sentence} (paired tests")
    sure = 2 if len(wrong) == 2 else 0
    assert describe_rankings([*rankings, *rankings], 0.01).startswith(
        f"In {sure} of the 2 comparisons below one model is"
    )


def test_without_two_models_there_is_nothing_to_say(loaded: Any) -> None:
    rankings = rank_cases(loaded({NOW: 0}), 0.01)
    assert describe_rankings(rankings, 0.01) == ""
