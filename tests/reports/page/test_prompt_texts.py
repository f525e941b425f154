"""Tests of `eyechart.reports.page.prompt_texts`."""

from typing import Any

import pytest
from msgspec.structs import replace

from eyechart.data.labels.class_names import load_class_names
from eyechart.protocol.prompts import get_prompt
from eyechart.results.records import read_run

pytestmark = pytest.mark.deep


def test_the_prompt_lists_the_class_names_that_were_asked_for(studio: Any, copied: Any, opened: Any) -> None:
    names, prompt = load_class_names("kisel"), get_prompt("closed_world")
    settings = {"prompt": f"closed_world ({prompt.sha256[:8]})", "names": f"kisel ({names.sha256[:8]})"}
    settings |= {"answer": "constrained"}
    run = copied(studio.run())
    records = tuple(replace(record, variant=record.variant | settings) for record in read_run(run).records)
    hash_ = f"#/samples/imagenet/sample?at={studio.keys[0]}&model=hf%5Bmllm%5D%2C+CW"
    driver = opened(studio.page(studio.make_run.written(run, records)), hash_)
    text = driver.page.locator(".prompts .raw").first
    text.wait_for()
    assert not text.get_by_text(names.names[500]).is_visible()
    text.get_by_text("997 more lines").click()
    shown = text.text_content().replace("997 more lines", "")
    assert shown.replace("\n", "") == prompt.text.strip().format(class_list="\n".join(names.names)).replace("\n", "")


def test_a_slot_whose_value_is_not_known_is_said(studio: Any, copied: Any, opened: Any) -> None:
    settings = {"prompt": f"closed_world ({get_prompt('closed_world').sha256[:8]})", "names": "kisel (00000000)"}
    run = copied(studio.run())
    records = tuple(replace(record, variant=record.variant | settings) for record in read_run(run).records)
    hash_ = f"#/samples/imagenet/sample?at={studio.keys[0]}&model=hf%5Bmllm%5D%2C+CW"
    driver = opened(studio.page(studio.make_run.written(run, records)), hash_)
    driver.page.get_by_text("Slots in braces differ per image; the run has not kept what stood there.").first.wait_for()
    assert driver.page.locator(".prompts .slot").first.inner_text() == "{class_list}"
