"""What the page of 50,000 images and ten models takes to write, to show itself and to filter, over what is allowed."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from eyechart.classification.metrics.class_estimates import _accuracy_estimate
from eyechart.results.evidence import Evidence, collect_evidence
from eyechart.results.records import DataRecord, File, Metric, ModelRecord, OutcomeCounts, Record, Records, Run, encode

IMAGES, MODELS, CLASSES = 50_000, 10, 1000
LABELS = ("ImGT", "ReGT")
VIEW, FILTER, WRITING = 2.0, 0.2, 25.0  # seconds; writing in processor time
MEMORY = 500e6  # bytes
VIEWS = {"overview": "", "samples": "#/samples/imagenet/val"}
FILTERS = {
    "wrong under ImGT, right under ReGT": "&flip=ImGT>ReGT",
    "models disagree": "&disagree=1",
    "wrong": "&outcome=wrong&who=clip%5Bm3%5D",
    "category": "&labels=ReGT&category=single_label_other",
    "text": "&find=n0001",
    "changed": "&changed=lost",
    "lost by a number": "&changed=lost&of=acc1+(ReGT,+A)",
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def facts(pairs: int) -> Iterator[str]:
    """The costs of writing, and the slowest view and filter, over what is allowed."""
    with tempfile.TemporaryDirectory() as folder:
        runs = made(Path(folder))
        for what in (*written(runs, Path(folder) / "page"), *measured(Path(folder) / "page" / "index.html", pairs)):
            yield f"page of {IMAGES:,} x {MODELS}: {what}"


def made(folder: Path) -> list[Path]:
    """Two runs, of which the second is a little worse."""
    return [run(folder / name, worse) for name, worse in (("one", 0.0), ("two", 0.01))]


def written(runs: list[Path], out: Path) -> Iterator[str]:
    """Write the page of two runs, without images, in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "eyechart", "page", *runs, f"--out={out}"], check=True, capture_output=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    yield f"writing, share of {WRITING} s of processor time: {seconds / WRITING:.2f}"
    yield f"writing, share of {MEMORY / 1e6:.0f} MB: {used.ru_maxrss * 1024 / MEMORY:.2f}"


def run(folder: Path, worse: float) -> Path:
    """A run whose answers are drawn."""
    random = np.random.default_rng(0)
    truth = random.integers(0, CLASSES, IMAGES)
    other = np.where(random.random(IMAGES) < 0.2, (truth + 1) % CLASSES, truth)
    records = tuple(record(folder, f"clip[m{index}]", truth, other, random, worse) for index in range(MODELS))
    head = Run(eyechart="0.1.0", started=f"2026-01-0{1 + bool(worse)}T00:00:00+00:00", seconds=1.0, exit_status=0,
               workers=0, loads=MODELS, command="pytest")  # fmt: skip
    (folder / "records.json").write_bytes(encode(Records(run=head, records=records)))
    return folder


def record(folder: Path, model: str, truth: Any, other: Any, random: Any, worse: float) -> Record:
    """One case, with its csv."""
    draws = np.random.default_rng(sum(map(ord, model))).random(IMAGES)
    lost = random.random(IMAGES) < worse
    answers = np.where((draws < 0.3) | lost, (truth + 7) % CLASSES, np.where(draws < 0.65, truth, other))
    right = {"ImGT": answers == truth, "ReGT": answers == other}
    given = [
        _accuracy_estimate("acc1", name, np.where(mask, hits, np.nan), category)
        for name, hits in right.items()
        for category, mask in (
            ("all", truth >= 0),
            ("single_label_original", truth == other),
            ("single_label_other", truth != other),
        )
    ]
    found, planes = collect_evidence(given)
    slug = sha256(model.encode()).hexdigest()[:8]
    case: dict[str, Any] = {
        "case": f"imagenet/val/{model}",
        "protocol": "zero_shot",
        "variant": {},
        "limit": None,
        "seed": 42,
    }
    evidence = Evidence(
        **case, model=model, weights_sha256="0" * 64, fingerprint="f" * 64, label_hashes=dict.fromkeys(LABELS, "0"),
        samples=IMAGES, keys=tuple(map(key, range(IMAGES))), environment={}, metrics=found, arrays=planes,
    )  # fmt: skip
    return Record(
        **case, benchmark="imagenet", split="val",
        model=ModelRecord(spec=model, backend="clip", revision="", weights_sha256="0" * 64, dtype="float32"),
        data=DataRecord(fingerprint="f" * 64, n=IMAGES, expected_n=IMAGES, labels=dict.fromkeys(LABELS, "0")),
        outcomes=OutcomeCounts(), metrics=tuple(each.metric for each in given), evidence=kept(
            folder, f"evidence/{slug}.json", encode(evidence)
        ), predictions=kept(folder, f"predictions/{slug}.csv", "".join(lines(truth, other, answers)).encode()),
    )  # fmt: skip


