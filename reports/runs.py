"""Runs as reports see them: the records of one or more folders, put into groups that may be compared."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from eyechart.data.dataset import ORIGINAL
from eyechart.errors import ReportError, SpecError
from eyechart.records import Metric, Record, Run, read_run
from eyechart.spec import did_you_mean, parse

from .answers import Answered, read_answers

RULES = ("equivalences", "categories", "empty")
# As the published tables have them: answers in words first, then prompts, then classifiers that saw the labels.
FAMILIES: Mapping[str, int] = {"zero_shot": 1, "knn": 2, "supervised": 3}


@dataclass(frozen=True)
class Entry:
    """One record, with the folder its files lie in."""

    record: Record
    folder: Path

    @property
    def model(self) -> str:
        """The model's name: Mill's spelling for open_clip, the specification for all else."""
        return model_name(self.record.model.spec)

    @property
    def rules(self) -> tuple[str, ...]:
        """How labels were read."""
        return tuple(self.record.variant.get(rule, "") for rule in RULES)

    @property
    def wording(self) -> str:
        """How the question was put."""
        chosen = {name: value for name, value in sorted(self.record.variant.items()) if name not in RULES}
        return ", ".join(f"{name} {value}" for name, value in chosen.items())

    @property
    def labels(self) -> tuple[str, ...]:
        """The ground truths, in the order they were scored."""
        return tuple(dict.fromkeys(metric.labels for metric in self.record.metrics if metric.name == "acc1"))

    @cached_property
    def answers(self) -> Answered:
        """What the model said to every image, and what each ground truth says to it."""
        return read_answers(self.record, self.folder)

    def metric(self, name: str, labels: str, category: str = "A") -> Metric | None:
        """One number of the record."""
        wanted = (name, labels, category)
        found = (m for m in self.record.metrics if (m.name, m.labels, m.category) == wanted)
        return next(found, None)


@dataclass(frozen=True)
class Group:
    """Entries that answered the same images and were scored by the same rules: rows of one table."""

    entries: tuple[Entry, ...]

    @property
    def benchmark(self) -> str:
        """The benchmark and split, as `imagenet/val`."""
        record = self.entries[0].record
        return f"{record.benchmark}/{record.split}"

    @property
    def size(self) -> int:
        """How many images were asked about."""
        return self.entries[0].record.data.n

    @property
    def title(self) -> str:
        """The benchmark and how much of it."""
        record = self.entries[0].record
        limited = "" if record.limit is None else f", a choice of {record.limit:,} with seed {record.seed}"
        return f"{self.benchmark}{limited}"

    @property
    def reference(self) -> str:
        """The ground truth that the others are compared with: the original labels, where there are any."""
        names = self.labels
        return ORIGINAL if ORIGINAL in names or not names else names[0]

    @property
    def labels(self) -> tuple[str, ...]:
        """Every ground truth that an entry was scored under."""
        return tuple(dict.fromkeys(name for entry in self.entries for name in entry.labels))

    @property
    def others(self) -> tuple[str, ...]:
        """Every ground truth but the reference."""
        return tuple(name for name in self.labels if name != self.reference)

    def under(self, *labels: str) -> tuple[Entry, ...]:
        """The entries that were scored under all of these ground truths."""
        return tuple(entry for entry in self.entries if {*labels} <= {*entry.labels})

    def tasks(self) -> Mapping[int, str]:
        """What stands in the column Task, by the entry's identity; a letter where a protocol has several wordings."""
        seen: dict[str, list[str]] = {}
        for entry in self.entries:
            wordings = seen.setdefault(entry.record.protocol, [])
            if entry.wording not in wordings:
                wordings.append(entry.wording)
        return {id(entry): lettered(entry, seen[entry.record.protocol]) for entry in self.entries}

    def notes(self) -> tuple[str, ...]:
        """Which images, protocols, wordings, rules and ground truths the numbers come from."""
        tasks = self.tasks()
        put = dict.fromkeys(f"{tasks[id(entry)]}: {entry.wording or 'no prompts'}." for entry in self.entries)
        rules = "; ".join(f"{name} {value}" for name, value in zip(RULES, self.entries[0].rules, strict=True))
        fingerprint = self.entries[0].record.data.fingerprint
        said = f"{self.title}: {self.size:,} images, fingerprint {fingerprint[:12]}; {rules}."
        return (said, *put, *self.truths())

    def truths(self) -> tuple[str, ...]:
        """The sha256 of each ground truth, and which of them is not one and the same for all rows."""
        hashes = {
            name: dict.fromkeys(entry.record.data.labels.get(name, "") for entry in self.under(name))
            for name in self.labels
        }
        named = "; ".join(f"{name} {' and '.join(sha[:12] for sha in found)}" for name, found in hashes.items())
        mixed = [name for name, found in hashes.items() if len(found) > 1]
        warning = f"Not comparable: the runs have different files for {', '.join(mixed)}."
        return (f"Ground truths: {named}.", *((warning,) if mixed else ()))


