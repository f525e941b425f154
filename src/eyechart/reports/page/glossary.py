"""The sentences that the page shows as a legend and beside names."""

from collections.abc import Iterable

from eyechart.protocol.registry import find_protocol
from eyechart.results.glossary import INTERVALS, describe_label_set, describe_metric, describe_subset
from eyechart.results.records import Record

SECTIONS = ("metrics", "labels", "subsets", "protocols", "intervals")


def glossary_entries(records: Iterable[Record]) -> dict[str, dict[str, str]]:
    """Return the sentences about all that some records name, by kind and name; unknown names are left out."""
    entries: dict[str, dict[str, str]] = {kind: {} for kind in SECTIONS}
    for record in records:
        entries["protocols"][record.protocol] = _describe_protocol(record.protocol)
        for metric in record.metrics:
            entries["metrics"][metric.name] = describe_metric(metric.name)
            entries["labels"][metric.labels] = describe_label_set(metric.labels)
            entries["subsets"][metric.subset_text] = describe_subset(metric)
            entries["intervals"][metric.ci_method] = INTERVALS.get(metric.ci_method, "")
    return {kind: {name: text for name, text in sorted(words.items()) if text} for kind, words in entries.items()}


def _describe_protocol(name: str) -> str:
    """Return the sentence about a protocol; a name that is not registered is that of another tool."""
    protocol = find_protocol(name)
    return protocol.summary if protocol else f"Imported results of {name}, with its own prompts and scores."
