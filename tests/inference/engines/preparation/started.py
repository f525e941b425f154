"""Processes that prepare images."""

from eyechart.data.dataset.dataset import Dataset
from eyechart.inference.engines.preparation.feed import PreparationProcesses
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec


def start(spec: str) -> PreparationProcesses:
    parsed = parse_spec(spec)
    return PreparationProcesses(create_model(parsed, device="cuda", offline=True), parsed, 2)


def wait(processes: PreparationProcesses, dataset: Dataset) -> None:
    """Let the processes start, and wait until they are ready."""
    [*processes.prefetch(dataset, range(2), 1)]
    for process in processes.processes:
        process.is_ready(wait=True)
