"""The preset of each study runs on packaged data, and what it asks is what the study prints, word by word.

A model of the test's own folder writes each request to a file before the packaged model answers it. The published texts
are in tests/golden/prompts/published, as the papers print them: running text, with slots.
"""

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
from eyechart.classification.answers.image_batches import closed_world_prompt
from eyechart.data.labels.class_names import load_class_names
from eyechart.protocol.prompts import get_prompt
from eyechart.toybox.samples.open_toybox import open_toybox

pytestmark = pytest.mark.deep

WEIGHTS = Path(eyechart.samples.__file__).parent / "toybox-mllm"
PUBLISHED = Path(__file__).parents[1] / "golden/prompts/published"
RECORDER = '''
import json

from eyechart.models.hf.generator import HfGenerator


class Recorder(HfGenerator):
    """Writes the texts of each request, and its number of images, before it is answered."""

    def write_down(self, requests):
        for request in requests:
            texts = [part for part in request.parts if isinstance(part, str)]
            with open("asked.jsonl", "a") as file:
                print(json.dumps({"text": "".join(texts), "images": len(request.images)}), file=file)
            yield request

    def generate(self, requests, max_tokens, schema=None):
        yield from super().generate(self.write_down(requests), max_tokens, schema)

    def score(self, requests, choices, **more):
        return super().score([*self.write_down(requests)], choices, **more)

    def best(self, requests, choices):
        return super().best([*self.write_down(requests)], choices)
'''
LOCAL = [  # the models of the studies that have to be downloaded, replaced by packaged ones
    "--eye-set=closed_world_plus.text_encoder=open_clip[toybox-clip]",
    "--eye-set=open_world.text_encoder=open_clip[toybox-clip]",
    "--eye-set=multiple_choice.distractors=own",
]
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


def run_cases(python: Sequence[str], folder: Path, preset: str, cases: str, *options: str) -> Run:
    """Run some cases under a preset, with a model that writes down what it is asked."""
    (folder / "recorder.py").write_text(RECORDER)
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
    command += [f"--eye-preset={preset}", model, *LOCAL, *options]
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


def test_image_classifiers(tmp_path: Path, run_preset: Preset) -> None:
    """On 12 images of as many classes, since each name is encoded in 80 templates."""
    dataset = open_toybox("sample-cutouts")
    rows = {row.label: number for number, row in enumerate(dataset.index)}
    for index, data in dataset.source.read([*rows.values()][:12]):
        home = tmp_path / "data/toys/test" / dataset.names[dataset.index[index].label]
        home.mkdir(parents=True)
        (home / dataset.index[index].file).write_bytes(data)
    cases = "toys/ and (test_closed_world or test_open_world or (test_multiple_choice and not setting))"
    run = run_preset(tmp_path, "image-classifiers", cases, "--eye-data=data", "--eye-set=multiple_choice.epochs=2")
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


def test_prompts_of_an_enforced_structure_and_of_captions_are_those_that_are_printed() -> None:
    """Which the presets of GPT-4o and PaliGemma choose; what vLLM answers under a structure: tests/models/vllm."""
    closed = closed_world_prompt("name", structured=True).fill(class_list="a cat")
    asked = [(text, 1) for text in (closed, get_prompt("open_world").text, get_prompt("open_world_caption").text)]
    assert [*published_names(asked, class_list="a cat")] == ["closed_world", "open_world", "open_world_caption"]


def test_mill(tmp_path: Path, run_preset: Preset) -> None:
    run = run_preset(tmp_path, "mill", "imagenet/sample-drawing/ and test_mcq", "--eye-limit=4")
    assert {*published_names(run.asked)} == {"mill_mcq"}
    (record,) = run.records
    assert record["variant"]["names"].startswith("mill")


def test_oodbench(tmp_path: Path, run_preset: Preset) -> None:
    cases = "oodbench/sample-coco/ and (test_existence or test_progression)"
    run = run_preset(tmp_path, "oodbench", cases, "--eye-limit=4")
    assert {*published_names(run.asked)} == {
        *("existence", "existence_not", "existence_cot", "existence_cot_not"),
        *("progression_counting", "progression_logic"),
    }
    settings = {(record["variant"].get("division_scope"), record["variant"].get("reasoning")) for record in run.records}
    assert settings == {("main", "direct"), ("main", "cot"), ("initial", "direct"), ("initial", "cot"), (None, None)}
    assert {record["variant"]["threshold"] for record in run.records} == {"0.05"}


def test_realbirdid(tmp_path: Path, run_preset: Preset) -> None:
    """Species have probabilities of a free answer, which is extracted as a choice; abstention has its own prompts."""
    cases = "realbirdid/sample-drawn/ and (test_species or test_free_form or test_abstention)"
    run = run_preset(tmp_path, "realbirdid", cases, "--eye-limit=4")
    variants = {record["protocol"]: record["variant"] for record in run.records}
    assert variants["species"]["probability"] == "nlg2choice"
    assert variants["free_form"]["extraction"] == "choice"
    species, choice, naive = (pattern(name) for name in ("species", "species_choice", "abstention_naive"))
    (printed, *_) = (PUBLISHED / "abstention_reason.txt").read_text(encoding="utf-8").split("{reason_list}")
    assert printed in get_prompt("abstention_reason").text
    with_image = [running_text(text) for text, images in run.asked if images]
    without = [running_text(text) for text, images in run.asked if not images]
    assert sum(bool(species.fullmatch(text)) for text in with_image) == 4  # asked once for both protocols
    assert any(naive.fullmatch(text) for text in with_image)
    assert sum(bool(choice.fullmatch(text)) for text in without) == 4
    assert any(running_text(printed) in text for text in without)
    assert all(choice.fullmatch(text) or running_text(printed) in text for text in without)
