"""The preset of each study runs on packaged data, and what it asks is what the study prints, word by word.

A model of the test's own folder writes each request to a file before the packaged model answers it. The published texts
are in tests/golden/prompts/published, as the papers print them: running text, with slots.
"""

import csv
import json
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import eyechart.samples
from eyechart.data.labels.class_names import load_class_names
from eyechart.protocol.prompts import get_prompt

pytestmark = pytest.mark.deep

WEIGHTS = Path(eyechart.samples.__file__).parent / "toybox-mllm"
PUBLISHED = Path(__file__).parents[1] / "golden/prompts/published"
RECORDER = '''
import json

from eyechart.models.{package}.generator import {parent}


class Recorder({parent}):
    """Writes the texts of each request, and its number of images, before it is answered."""

    def write_down(self, requests):
        for request in requests:
            texts = [part for part in request.parts if isinstance(part, str)]
            with open("asked.jsonl", "a") as file:
                print(json.dumps({{"text": "".join(texts), "images": len(request.images)}}), file=file)
            yield request

    def generate(self, requests, max_tokens, schema=None):
        yield from super().generate(self.write_down(requests), max_tokens, schema)

    def score(self, requests, choices, **more):
        return super().score([*self.write_down(requests)], choices, **more)

    def best(self, requests, choices):
        return super().best([*self.write_down(requests)], choices)
'''
HF, VLLM = ("hf", "HfGenerator"), ("vllm", "VllmGenerator")
LOCAL = [  # the models of the studies that have to be downloaded, replaced by packaged ones
    "--eye-set=closed_world_plus.text_encoder=open_clip[toybox-clip]",
    "--eye-set=open_world.text_encoder=open_clip[toybox-clip]",
    "--eye-set=multiple_choice.distractors=own",
]
FEW_TEXTS = "--eye-set=open_world.text_templates=none"  # or each of 123 names is encoded in 80 templates
TOYBOX = "toybox/sample-cutouts/ and"
JSON_PROMPTS = {"closed_world_json", "open_world_json", "multiple_choice"}


@dataclass(frozen=True)
class Run:
    """The records of a run, and its requests: text and number of images."""

    records: list[dict[str, Any]]
    asked: list[tuple[str, int]]


Preset = Callable[..., Run]


@pytest.fixture
def run_preset(warm_python: Sequence[str]) -> Preset:
    """Run some cases under a preset in a folder."""
    return partial(run_cases, warm_python)


@pytest.fixture
def run_vllm(warm_vllm: Sequence[str]) -> Preset:
    """Run some cases under a preset in a folder with vLLM, whose own warnings are no errors."""
    return partial(run_cases, warm_vllm, more=("-W", "ignore"), engine=VLLM)


