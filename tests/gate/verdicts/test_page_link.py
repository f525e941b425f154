"""What the gate says of how to look: a command to be typed as it stands, an address that holds any name."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from eyechart.files.folders import STORE
from eyechart.gate.comparison.compare_metrics import compare_metrics
from eyechart.gate.verdicts.decide import Rule, decide
from eyechart.gate.verdicts.page_link import PageLink, page_address
from eyechart.gate.verdicts.verdict_messages import describe_loss, describe_losses

HERE = Path("/home/me")
SIGHT = PageLink(HERE, HERE / "reports/runs/1", HERE / "kept")
PAGE = "eyechart page"


@pytest.mark.parametrize(
    ("sight", "rest"),
    [
        (SIGHT, "reports/runs/1 --baseline kept --out page"),
        (PageLink(HERE, Path("/runs/1"), HERE / "my kept"), "/runs/1 --baseline 'my kept' --out page"),
        (PageLink(HERE, HERE / "1", HERE / "a.json", store=HERE / "s"), "1 --baseline a.json --store s --out page"),
        (PageLink(HERE, HERE / "1", HERE / "k", "/d", HERE / STORE), "1 --baseline k --data /d --out page"),
        (PageLink(HERE, HERE / "1", HERE / "k", "hub:a/b"), "1 --baseline k --data hub:a/b --out page"),
        (PageLink(HERE, HERE / "1", HERE / "k", rule=Rule(0.05)), "1 --baseline k --alpha 0.05 --out page"),
        (PageLink(HERE, HERE / "1", HERE / "k", rule=Rule(max_drop=0.05)), "1 --baseline k --max-drop 0.05 --out page"),
        (PageLink(HERE, HERE / "1", HERE / "k", rule=Rule(margin=0.01)), "1 --baseline k --margin 0.01 --out page"),
        (
            PageLink(HERE, HERE / "1", HERE / "k", rule=Rule(gates=("accuracy", "score")), policy="a b.toml"),
            "1 --baseline k --gate accuracy,score --policy 'a b.toml' --out page",
        ),
    ],
)  # fmt: skip
def test_the_command_names_what_is_beneath_the_folder_from_there_on(sight: PageLink, rest: str) -> None:
    assert sight.command == f"{PAGE} {rest}"


def test_a_command_is_read_by_a_shell_as_it_was_meant() -> None:
    words = shlex.split(PageLink(HERE, HERE / "a 'b'; $c", HERE / "kept").command)
    assert words[2:4] == ["a 'b'; $c", "--baseline"]


@pytest.mark.parametrize("model", ["hf[Qwen/Qwen3-VL,dtype=bfloat16]", "replay[path=a b#c?d&e%25+ü.csv]"])
def test_an_address_holds_any_model(model: str) -> None:
    found = urlsplit(page_address(f"imagenet/val/{model}", "replay", "Re&GT", "acc1 (Re&GT, single_label_original)"))
    path, _, query = found.fragment.partition("?")
    assert unquote(path) == f"/samples/imagenet/val/{model}"
    wanted = {"protocol": "replay", "labels": "Re&GT", "changed": "lost", "of": "acc1 (Re&GT, single_label_original)"}
    assert parse_qs(query) == {name: [value] for name, value in wanted.items()}


def test_a_case_that_lost_names_both_files_how_to_look_and_how_to_accept(make: Any) -> None:
    said = describe_losses(make([]), 2, HERE / "kept/a.json", SIGHT)
    assert "is worse than the baseline in 2 numbers." in said
    assert said.split("\n")[1:] == [
        "  baseline: /home/me/kept/a.json", "  run: /home/me/reports/runs/1", f"  page of both: {SIGHT.command}",
        "  If it is meant to be so, accept it with --eye-update-baseline."]  # fmt: skip


@pytest.mark.parametrize(("outcomes", "lost"), [(True, True), (False, False)])
def test_a_loss_leads_to_its_images_where_it_is_told_image_by_image(
    make: Any, share: Any, outcomes: bool, lost: bool
) -> None:
    given = [share(acc1=[right] * 20) for right in (1, 0)]
    before, now = (make(each if outcomes else [bare(one) for one in each]) for each in given)
    every = list(compare_metrics(before, now))
    said = describe_loss(decide(every, Rule(0.01))[:1], every, now.keys)
    assert ("changed=lost&of=acc1+%28ImGT%29" in said) is lost
    assert "on the page: page/index.html#/samples/imagenet/val/m%5B%5D?protocol=zero_shot&labels=ImGT" in said


def bare(given: Any) -> Any:
    """A number alone."""
    return replace(given, correct=None)
