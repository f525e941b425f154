"""Three protocols beside lmms-eval: one model, the same images and prompts, each run in a process of its own.

    python -m tests.speed.lmms_eval PYTHON [PAIRS]

PYTHON is the interpreter of lmms-eval's environment, which is not eyechart's:

    python3.11 -m venv peer
    peer/bin/pip install lmms_eval==0.7.3 transformers==5.19.0 decord==0.6.0

Its model is `llava_hf`, which has answers and log-likelihoods, in batches of one; `huggingface` has no log-likelihoods.
From transformers 5.23 on those of `llava_hf` fail, since the processor refuses a prompt without its image. lmms-eval
0.7.3 turns each pair of a loss and a flag into a text, which its own scorer of choices refuses; the task here has a
scorer that reads the text. Both sides have one thread: with two on a busy machine, most of the peer's CPU seconds are
waiting.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from eyechart.classification.answers.image_batches import closed_world_prompt, format_class_list
from eyechart.classification.protocols.mcq import draw_mill_options
from eyechart.classification.protocols.posterior import _format_answer
from eyechart.data.dataset.dataset import Dataset
from eyechart.protocol.prompts import get_prompt
from eyechart.samples.files import packaged
from eyechart.toybox.samples.open_toybox import open_toybox

MODEL, SPLIT, SEED = "toybox-mllm", "sample-cutouts", 42
COMMAND = Path(__file__).with_name("peer") / "lmms_eval_command.py"
LIKELIHOODS_OF = 4  # images: lmms-eval reads the prompt with its 123 names again for each name
Documents = list[dict[str, Any]]
UTILS = """
from ast import literal_eval
from PIL import Image

def visual(document):
    return [Image.open(document["image"]).convert("RGB")]

def score(document, results):
    losses = [literal_eval(result)[0] for result in results]
    return {"acc": float(losses.index(min(losses)) == document["target"])}
"""
TASK = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{documents}"}}}}
test_split: test
doc_to_visual: !function utils.visual
doc_to_text: prompt
target_delimiter: ""
{rest}
"""
ANSWERS = """output_type: generate_until
doc_to_target: target
generation_kwargs: {{max_new_tokens: {tokens}, do_sample: false}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]"""
LIKELIHOODS = """output_type: multiple_choice
doc_to_target: target
doc_to_choice: choices
process_results: !function utils.score
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]"""


class Run(NamedTuple):
    """What a process took, and its answers by the keys of images."""

    wall: float
    cpu: float
    memory: float
    counts: Mapping[str, int]
    answers: Mapping[str, str]


@dataclass(frozen=True)
class Comparison:
    """A protocol of eyechart and the task of lmms-eval that asks the same."""

    protocol: str
    what: str
    column: str
    options: tuple[str, ...]
    documents: Documents
    task: str


def comparisons(folder: Path) -> Iterator[Comparison]:
    """Yield the three protocols; the images of the peer are files in the folder."""
    data, few = open_toybox(SPLIT), open_toybox(SPLIT).subsample(LIKELIHOODS_OF, SEED)
    names = data.names or ()
    ask, pick, score = get_prompt("open_world_json").text, get_prompt("mill_mcq"), closed_world_prompt()

    def letters(row: int) -> dict[str, Any]:
        options = draw_mill_options(data.keys[row], label(data, row), data.classes, seed=SEED)
        return {"prompt": pick.fill(dynamic_choices=options.to_text(names)), "target": options.letters}

    yield Comparison(
        "open_world", "open answer", "response", ("--eye-set=open_world.mapping=inclusion",),
        documents(data, folder, lambda row: {"prompt": ask, "target": names[label(data, row)]}),
        ANSWERS.format(tokens=64),
    )  # fmt: skip
    yield Comparison(
        "mcq", "one letter of ten", "response", (), documents(data, folder, letters), ANSWERS.format(tokens=32)
    )
    prompt = folder / "prompt.toml"  # the peer writes a line break after the image
    prompt.write_text(
        f"source = 'the closed world'\nformat = 'json'\ntext = {json.dumps(chr(10) + score.text)}\n", encoding="utf-8"
    )
    asked = {
        "prompt": score.fill(class_list=format_class_list(names)),
        "choices": [_format_answer(score, name) for name in names],
    }
    yield Comparison(
        "posterior", f"likelihoods of {len(names)} names", "top1",
        (f"--eye-set=posterior.prompt={prompt}", f"--eye-limit={LIKELIHOODS_OF}"),
        documents(few, folder, lambda row: asked | {"target": label(few, row)}), LIKELIHOODS,
    )  # fmt: skip


def label(data: Dataset, row: int) -> int:
    """Return the class of an image."""
    return data.index[data.selected[row]].label


def documents(data: Dataset, folder: Path, ask: Callable[[int], dict[str, Any]]) -> Documents:
    """Write the images of a split, and return its documents."""
    found = []
    for row, image in data.read(range(len(data))):
        path = folder / f"{data.keys[row].replace('/', '-')}.webp"
        path.write_bytes(image)
        found.append({"key": data.keys[row], "image": str(path), **ask(row)})
    return found


