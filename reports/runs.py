"""Runs as reports see them: the records of one or more folders, put into groups that may be compared."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from eyechart.data.dataset import ORIGINAL
from eyechart.errors import ReportError, SpecError
from eyechart.records import EMPTY, Metric, Record, Run, empties, read_run
from eyechart.spec import did_you_mean, parse

from .answers import Answered, read_rounds
from .failures import mark_of
from .oodbench.pairs import Pairs, read_pairs
from .run_names import run_names

RULES = ("equivalences", "categories")
# As the published tables have them: answers in words first, then prompts, then classifiers that saw the labels.
FAMILIES: Mapping[str, int] = {"zero_shot": 1, "knn": 2, "supervised": 3}
TASKS: Mapping[str, str] = {  # as the published tables call them; any other protocol goes by its own name
    "closed_world": "CW",
    "closed_world_plus": "CW+",
    "open_world": "OW",
    "multiple_choice": "MC",
    "mcq": "MCQ",
}
SINGLE, REPEATED, CHOICES = "acc1", "repeated_acc", "mc_acc"  # of one answer an image, then means over rounds


class NothingToShowError(ReportError):
    """The runs have nothing of what a table is about; the sentence says how to make it."""


@dataclass(frozen=True)
class Entry:
    """One record, with the folder its files lie in, and what was `said` when it was chosen among several."""

    record: Record
    folder: Path
    said: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """The model's name: its alias, or Mill's spelling for open_clip, or the specification for all else."""
        return self.record.model.alias or model_name(self.record.model.spec)

    @property
    def rules(self) -> tuple[str, ...]:
        """How labels were read."""
        return tuple(self.record.variant.get(rule, "") for rule in RULES)

    @property
    def wording(self) -> str:
        """How the question was put."""
        return self.worded(())

    def worded(self, without: Collection[str]) -> str:
        """How the question was put, but for the choices that a table compares."""
        left_out = {*RULES, EMPTY, *without}
        chosen = {name: value for name, value in sorted(self.record.variant.items()) if name not in left_out}
        return ", ".join(f"{name} {value}" for name, value in chosen.items())

    def choice(self, name: str, default: str = "") -> str:
        """What was chosen of the protocol's choices."""
        return self.record.variant.get(name, default)

    @property
    def empties(self) -> dict[str, str]:
        """What an image without labels counts as under each ground truth."""
        return empties(self.record.variant)

    @property
    def truths(self) -> dict[str, tuple[str, str]]:
        """The sha256 of each ground truth, and its rule for images without labels."""
        return {name: (self.record.data.labels.get(name, ""), self.empties.get(name, "")) for name in self.labels}

    @property
    def headline(self) -> str:
        """The metric that says how many answers were right: of one answer an image, or the mean over several."""
        found = {metric.name for metric in self.record.metrics}
        return next((name for name in (SINGLE, REPEATED, CHOICES) if name in found), SINGLE)

    @property
    def labels(self) -> tuple[str, ...]:
        """The ground truths, in the order they were scored."""
        return tuple(dict.fromkeys(metric.labels for metric in self.record.metrics if metric.name == self.headline))

    @cached_property
    def rounds(self) -> tuple[Answered, ...]:
        """What the model said to every image in each of its rounds, and what each ground truth says to it."""
        return read_rounds(self.record, self.folder, self.labels, self.empties)

    @property
    def answers(self) -> Answered:
        """What the model said in its only round."""
        return self.rounds[0]

    @cached_property
    def pairs(self) -> Pairs:
        """What the model said to every image–category pair."""
        return read_pairs(self.record, self.folder)

    @property
    def question(self) -> tuple[str, ...]:
        """What was asked of whom about which images, and how labels are read."""
        record = self.record
        return (record.case, record.protocol, record.data.fingerprint, self.wording, *self.rules)

    def replaces(self, other: "Entry") -> bool:
        """Whether this is the other's case in the same variant; to have more ground truths is no other variant."""
        return self.question == other.question and agree(self.empties, other.empties)

    def beside(self, other: "Entry") -> bool:
        """Whether both may stand in one table: the same images, and one meaning for every ground truth they share."""
        mine, its = self.record, other.record
        same = (mine.benchmark, mine.split, mine.data.fingerprint) == (its.benchmark, its.split, its.data.fingerprint)
        return same and self.rules == other.rules and agree(self.truths, other.truths)

    def metric(self, name: str, labels: str, category: str = "A") -> Metric | None:
        """One number of the record."""
        wanted = (name, labels, category)
        found = (m for m in self.record.metrics if (m.name, m.labels, m.category) == wanted)
        return next(found, None)