def acc1(labels: str, category: str, hits: Any) -> Metric:
    """How many answers are right."""
    ci = (0.1, 0.9)
    return Metric(name="acc1", labels=labels, subset=category, value=float(hits.mean()), n=len(hits),
                  n_clusters=len(hits), ci=ci, ci_method="wilson")  # fmt: skip


def kept(folder: Path, path: str, content: bytes) -> File:
    """Put a file into the run's folder."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content)
    return File(path=path, sha256=sha256(content).hexdigest())


def key(row: int) -> str:
    """The key of an image."""
    return f"n{row % CLASSES:04d}/ILSVRC2012_val_{row:08d}"


def lines(truth: Any, other: Any, answers: Any) -> Iterator[str]:
    """The csv of a case of zero shot."""
    tops = [f"{what}{rank}" for what in ("top", "score") for rank in range(1, 6)]
    heads = [f"{name}.{what}" for name in LABELS for what in ("labels", "category", "correct")]
    yield ",".join(["key", "label", *tops, "error", *heads]) + "\n"
    for row, (one, two, said) in enumerate(zip(truth.tolist(), other.tolist(), answers.tolist(), strict=True)):
        best = ",".join(str((said + rank) % CLASSES) for rank in range(5))
        kind = "original" if one == two else "other"
        truths = f"{one},single_label_original,{int(said == one)},{two},single_label_{kind},{int(said == two)}"
        yield f"{key(row)},{one},{best},0.9,0.5,0.4,0.3,0.2,,{truths}\n"


def measured(page: Path, pairs: int) -> Iterator[str]:
    """Open the views afresh, and filter in one that is open."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        alone = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=path, args=alone)
        for name, hash_ in VIEWS.items():
            share = median(shown(browser, page, hash_) for _ in range(pairs)) / VIEW
            yield f"first view of {name}, share of {VIEW} s: {share:.2f}"
        window = browser.new_page()
        window.goto(page.as_uri() + VIEWS["samples"])
        window.locator(".found").wait_for()
        for name, params in FILTERS.items():
            share = median(window.evaluate(TIMED, params) for _ in range(pairs)) / 1000 / FILTER
            yield f"filter '{name}', share of {FILTER} s: {share:.2f}"
        browser.close()


# From the change of the address until what follows from it is on the screen.
TIMED = """async (params) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  location.hash = "#/samples/imagenet/val";
  await frame(); await frame();
  const started = performance.now();
  location.hash = "#/samples/imagenet/val?" + params;
  await new Promise((done) => addEventListener("hashchange", done, { once: true }));
  await frame();
  return performance.now() - started;
}"""


def shown(browser: Any, page: Path, hash_: str) -> float:
    """Seconds from the start of a page until its view is there."""
    window = browser.new_context().new_page()
    window.goto(page.as_uri() + hash_)
    window.locator(".cards li, .since tbody tr").first.wait_for()
    seconds = float(window.evaluate("performance.now()")) / 1000
    window.context.close()
    return seconds