def run_cases(
    python: Sequence[str],
    folder: Path,
    preset: str,
    cases: str,
    *options: str,
    more: Sequence[str] = (),
    engine: tuple[str, str] = HF,
) -> Run:
    """Run some cases under a preset, with a model that writes down what it is asked."""
    package, parent = engine
    (folder / "recorder.py").write_text(RECORDER.format(package=package, parent=parent))
    model = f"--eye-model=recorded=recorder:Recorder[{WEIGHTS}]"
    command = [
        "pytest",
        "--pyargs",
        "eyechart.benchmarks",
        "-q",
        "-p",
        "no:cacheprovider",
        "--eye-offline",
        "-k",
        cases,
    ]
    command += [f"--eye-preset={preset}", model, *LOCAL, *options, *more]
    done = subprocess.run([*python, "-m", *command], cwd=folder, capture_output=True, text=True, timeout=600,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    records = json.loads((folder / "reports/runs/latest/records.json").read_text(encoding="utf-8"))
    lines = (folder / "asked.jsonl").read_text(encoding="utf-8").splitlines()
    return Run(records["records"], [(line["text"], line["images"]) for line in map(json.loads, lines)])


def running_text(text: str) -> str:
    """Return a text as a paper prints it, without line breaks."""
    return " ".join(text.split())


def pattern(name: str, **slots: str) -> re.Pattern[str]:
    """Return a pattern for the published text; slots without a text take any."""
    text = running_text((PUBLISHED / f"{name}.txt").read_text(encoding="utf-8"))
    parts = re.split(r"(\{[a-z_]+\})", text)
    filled = {f"{{{name}}}": re.escape(running_text(value)) for name, value in slots.items()}
    return re.compile("".join(filled.get(part, ".+" if part.startswith("{") else re.escape(part)) for part in parts))


def published_names(asked: list[tuple[str, int]], **slots: str) -> Iterator[str]:
    """Yield the name of the published text that each request is; fail for one that is none of them."""
    patterns = {path.stem: pattern(path.stem, **slots) for path in PUBLISHED.glob("*.txt")}
    for text, _ in asked:
        names = [name for name, known in patterns.items() if known.fullmatch(running_text(text))]
        assert len(names) == 1, (names, text)
        yield names[0]


def batch_sizes(run: Run, names: list[str], name: str) -> set[int]:
    """Return the numbers of images in the requests with a published prompt."""
    return {images for known, (_, images) in zip(names, run.asked, strict=True) if known == name}


def listed_names(folder: Path) -> str:
    """Return the class names of the only split of a run, one per line."""
    (path,) = folder.glob("reports/runs/latest/class_names/*.json")
    return "\n".join(json.loads(path.read_text(encoding="utf-8")))


def test_image_classifiers(tmp_path: Path, run_preset: Preset, answers: Path) -> None:
    cases = f"{TOYBOX} (test_closed_world or test_open_world or (test_multiple_choice and not setting))"
    few = ("--eye-limit=12", "--eye-set=multiple_choice.epochs=2", f"--eye-store={answers}")  # of texts in 80 templates
    run = run_preset(tmp_path, "image-classifiers", cases, *few)
    names = [*published_names(run.asked, class_list=listed_names(tmp_path))]
    assert {*names} == JSON_PROMPTS
    assert batch_sizes(run, names, "closed_world_json") == batch_sizes(run, names, "open_world_json") == {10, 2}
    assert batch_sizes(run, names, "multiple_choice") == {1}
    variants = {record["protocol"]: record["variant"] for record in run.records}
    assert variants["closed_world"]["parser"] == "authors"
    assert variants["open_world"]["text_templates"] == "80"


def test_kisel_names_are_in_the_prompt_of_imagenet(tmp_path: Path, run_preset: Preset) -> None:
    cases = "imagenet/sample-drawing/ and test_closed_world and not plus"
    run = run_preset(tmp_path, "image-classifiers-one-image", cases, "--eye-limit=1")
    kisel = "\n".join(load_class_names("kisel").names)
    assert [*published_names(run.asked, class_list=kisel)] == ["closed_world_json"]


def test_gpt_4o_is_asked_with_an_enforced_structure(tmp_path: Path, run_vllm: Preset) -> None:
    cases = f"{TOYBOX} (test_closed_world or test_open_world) and not plus"
    run = run_vllm(tmp_path, "image-classifiers-gpt-4o", cases, "--eye-limit=12", FEW_TEXTS)
    names = [*published_names(run.asked, class_list=listed_names(tmp_path))]
    assert {*names} == {"closed_world", "open_world"}
    assert batch_sizes(run, names, "closed_world") == {10, 2}


def test_paligemma_is_asked_for_a_caption(tmp_path: Path, run_preset: Preset) -> None:
    run = run_preset(tmp_path, "image-classifiers-paligemma", f"{TOYBOX} test_open_world", "--eye-limit=2", FEW_TEXTS)
    assert [*published_names(run.asked)] == ["open_world_caption"] * 2


def test_mill(tmp_path: Path, run_preset: Preset) -> None:
    run = run_preset(tmp_path, "mill", "imagenet/sample-drawing/ and test_mcq", "--eye-limit=4")
    assert {*published_names(run.asked)} == {"mill_mcq"}
    (record,) = run.records
    assert record["variant"]["names"].startswith("mill")


def test_oodbench(tmp_path: Path, run_preset: Preset) -> None:
    cases = "oodbench/sample-coco/ and (test_existence or test_progression)"
    run = run_preset(tmp_path, "oodbench", cases, "--eye-limit=6")
    assert {*published_names(run.asked)} == {
        *("existence", "existence_not", "existence_cot", "existence_cot_not"),
        *("progression_counting", "progression_logic"),
    }
    settings = {(record["variant"].get("division_scope"), record["variant"].get("reasoning")) for record in run.records}
    assert settings == {("main", "direct"), ("main", "cot"), ("initial", "direct"), ("initial", "cot"), (None, None)}
    assert {record["variant"]["threshold"] for record in run.records} == {"0.05"}


def test_realbirdid(tmp_path: Path, run_preset: Preset) -> None:
    run = run_preset(tmp_path, "realbirdid", "realbirdid/sample-drawn/ and test_species", "--eye-limit=4")
    names = [*published_names(run.asked)]
    assert {*names} == {"species", "species_choice"}
    assert (batch_sizes(run, names, "species"), batch_sizes(run, names, "species_choice")) == ({1}, {0})
    (record,) = run.records
    assert record["variant"]["probability"] == "nlg2choice"


def test_vllm_gives_the_probabilities_of_nlg2choice(tmp_path: Path, run_preset: Preset, run_vllm: Preset) -> None:
    values = []
    for name, ask in {"hf": run_preset, "vllm": run_vllm}.items():
        folder = tmp_path / name
        folder.mkdir()
        run = ask(folder, "realbirdid", "realbirdid/sample-drawn/ and test_species", "--eye-limit=4")
        path = folder / "reports/runs/latest" / run.records[0]["predictions"]["path"]
        rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
        values.append([float(row["all.species.probability"]) for row in rows])
    assert values[0] == pytest.approx(values[1], abs=1e-4)


def test_realbirdid_in_free_form(tmp_path: Path, run_preset: Preset) -> None:
    run = run_preset(tmp_path, "realbirdid", "realbirdid/sample-drawn/ and test_free_form", "--eye-limit=4")
    first = [(text, images) for text, images in run.asked if images]
    assert {*published_names(first)} == {"species"}
    (record,) = run.records
    assert record["variant"]["extraction"] == "choice"


def test_the_abstention_study_asks_the_printed_prompts(tmp_path: Path, run_preset: Preset) -> None:
    run = run_preset(tmp_path, "realbirdid", "realbirdid/sample-drawn/ and test_abstention", "--eye-limit=4")
    naive, reason = pattern("abstention_naive"), get_prompt("abstention_reason").text
    assert any(naive.fullmatch(text) for text, images in run.asked if images)
    printed = re.split(r"\{reason_list\}", (PUBLISHED / "abstention_reason.txt").read_text(encoding="utf-8"))[0]
    assert printed in reason
    assert all(printed in text for text, images in run.asked if not images)
