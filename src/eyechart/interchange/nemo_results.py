"""Results of NeMo Evaluator: `results.jsonl`, a line for each problem and repeat, beside the bundle `eval-*.json`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import DataError
from eyechart.interchange.json_files import parse_json, read_file, read_lines
from eyechart.interchange.results import (
    ImportedAnswer,
    ImportedCase,
    ImportedMetric,
    as_text,
    check_case,
    flat_settings,
    hash_content,
    image_of,
    mean_by_key,
    safe_name,
)

TOOL, SAMPLES = "nemo_evaluator", "results.jsonl"
EXPECTED = "Expected a bundle eval-*.json of NeMo Evaluator with results.jsonl beside it."
REWARD, MEANS = "reward", ("mean_reward", "pass@1")
OWN_FIELDS = frozenset(("problem_idx", "repeat", "reward", "expected_answer", "model_response", "extracted_answer"))


class Benchmark(msgspec.Struct, kw_only=True):
    """A benchmark with its metrics."""

    name: str
    scores: dict[str, dict[str, Any]] = {}


class _Bundle(msgspec.Struct, kw_only=True):
    """The results of one benchmark."""

    benchmark: Benchmark
    config: dict[str, Any] = {}


def read_nemo(path: Path) -> ImportedCase:
    """Return the results of a bundle. Raises DataError if it or its lines are missing or damaged."""
    bundle = parse_json(read_file(path, EXPECTED), _Bundle, str(path), EXPECTED)
    lines = [check_line(line, location) for location, line in read_lines(path.with_name(SAMPLES), EXPECTED)]
    config, scores = bundle.config, bundle.benchmark.scores
    printed = next((scores[name].get("value") for name in MEANS if name in scores), None)
    values = mean_by_key([(as_text(line["problem_idx"]), float(line[REWARD])) for line in lines])
    other = [name for name in scores if name not in MEANS]
    return check_case(
        ImportedCase(
            tool=TOOL,
            source=path,
            benchmark=safe_name(bundle.benchmark.name),
            split=safe_name(as_text(config.get("split"))),
            model=as_text(config.get("model")) or "model",
            answers=tuple(map(read_answer, lines)),
            metrics=(ImportedMetric(name=REWARD, values=values, printed=printed),),
            settings=dict(flat_settings(config={name: config[name] for name in config if name != "model"})),
            notes=(f"{', '.join(other)} of the tool is not imported, since it is no mean",) if other else (),
        )
    )


def check_line(line: Mapping[str, Any], location: str) -> Mapping[str, Any]:
    """Return a line, which has a problem and a number. Raises DataError."""
    if "problem_idx" not in line or not isinstance(line.get(REWARD), int | float):
        raise DataError(f"{location}: there is no problem_idx, or no number as {REWARD}. {EXPECTED}")
    return line


def read_answer(line: Mapping[str, Any]) -> ImportedAnswer:
    """Return a line as an answer; a repeat is an epoch. The lines have no input, so that the id stands for it."""
    metadata = line.get("metadata") if isinstance(line.get("metadata"), Mapping) else {}
    assert isinstance(metadata, Mapping)
    response = as_text(line.get("model_response"))
    further = {name: as_text(value) for name, value in line.items() if name not in {*OWN_FIELDS, "metadata"}}
    return ImportedAnswer(
        key=as_text(line["problem_idx"]),
        content=hash_content(line["problem_idx"]),
        epoch=int(line.get("repeat") or 0),
        target=as_text(line.get("expected_answer")),
        prediction=as_text(line.get("extracted_answer")) or response,
        response=response,
        cluster=image_of(metadata),
        kept={f"metadata.{name}": as_text(value) for name, value in metadata.items()} | further,
    )


def bundles(paths: Sequence[Path]) -> list[Path]:
    """Return the bundles that paths stand for: files, or all bundles in a folder and below it.

    Raises DataError if a folder has none.
    """
    files_of_all: list[Path] = []
    for path in paths:
        files = sorted(path.rglob("eval-*.json")) if path.is_dir() else [path]
        if not files:
            raise DataError(f"{path} has no eval-*.json. {EXPECTED}")
        files_of_all += files
    return files_of_all
