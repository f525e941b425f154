"""The sample view: named scores, the true class, the original image, sorting and grouping, tables of other packages."""

import csv
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
from msgspec.structs import replace

from eyechart.results.records import File, Record, read_run
from eyechart.results.sample_table import SHARED_COLUMNS

pytestmark = pytest.mark.deep

TIMM = "timm%5Btf_efficientnet_lite0%5D%2C+supervised"


def test_scores_are_named_and_drawn_and_the_true_class_is_marked(driver: Any, studio: Any) -> None:
    driver.go(f"#/samples/imagenet/sample?at={studio.keys[0]}&model={TIMM}")
    best = driver.page.locator(".best").first
    best.wait_for()
    rows = best.locator("tbody tr")
    assert rows.count() == 5
    assert rows.first.locator("td").last.inner_text() == "logit 1"
    assert best.locator(".true-class").first.inner_text().startswith("cheetah (293) ✓ ImGT")
    widths = [bar.bounding_box()["width"] for bar in best.locator(".score-bar span").all()]
    assert widths[0] > 2 * widths[1] > 0


def test_a_true_class_that_is_not_listed_is_said(driver: Any, studio: Any) -> None:
    driver.go(f"#/samples/imagenet/sample?at={studio.keys[1]}&model={TIMM}")
    driver.page.get_by_text("The true class is not among the five.").first.wait_for()


def test_the_image_takes_the_full_width_and_leads_to_the_original(driver: Any, studio: Any) -> None:
    driver.go(f"#/samples/imagenet/sample?at={studio.keys[0]}")
    image = driver.page.locator(".parts img")
    link = driver.page.get_by_role("link", name="Original image")
    original = Path(unquote(urlparse(link.get_attribute("href")).path))
    row = studio.dataset.index[studio.dataset.selected[0]]
    assert sha256(original.read_bytes()).hexdigest() == row.sha256
    width = image.bounding_box()["width"]
    driver.page.get_by_role("button", name="Full width").click()
    assert image.bounding_box()["width"] > 1.8 * width


def test_samples_sort_by_loss_and_by_confidence_of_the_chosen_model(driver: Any, studio: Any) -> None:
    driver.go(f"#/samples/imagenet/sample?model={TIMM}")
    driver.page.get_by_label("Sort by").select_option("loss")
    driver.page.get_by_text("loss 1.00").wait_for()
    assert driver.page.locator(".cards .key").first.inner_text() == studio.keys[1]
    driver.page.get_by_label("Sort by").select_option("sure")
    driver.page.get_by_text("logit 1.00").first.wait_for()
    assert driver.page.locator(".cards .key").first.inner_text() == studio.keys[0]


def test_samples_are_grouped_by_class_and_cards_name_models_and_change_size(driver: Any, studio: Any) -> None:
    driver.go("#/samples/imagenet/sample")
    card = driver.page.locator(".cards li").first
    assert card.locator(".name").all_inner_texts() == ["hf[mllm], CW", "conse[], zero_shot", TIMM_NAME]
    width = card.bounding_box()["width"]
    driver.page.get_by_label("Size").select_option("large")
    driver.page.locator(".cards.large").wait_for()
    assert card.bounding_box()["width"] > 1.5 * width
    driver.page.get_by_label("group by class").check()
    driver.page.locator(".class-name").first.wait_for()
    names = driver.page.locator(".class-name").all_inner_texts()
    assert names == sorted(names)
    assert len(names) == len({label for label in studio.original if label >= 0}) + 1  # and those without a label


def test_samples_are_lines_with_the_answers_of_all_models(driver: Any, studio: Any) -> None:
    driver.go("#/samples/imagenet/sample")
    driver.page.get_by_label("Size").select_option("table")
    table = driver.page.locator(".rows")
    table.wait_for()
    first = table.locator("tbody tr").first.locator("td").all_inner_texts()
    assert first[0] == "cheetah (293)"
    assert [text.split(" ")[:2] for text in first[1:]] == [["✗", "wrong"], ["✗", "wrong"], ["✓", "right"]]
    table.get_by_role("link").first.click()
    driver.page.locator(".answers").wait_for()


TIMM_NAME = "timm[tf_efficientnet_lite0], supervised"


def with_shared_columns_only(record: Record, folder: Path) -> Record:
    """A record whose sample table is that of a protocol of another package."""
    assert record.predictions is not None
    path = folder / record.predictions.path
    out = StringIO(newline="")
    writer = csv.DictWriter(out, SHARED_COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    path.write_text(out.getvalue(), encoding="utf-8", newline="\n")
    return replace(record, predictions=File(path=record.predictions.path, sha256=sha256(path.read_bytes()).hexdigest()))


def test_a_table_with_the_shared_columns_alone_is_shown(studio: Any, copied: Any, opened: Any) -> None:
    run = copied(studio.run())
    records = tuple(with_shared_columns_only(record, run) for record in read_run(run).records)
    driver = opened(studio.page(studio.make_run.written(run, records)), None)
    assert driver.samples("?outcome=wrong") == [studio.keys[index] for index in (0, 1, 2)]
    driver.page.get_by_role("link", name=studio.keys[0]).click()
    driver.page.locator(".answers").wait_for()
    assert driver.page.locator(".facts .label").inner_text() == str(studio.original[0])
