"""The prompts of a case. Its record names them with the start of their sha256; eyechart or the run has their texts."""

import csv
from collections.abc import Iterator
from io import StringIO
from typing import Any

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.labels.class_names import load_templates
from eyechart.errors import EyechartError
from eyechart.protocol.imported import recorded_protocol
from eyechart.protocol.prompts import NAMED, TEXTS, get_prompt, prompt_names
from eyechart.reports.runs import CaseRun
from eyechart.results.records import Record
from eyechart.results.run_files import read_verified

EXTRACTION, TEMPLATES, WORDINGS = "extraction_prompt", "templates", "wordings"
MAX_LISTED = 3  # templates


def prompt_texts(case: CaseRun, dataset: Dataset | None) -> list[dict[str, Any]]:
    """Return each prompt of a case, with the values of the slots that are the same for all images.

    `asks` is the kind of question that the prompt is for; "" for every image. Packaged prompts that have changed are
    left out. `slots` is None for templates of class names.
    """
    return [
        *_question_prompts(case, dataset),
        *_stored_prompts(case),
        *_extraction_prompts(case.record, dataset),
        *templates(case.record),
    ]


def _question_prompts(case: CaseRun, dataset: Dataset | None) -> Iterator[dict[str, Any]]:
    """Yield the prompts about an image."""
    record, protocol = case.record, recorded_protocol(case.record.protocol)
    own = {row["sha256"][:8]: row["text"].strip() for row in _read_table(case, TEXTS)}
    for name, digest in NAMED.findall(record.variant.get("prompt", "")):
        if text := own.get(digest) or _packaged_text(name, digest):
            slots = protocol.prompt_slots(text, record.variant, dataset)
            yield {"name": name, "asks": protocol.prompt_kinds.get(name, ""), "text": text, "slots": slots}


def _packaged_text(name: str, digest: str) -> str:
    """Return the text of a packaged prompt; "" if there is none, or it is not as it was in the run."""
    prompt = get_prompt(name) if name in prompt_names() else None
    return prompt.text.strip() if prompt and prompt.sha256.startswith(digest) else ""


def _stored_prompts(case: CaseRun) -> Iterator[dict[str, Any]]:
    """Yield the prompts that a case stored, such as those of abstention."""
    for row in _read_table(case, WORDINGS):
        name = f"{row['level']}/{row['wording']}"
        yield {"name": name, "asks": name, "text": row["text"], "slots": {}}


def _read_table(case: CaseRun, name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a further table of the case, none if there is no such table."""
    if (file := case.record.artifacts.get(name)) is not None:
        text = read_verified(case.folder / file.path, case.folder, file)
        yield from csv.DictReader(StringIO(text, newline=""))


def _extraction_prompts(record: Record, dataset: Dataset | None) -> Iterator[dict[str, Any]]:
    """Yield the prompt by which the answer is extracted from a response."""
    protocol = recorded_protocol(record.protocol)
    for name, digest in NAMED.findall(record.variant.get(EXTRACTION, "")):
        if text := _packaged_text(name, digest):
            slots = protocol.prompt_slots(text, record.variant, dataset)
            yield {"name": name, "asks": "", "text": text, "slots": slots}


def templates(record: Record) -> Iterator[dict[str, Any]]:
    """Yield the first of the packaged templates of class names, if they are as they were in the run."""
    for name, digest in NAMED.findall(record.variant.get(TEMPLATES, "")):
        try:
            known = load_templates(name)
        except EyechartError:
            return
        if known.sha256.startswith(digest):
            more = len(known.formats) - MAX_LISTED
            ending = [f"… and {more} more"] if more > 0 else []
            text = "\n".join([*known.formats[:MAX_LISTED], *ending])
            yield {"name": f"templates {name}", "asks": "", "text": text, "slots": None}
