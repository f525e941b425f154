"""Results and a model card for the hub: what huggingface_hub reads back is what the run has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries

from eyechart.errors import ReportError
from eyechart.reports.exports import model_card
from eyechart.reports.runs import load

FILES = Path(__file__).parents[2] / "interchange" / "files"
Export = Callable[..., list[Path]]


def test_results_of_the_hub_are_read_back(import_files: Any, export: Export) -> None:
    run = import_files("inspect", FILES / "inspect" / "before.eval")
    results, card = export("hub", run, "--dataset=shapes=me/shapes", "--source-url=https://example.org/run")
    assert results.parts[-2:] == (".eval_results", "shapes.yaml")
    (entry,) = parse_eval_result_entries(yaml.safe_load(results.read_text(encoding="utf-8")))
    assert (entry.dataset_id, entry.task_id, entry.value) == ("me/shapes", "shapes", 82.5)
    assert entry.notes == "choice (target) in %, 95 % interval 74.72 to 88.26, n=120, protocol inspect_ai"
    assert entry.source_url == "https://example.org/run"
    read = ModelCard.load(card)
    (result,) = read.data.eval_results
    assert (read.data.model_name, result.metric_value, result.dataset_type) == ("mockllm/before", 82.5, "me/shapes")
    assert "| shapes/shapes | inspect_ai | choice | target | 0.8250 | 0.7472 to 0.8826 | 120 |" in read.text


def test_without_huggingface_hub_the_message_has_the_remedy(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_card, "find_spec", lambda name: None)
    with pytest.raises(ReportError, match=r"need huggingface_hub: pip install 'eyechart\[hub\]'"):
        list(model_card.export_hub(load([run_folder]), {}, None))


def test_the_main_metric_of_the_hub_may_be_better_if_lower(import_files: Any, export: Export) -> None:
    run = import_files("inspect", FILES / "inspect" / "before.eval", "--lower-is-better=choice")
    results, _ = export("hub", run, "--dataset=shapes=me/shapes")
    (entry,) = parse_eval_result_entries(yaml.safe_load(results.read_text(encoding="utf-8")))
    assert entry.value == 82.5
    assert entry.notes.startswith("choice (target) in %, lower is better, 95 % interval")


def test_several_models_have_a_folder_each(run_folder: Path, export: Export) -> None:
    paths = export("hub", run_folder, "--dataset=imagenet=org/imagenet")
    assert len(paths) == 6
    assert len({path.relative_to(paths[0].parents[2]).parts[0] for path in paths}) == 3
