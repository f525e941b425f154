"""Floors: numbers that a session must reach, whatever a baseline says."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from eyechart.errors import SpecError
from eyechart.gate.headlines import ANSWERED, headlines
from eyechart.records import Metric, Record
from eyechart.spec import did_you_mean

FORM = re.compile(
    r"(?P<where>[\w.-]+(?:/[\w.-]+)?/\w+):(?P<name>\w+)(?:\[(?P<labels>[^\],]*)(?:,(?P<category>[^\]]*))?\])?(?P<sign>>=|<=)(?P<value>[0-9.]+)"
)


@dataclass(frozen=True)
class Floor:
    """The least, or with `<=` the most, that a number may be, in a benchmark or a split, under a protocol."""

    text: str
    benchmark: str
    split: str
    protocol: str
    name: str
    labels: str
    category: str
    is_maximum: bool
    value: float

    def covers(self, record: Record) -> bool:
        """Whether a record is of the benchmark, the split and the protocol."""
        here = (record.benchmark, record.protocol) == (self.benchmark, self.protocol)
        return here and self.split in ("", record.split)

    def is_missing_in(self, record: Record) -> bool:
        """Whether a record has no number that the floor is about, although it has the ground truth."""
        return self.covers(record) and self.labels in ("", *record.data.labels) and not any(self.metrics(record))

    def metrics(self, record: Record) -> Iterator[Metric]:
        """The numbers of a record that it is about."""
        if self.covers(record):
            named = [each for each in record.metrics if each.name == self.name and self.labels in ("", each.labels)]
            if self.category:
                yield from (each for each in named if each.category == self.category)
            else:
                yield from headlines(named) or named

    def is_missed(self, metric: Metric) -> bool:
        """Whether a number is on the wrong side, or is not there."""
        if metric.value is None:
            return True
        return metric.value > self.value if self.is_maximum else metric.value < self.value


def parse_floor(text: str) -> Floor:
    """Read a floor, such as `imagenet/zero_shot:acc1>=0.62` or `imagenet/val/zero_shot:acc1[ReGT]>=0.7`.

    >>> parse_floor("imagenet/zero_shot:acc1>=0.62").value
    0.62
    """
    found = FORM.fullmatch(text.replace(" ", ""))
    try:
        value = float(found["value"]) if found else None
    except ValueError:
        value = None
    if found is None or value is None:
        raise SpecError(
            f"{text} is no floor. Write BENCHMARK/PROTOCOL:METRIC>=VALUE, such as "
            "imagenet/zero_shot:acc1>=0.62, with BENCHMARK/SPLIT for one split, METRIC[LABELS] for one truth and "
            "METRIC[LABELS,CATEGORY] for one category."
        )
    benchmark, *split, protocol = found["where"].split("/")
    labels, category = found["labels"] or "", found["category"] or ""
    most = found["sign"] == "<="
    return Floor(text, benchmark, "".join(split), protocol, found["name"], labels, category, most, value)


def find_missed_floors(
    floors: Iterable[Floor], records: Iterable[Record]
) -> Iterator[tuple[Floor, Record | None, Metric | None]]:
    """Every number on the wrong side of a floor; a record without its number, and a floor about nothing, with None."""
    every = list(records)
    for each in floors:
        numbers = [(record, metric) for record in every for metric in each.metrics(record)]
        yield from ((each, record, metric) for record, metric in numbers if each.is_missed(metric))
        known = any(each.name == metric.name for record in every for metric in record.metrics)
        lacking = [record for record in every if each.is_missing_in(record) and (known or has_no_score(record))]
        yield from ((each, record, None) for record in lacking)
        if not numbers and not lacking:
            yield each, None, None


def has_no_score(record: Record) -> bool:
    """Return whether a record has no number but the share of samples that were answered."""
    return all(metric.name == ANSWERED for metric in record.metrics)


def suggest_names(missed: Floor, records: Iterable[Record]) -> str:
    """End a sentence about a floor that is about nothing with the names that it may have meant."""
    known = {
        f"{record.benchmark}{split}/{record.protocol}:{metric.name}"
        for record in records
        for split in ("", f"/{record.split}")
        for metric in record.metrics
    }
    return did_you_mean(re.split(r"[\[<>]", missed.text.replace(" ", ""))[0], sorted(known))


def describe_missed_floor(broken: Floor, record: Record, metric: Metric | None) -> str:
    """Say that a number is on the wrong side of its floor, or is not there."""
    if metric is None:
        of = ", ".join(filter(None, (broken.labels, broken.category)))
        named = f"{broken.name} ({of})" if of else broken.name
        reason = "has no value (n=0): no sample of it was scored"
        return f"{record.case} ({record.protocol}): {named} {reason}, and --eye-floor={broken.text}."
    found = "has no value" if metric.value is None else f"is {metric.value:.4f}"
    which = f"{metric.name} ({metric.labels}, {metric.category})"
    hint = f" Values are fractions: 62 % is 0.62, and {broken.value:g} is more than all." if broken.value >= 2 else ""
    return f"{record.case} ({record.protocol}): {which} {found} (n={metric.n}), and --eye-floor={broken.text}.{hint}"