@dataclass(frozen=True)
class Pool:
    """Everything the runs hold, later runs winning, and what was said on the way."""

    groups: tuple[Group, ...]
    runs: tuple[tuple[Path, Run], ...]
    notes: tuple[str, ...]

    def chosen(self, labels: str | None) -> tuple[tuple[Group, tuple[str, ...]], ...]:
        """Each group with the ground truths to make tables of: the named one, or all but the original labels."""
        known = dict.fromkeys(name for group in self.groups for name in group.labels)
        if labels is not None and labels not in known:
            raise ReportError(
                f"No record was scored under the ground truth '{labels}'{did_you_mean(labels, [*known])} "
                f"There are: {', '.join(known)}. Make it with: pytest --eye-labels={labels}=FILE"
            )
        picked = ((group, group.others if labels is None else (labels,)) for group in self.groups)
        return tuple(
            (group, names) for group, found in picked if (names := tuple(n for n in found if n in group.labels))
        )


def load(paths: Sequence[Path]) -> Pool:
    """Read runs; of two records for one case, protocol and variant, that of the later run is kept, and it is said."""
    found: dict[tuple[object, ...], Entry] = {}
    runs, notes = [], []
    for path in paths:
        records = read_run(path)
        folder = path.parent if path.suffix == ".json" else path
        runs.append((folder, records.run))
        for record in records.records:
            key = (record.case, record.protocol, *sorted(record.variant.items()))
            if key in found:
                notes.append(f"{record.case} ({record.protocol}): the record of {folder} replaces an earlier run's.")
            found[key] = Entry(record, folder)
    if not found:
        raise ReportError(f"{paths[-1]} holds no record. Run the suite first: pytest -k imagenet")
    said = (note for entry in found.values() for note in entry.record.notes)
    return Pool(grouped(found.values()), tuple(runs), tuple(dict.fromkeys([*notes, *said])))


def grouped(entries: Iterable[Entry]) -> tuple[Group, ...]:
    """Put together what may be compared, each group in the order of the published tables."""
    groups: dict[tuple[object, ...], list[Entry]] = {}
    for entry in entries:
        record = entry.record
        key = (record.benchmark, record.split, record.data.fingerprint, *entry.rules)
        groups.setdefault(key, []).append(entry)
    return tuple(Group(tuple(sorted(groups[key], key=order))) for key in sorted(groups, key=str))


def order(entry: Entry) -> tuple[int, float, str]:
    """By family of protocols, then by accuracy, then by name."""
    first = entry.metric("acc1", entry.labels[0]) if entry.labels else None
    accuracy = first.value if first and first.value is not None else -1.0
    return FAMILIES.get(entry.record.protocol, 0), accuracy, entry.model


def lettered(entry: Entry, wordings: Sequence[str]) -> str:
    """A protocol, with a letter where several wordings of it stand in one table."""
    place = wordings.index(entry.wording)
    mark = chr(ord("a") + place) if place < 26 else str(place)
    return f"{entry.record.protocol} ({mark})" if len(wordings) > 1 else entry.record.protocol


def model_name(spec: str) -> str:
    """Mill's id for open_clip models, `ViT-B-32/laion2b_s34b_b79k`; the specification itself for all else."""
    try:
        model = parse(spec)
    except SpecError:
        return spec
    if model.backend != "open_clip" or len(model.arguments) != 1:
        return spec
    rest = [f"{name}={value}" for name, value in sorted(model.options.items()) if name != "pretrained"]
    name = "/".join(filter(None, (model.arguments[0], model.options.get("pretrained", ""))))
    return f"{name}[{','.join(rest)}]" if rest else name