def run(command: list[str], location: Path) -> tuple[float, float, float, Mapping[str, int]]:
    """Run a command in a process of its own: wall and CPU seconds, GiB at most, and counts. Raises RuntimeError."""
    counts, started = location / "forwards.json", perf_counter()
    settings = {
        "FORWARDS": str(counts),
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(location / "hub"),
    }
    with (location / "output.txt").open("w+", encoding="utf-8") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=os.environ | settings)
        _, status, usage = os.wait4(process.pid, 0)
        if status or not counts.exists():
            output.seek(0)
            raise RuntimeError(output.read()[-4000:])
    wall, cpu = perf_counter() - started, usage.ru_utime + usage.ru_stime
    return wall, cpu, usage.ru_maxrss / 2**20, json.loads(counts.read_text(encoding="utf-8"))


def ours(case: Comparison, location: Path) -> Run:
    """Run eyechart with an empty store."""
    command = [
        sys.executable, "-m", "pytest", "--pyargs", "eyechart.benchmarks", "-q", "-p", "no:cacheprovider",
        "-p", "tests.speed.peer.forwards", "-k", f"toybox/{SPLIT} and {case.protocol} and mllm", "--eye-offline",
        f"--eye-out={location / 'runs'}", f"--eye-store={location / 'store'}", *case.options,
    ]  # fmt: skip
    cost = run(command, location)
    (table,) = (location / "runs" / "latest" / "predictions").glob("*.csv")
    with table.open(encoding="utf-8", newline="") as lines:
        return Run(*cost, {line["key"]: line[case.column] for line in csv.DictReader(lines)})


def theirs(case: Comparison, location: Path, python: str) -> Run:
    """Run lmms-eval."""
    (location / "documents.json").write_text("\n".join(map(json.dumps, case.documents)), encoding="utf-8")
    (location / "utils.py").write_text(UTILS, encoding="utf-8")
    task = TASK.format(name=case.protocol, documents=location / "documents.json", rest=case.task)
    (location / f"{case.protocol}.yaml").write_text(task, encoding="utf-8")
    model = f"pretrained={packaged(MODEL)},device=cpu,device_map=cpu,dtype=float32"
    command = [
        python, str(COMMAND), "--model", "llava_hf", "--model_args", model, "--batch_size",
        "1", "--include_path", str(location), "--tasks", case.protocol, "--log_samples", "--output_path",
        str(location / "out"), *["--force_simple"] * (case.protocol == "posterior"),
    ]  # fmt: skip
    cost = run(command, location)
    (samples,) = (location / "out").rglob("*_samples_*.jsonl")
    answers = {}
    for line in map(json.loads, samples.read_text(encoding="utf-8").splitlines()):
        answers[case.documents[line["doc_id"]]["key"]] = answer(line["filtered_resps"], case)
    return Run(*cost, answers)


def answer(response: Any, case: Comparison) -> str:
    """Return an answer in the terms of eyechart's table; the choice with the smallest loss is lmms-eval's."""
    if case.protocol == "posterior":
        losses = [literal_eval(pair)[0] for pair in response]
        return str(losses.index(min(losses)))
    text = str(response).strip()
    return str(json.loads(text)["1"]) if case.protocol == "open_world" else text


def main(python: str, pairs: int) -> None:
    """Run the three protocols in turn, and print a table of medians."""
    with tempfile.TemporaryDirectory() as name:
        cases = [*comparisons(Path(name))]
        runs: list[list[tuple[Run, Run]]] = [[] for _ in cases]
        for number in range(pairs):
            for case, done in zip(cases, runs, strict=True):
                locations = [Path(name) / f"{case.protocol}-{number}-{side}" for side in ("ours", "theirs")]
                for location in locations:
                    location.mkdir()
                done.append((ours(case, locations[0]), theirs(case, locations[1], python)))
                print(note(case, done), file=sys.stderr, flush=True)
    print("| what | images | side | wall s | CPU s | GiB | passes | tokens | images encoded |\n|" + "---|" * 9)
    for case, done in zip(cases, runs, strict=True):
        for side, found in zip(("eyechart", "lmms-eval"), zip(*done, strict=True), strict=True):
            print(f"| {case.what} | {len(case.documents)} | {side} | {cells(found)} |")
    print("\n".join(note(case, done) for case, done in zip(cases, runs, strict=True)))


def cells(runs: tuple[Run, ...]) -> str:
    """Return the cells of one side."""
    costs = [f"{median(values):.1f}" for values in zip(*((one.wall, one.cpu) for one in runs), strict=True)]
    counts = [f"{runs[0].counts.get(name, 0):,}" for name in ("passes", "tokens", "images")]
    return " | ".join([*costs, f"{median(one.memory for one in runs):.2f}", *counts])


def note(case: Comparison, runs: list[tuple[Run, Run]]) -> str:
    """Return the ratios of a protocol and how many answers are the same."""
    our, their = runs[0]
    same = sum(our.answers[key] == text for key, text in their.answers.items())
    walls, cpus = ([getattr(b, what) / getattr(a, what) for a, b in runs] for what in ("wall", "cpu"))
    told = [f"{median(found):.1f} ({min(found):.1f}–{max(found):.1f})" for found in (walls, cpus)]
    return f"- {case.what}: wall {told[0]} times, CPU {told[1]} times; {same} of {len(their.answers)} answers are equal"


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3)
