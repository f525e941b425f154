"""Floors: values that metrics of a session must reach, independent of a baseline."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from unicodedata import normalize

from eyechart.errors import SpecError
from eyechart.messages.suggestions import did_you_mean
from eyechart.results.headlines import ANSWERED, headlines
from eyechart.results.records import Metric, Record, full_name

FORM = re.compile(
    r"(?P<where>[^/:\[\]<>=]+(?:/[^/:\[\]<>=]+)?/\w+):(?P<name>\w+)(?:\[(?P<labels>[^\],]*)(?:,(?P<subset>[^\]]*))?\])?(?P<sign>>=|<=)(?P<value>-?[0-9.]+)"
)


@dataclass(frozen=True)
class _Floor:
    """The minimum, or with `<=` the maximum, of a metric of a benchmark or split under a protocol."""

    text: str
    benchmark: str
    split: str
    protocol: str
    name: str
    labels: str
    subset: str
    is_maximum: bool
    value: float

    def covers(self, record: Record) -> bool:
        """Return whether a record is of the benchmark, the split and the protocol."""
        same = (normalize("NFC", record.benchmark), record.protocol) == (self.benchmark, self.protocol)
        return same and self.split in ("", normalize("NFC", record.split))

    def is_missing_in(self, record: Record) -> bool:
        """Return whether a record has no value of the metric although it has the label set."""
        return self.covers(record) and self.labels in ("", *record.data.labels) and not any(self.metrics(record))

    def metrics(self, record: Record) -> Iterator[Metric]:
        """Yield the metrics of a record that the floor applies to."""
        if self.covers(record):
            named = [m for m in record.metrics if m.name == self.name and self.labels in ("", m.labels)]
            if self.subset:
                yield from (metric for metric in named if metric.subset_text == self.subset)
            else:
                yield from headlines(named) or named

    def is_missed(self, metric: Metric) -> bool:
        """Return whether a metric is on the wrong side of the floor, or has no value."""
        if metric.value is None:
            return True
        return metric.value > self.value if self.is_maximum else metric.value < self.value


def parse_floor(text: str) -> _Floor:
    """Parse a floor, such as `imagenet/zero_shot:acc1>=0.62` or `imagenet/val/zero_shot:acc1[ReGT]>=0.7`.

    Raises SpecError for another text.

    >>> parse_floor("imagenet/zero_shot:acc1>=0.62").value
    0.62
    >>> parse_floor("pets/zero_shot:log_score>=-1.5").value
    -1.5
    >>> parse_floor("pets/knn: acc1[original, brightness=up to 0.3] >= 0.62").subset
    'brightness=up to 0.3'
    """
    match = FORM.fullmatch(re.sub(r" (?![^\[]*\])", "", text))  # a slice, such as `brightness=up to 0.3`, keeps its own
    try:
        value = float(match["value"]) if match else None
    except ValueError:
        value = None
    if match is None or value is None:
        raise SpecError(
            f"{text} is no floor. Write BENCHMARK/PROTOCOL:METRIC>=VALUE, such as "
            "imagenet/zero_shot:acc1>=0.62, with BENCHMARK/SPLIT for one split, METRIC[LABELS] for one label set and "
            "METRIC[LABELS,SUBSET] for one subset."
        )
    benchmark, *split, protocol = normalize("NFC", match["where"]).split("/")
    labels, subset = ((match[name] or "").strip() for name in ("labels", "subset"))
    is_maximum = match["sign"] == "<="
    return _Floor(text, benchmark, "".join(split), protocol, match["name"], labels, subset, is_maximum, value)


def find_missed_floors(
    floors: Iterable[_Floor], records: Iterable[Record]
) -> Iterator[tuple[_Floor, Record | None, Metric | None]]:
    """Yield each missed floor with its record and metric.

    The metric is None for a record without it, and both are None for a floor that applies to no record.
    """
    records = list(records)
    for floor in floors:
        metrics = [(record, metric) for record in records for metric in floor.metrics(record)]
        yield from ((floor, record, metric) for record, metric in metrics if floor.is_missed(metric))
        is_known = any(floor.name == metric.name for record in records for metric in record.metrics)
        lacking = [record for record in records if floor.is_missing_in(record) and (is_known or _has_no_score(record))]
        yield from ((floor, record, None) for record in lacking)
        if not metrics and not lacking:
            yield floor, None, None


def _has_no_score(record: Record) -> bool:
    """Return whether a record has no metric but the proportion of samples that were answered."""
    return all(metric.name == ANSWERED for metric in record.metrics)


def suggest_names(floor: _Floor, records: Iterable[Record]) -> str:
    """Return the end of a sentence about a floor that applies to no record: similar names, if there are any."""
    known = {
        f"{record.benchmark}{split}/{record.protocol}:{metric.name}" + f"[{metric.labels}]" * bool(floor.labels)
        for record in records
        for split in ("", f"/{record.split}")
        for metric in record.metrics
    }
    where = "/".join(filter(None, (floor.benchmark, floor.split, floor.protocol)))
    return did_you_mean(f"{where}:{floor.name}" + f"[{floor.labels}]" * bool(floor.labels), sorted(known))


def describe_missed_floor(floor: _Floor, record: Record, metric: Metric | None) -> str:
    """Return that a metric is on the wrong side of a floor, or has no value."""
    if metric is None:
        named = full_name(floor.name, floor.labels, floor.subset)
        reason = "has no value (n=0): no sample of it was scored"
        return f"{record.case} ({record.protocol}): {named} {reason}, and --eye-floor={floor.text}."
    value = "has no value" if metric.value is None else f"is {metric.value:.4f}"
    name = metric.full_name
    hint = f" Values are fractions: 62 % is 0.62, and {floor.value:g} is more than all." if floor.value >= 2 else ""
    return f"{record.case} ({record.protocol}): {name} {value} (n={metric.n}), and --eye-floor={floor.text}.{hint}"