@dataclass(frozen=True)
class Group:
    """Entries that answered the same images and were scored by the same rules: rows of one table."""

    entries: tuple[Entry, ...]
    number: int = 1
    said: tuple[str, ...] = ()

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
        again = f" ({self.number})" if self.number > 1 else ""
        return f"{self.benchmark}{limited}{again}"

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
        """The entries with one answer an image that were scored under all of these ground truths."""
        return tuple(entry for entry in self.entries if entry.headline == SINGLE and {*labels} <= {*entry.labels})

    def of(self, *protocols: str) -> "Group":
        """The entries of some protocols alone."""
        return self.only([entry for entry in self.entries if entry.record.protocol in protocols])

    def only(self, entries: Iterable[Entry], *said: str) -> "Group":
        """Some of the entries, and what there is to say about the choice."""
        return replace(self, entries=tuple(entries), said=(*self.said, *said))

    def tasks(self, without: Collection[str] = ()) -> Mapping[int, str]:
        """What stands in the column Task, by the entry's identity; a letter where a protocol has several wordings."""
        seen: dict[str, list[str]] = {}
        for entry in self.entries:
            wordings = seen.setdefault(entry.record.protocol, [])
            if entry.worded(without) not in wordings:
                wordings.append(entry.worded(without))
        return {id(e): lettered(e, seen[e.record.protocol], without) + mark_of(e.record) for e in self.entries}

    def names(self, without: Collection[str] = ()) -> Mapping[int, str]:
        """What stands in the column Model of a table without a column Task: the task only where there are several."""
        tasks = self.tasks(without)
        several = len({*tasks.values()}) > 1
        return {id(e): f"{e.model}, {tasks[id(e)]}" if several else e.model for e in self.entries}

    def notes(self, without: Collection[str] = ()) -> tuple[str, ...]:
        """Which images, protocols, wordings, rules and ground truths the numbers come from."""
        tasks = self.tasks(without)
        put = dict.fromkeys(f"{tasks[id(e)]}: {e.worded(without) or 'no prompts'}." for e in self.entries)
        read = [f"{name} {value}" for name, value in zip(RULES, self.entries[0].rules, strict=True) if value]
        fingerprint = self.entries[0].record.data.fingerprint
        said = "; ".join([f"{self.title}: {self.size:,} images, fingerprint {fingerprint[:12]}", *read])
        truths = f"Ground truths, and images without labels: {self.truths()}." if self.labels else self.divisions()
        return (*self.said, f"{said}.", *put, truths, *remarks(self.entries))

    def divisions(self) -> str:
        """What image–category pairs and birds are held against, with the beginning of its sha256."""
        found = dict.fromkeys(
            f"{name} {sha[:12]}" for entry in self.entries for name, sha in entry.record.data.labels.items()
        )
        return f"Divisions, annotations and observations: {'; '.join(found)}."

    def truths(self) -> str:
        """Each ground truth with the beginning of its sha256 and its rule for images without labels."""
        truths = {name: found for entry in self.entries for name, found in entry.truths.items()}
        return "; ".join(f"{name} {sha[:12]} {rule}".strip() for name, (sha, rule) in truths.items())


@dataclass(frozen=True)
class Pool:
    """Everything the runs hold, later runs winning, and what the command line adds.

    `annotations` are what annotators sent back, `references` the models that others are compared with.
    """

    groups: tuple[Group, ...]
    runs: tuple[tuple[Path, Run], ...]
    annotations: tuple[Path, ...] = ()
    references: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say of all records."""
        return remarks(self.entries)

    @property
    def entries(self) -> Iterator[Entry]:
        """All cases, group by group."""
        return (entry for group in self.groups for entry in group.entries)

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

    def each(self, labels: str | None) -> Iterator[tuple[Group, str]]:
        """As `chosen`, one at a time; a group that has nothing but the original labels comes with these."""
        found = {id(group): names for group, names in self.chosen(labels)}
        for group in self.groups:
            alone = () if labels else (group.reference,) * bool(group.labels)
            yield from ((group, name) for name in found.get(id(group), alone))


def remarks(entries: Iterable[Entry]) -> tuple[str, ...]:
    """What a reader of some cases' numbers must know, as their records say it, each sentence once."""
    return tuple(dict.fromkeys(note for entry in entries for note in (*entry.said, *entry.record.notes)))


