"""The prompts of a case, read from the packaged ones that its record names with the start of their sha256."""

import csv
import re
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any

from eyechart.classification.image_batches import format_class_list
from eyechart.data.class_names import load_class_names, load_templates
from eyechart.data.dataset import Dataset
from eyechart.errors import EyechartError
from eyechart.protocol.prompts import get_prompt, prompt_names
from eyechart.realbirdid.abstention import REASON_LIST
from eyechart.records import Record

from ..run_files import read_verified
from ..runs import CaseRun

NAMED = re.compile(r"([\w.-]+) \(([0-9a-f]{8})\)")  # such as "existence (82107dae)"
EXTRACTION, TEMPLATES, WORDINGS = "extraction_prompt", "templates", "wordings"
QUESTIONS = {"existence": ("positive", "negative"), "progression": ("existence", "counting", "logic")}  # by protocol
MAX_LISTED = 3  # templates


def prompt_texts(case: CaseRun, dataset: Dataset | None) -> list[dict[str, Any]]:
    """Return each prompt of a case, with the values of the slots that are the same for all images.

    `asks` is the kind of question that the prompt is for; "" for every image. Prompts that are not packaged, or have
    changed, are left out. `slots` is None for templates of class names.
    """
    return [
        *question_prompts(case, dataset),
        *stored_prompts(case),
        *extraction_prompts(case.record),
        *templates(case.record),
    ]


def question_prompts(case: CaseRun, dataset: Dataset | None) -> Iterator[dict[str, Any]]:
    """Yield the prompts about an image."""
    record = case.record
    prompts = NAMED.findall(record.variant.get("prompt", ""))
    kinds = QUESTIONS.get(record.protocol, ("",) * len(prompts))
    for (name, digest), kind in zip(prompts, kinds, strict=False):
        if text := packaged_text(name, digest):
            yield {"name": name, "asks": kind, "text": text, "slots": class_list(record, text, dataset)}


def class_list(record: Record, text: str, dataset: Dataset | None) -> dict[str, str]:
    """Return the slot of class names as it was filled; {} if the prompt has none, or the names are not known."""
    if "{class_list}" not in text or dataset is None:
        return {}
    names = prompt_class_names(record.variant.get("names", ""), dataset)
    if len(names) != dataset.classes:
        return {}
    listed = [names[index] for index in dataset.subset or range(dataset.classes)]
    answer = "id" if record.variant.get("answer") == "id" else "name"  # a constrained answer is a name
    return {"class_list": format_class_list(listed, answer)}


def prompt_class_names(source: str, dataset: Dataset) -> Sequence[str]:
    """Return the class names that a record names: the split's own, or packaged ones that are as they were."""
    if source == "split":
        return dataset.names
    for name, digest in NAMED.findall(source):
        try:
            names = load_class_names(name)
        except EyechartError:
            return ()
        return names.names if names.sha256.startswith(digest) else ()
    return ()


def packaged_text(name: str, digest: str) -> str:
    """Return the text of a packaged prompt; "" if there is none, or it is not as it was in the run."""
    prompt = get_prompt(name) if name in prompt_names() else None
    return prompt.text.strip() if prompt and prompt.sha256.startswith(digest) else ""


def stored_prompts(case: CaseRun) -> Iterator[dict[str, Any]]:
    """Yield the prompts that a case stored, such as those of abstention."""
    if (file := case.record.artifacts.get(WORDINGS)) is not None:
        text = read_verified(case.folder / file.path, case.folder, file)
        for row in csv.DictReader(StringIO(text, newline="")):
            name = f"{row['level']}/{row['wording']}"
            yield {"name": name, "asks": name, "text": row["text"], "slots": {}}


def extraction_prompts(record: Record) -> Iterator[dict[str, Any]]:
    """Yield the prompt by which the answer is extracted from a response."""
    for name, digest in NAMED.findall(record.variant.get(EXTRACTION, "")):
        if text := packaged_text(name, digest):
            yield {"name": name, "asks": "", "text": text, "slots": {"reason_list": REASON_LIST}}


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