def load(paths: Sequence[Path]) -> Pool:
    """Read runs; of two records for one case, protocol and variant, that of the later run is kept, and it is said."""
    found: list[Entry] = []
    read = [(path.parent if path.suffix == ".json" else path, read_run(path)) for path in paths]
    runs = tuple((folder, records.run) for folder, records in read)
    for (folder, records), name in zip(read, run_names(runs), strict=True):
        for record in records.records:
            entry = Entry(record, folder)
            kept = [other for other in found if not entry.replaces(other)]
            if len(kept) < len(found):
                said = f"{record.case} ({record.protocol}): the record of {name} replaces an earlier run's."
                entry = replace(entry, said=(said,))
            found = [*kept, entry]
    if not found:
        (folder, run), command = runs[-1], "pytest --pyargs eyechart.benchmarks"
        raise ReportError(
            f"{folder} holds no record: no case of that session recorded a number (exit status {run.exit_status}). "
            f"Look at what the session printed, or run the suite: {command}"
        )
    refuse_namesakes(found)
    return Pool(grouped(found), runs)


def refuse_namesakes(entries: Iterable[Entry]) -> None:
    """Refuse two models of one name that were asked the same, which no table could tell apart."""
    seen: dict[tuple[str, ...], str] = {}
    for entry in entries:
        record, spec = entry.record, entry.record.model.title
        asked = (entry.model, record.benchmark, record.split, record.protocol, entry.wording)
        if seen.setdefault(asked, spec) != spec:
            raise ReportError(
                f"{record.case}: two models are called {entry.model}, {seen[asked]} and {spec}. Give them different "
                "names, or leave one of the runs out."
            )


def grouped(entries: Iterable[Entry]) -> tuple[Group, ...]:
    """Put together what may be compared, each group in the order of the published tables."""
    groups: list[list[Entry]] = []
    for entry in sorted(entries, key=lambda entry: (entry.record.benchmark, entry.record.split)):
        home = next((group for group in groups if all(map(entry.beside, group))), None)
        if home is None:
            groups.append([entry])
        else:
            home.append(entry)
    made = [Group(tuple(sorted(group, key=order))) for group in groups]
    titles = [group.title for group in made]
    return tuple(replace(group, number=titles[: place + 1].count(group.title)) for place, group in enumerate(made))


def agree(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Whether two mappings say the same of what both speak of."""
    return all(one[name] == other[name] for name in one.keys() & other.keys())


def order(entry: Entry) -> tuple[int, float, str]:
    """By family of protocols, then by accuracy, then by name."""
    first = entry.metric(entry.headline, entry.labels[0]) if entry.labels else None
    accuracy = first.value if first and first.value is not None else -1.0
    return FAMILIES.get(entry.record.protocol, 0), accuracy, entry.model


def lettered(entry: Entry, wordings: Sequence[str], without: Collection[str]) -> str:
    """A protocol, with a letter where several wordings of it stand in one table."""
    place = wordings.index(entry.worded(without))
    mark = chr(ord("a") + place) if place < 26 else str(place)
    task = TASKS.get(entry.record.protocol, entry.record.protocol)
    return f"{task} ({mark})" if len(wordings) > 1 else task


def model_name(spec: str) -> str:
    """Mill's id for open_clip models, a replay's own name; the specification itself for all else."""
    try:
        model = parse(spec)
    except SpecError:
        return spec
    if model.backend == "replay" and "name" in model.options:
        return model.options["name"]
    if model.backend != "open_clip" or len(model.arguments) != 1:
        return spec
    rest = [f"{name}={value}" for name, value in sorted(model.options.items()) if name != "pretrained"]
    name = "/".join(filter(None, (model.arguments[0], model.options.get("pretrained", ""))))
    return f"{name}[{','.join(rest)}]" if rest else name
