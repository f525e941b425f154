"""The settings of the command line as typed values: the plugin creates them and the fixtures read them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from eyechart.data.dataset.limits import Limit, parse_limit
from eyechart.data.labels.label_files import LabelsOption
from eyechart.files.folders import RUNS, STORE
from eyechart.models.spec import ModelSpec
from eyechart.protocol.options import OptionValues, RequestedValues
from eyechart.protocol.registry import get_protocol
from eyechart.statistics.accuracy import Empty

PER_PROTOCOL = ("names", "templates", "limit")


@dataclass(frozen=True)
class Settings:
    """One field per option `--eye-…`; `options` are the requested values of protocol options, by protocol.

    `by_protocol` are options of `PER_PROTOCOL` that a preset sets for one protocol alone. With `answer_command`, the
    command that makes missing answers, only stored answers are scored; with `only_answer`, answers are not scored.
    With `blank`, the name of one, models see it instead of every image. With `slices`, "attributes", those of the
    images are variables of slices.
    """

    models: tuple[ModelSpec, ...] = ()
    data: str | None = None
    out: Path = RUNS
    store: Path = STORE
    limit: Limit = None
    seed: int = 42
    offline: bool = False
    strict: bool = False
    max_errors: int = 0
    names: str = "mill"
    templates: str | None = None
    labels: tuple[LabelsOption, ...] = ()
    empty: Empty | None = None
    equivalences: str = "12"
    categories: str = "equivalent"
    positive: str = ""
    cluster: str = ""
    threshold_from: str = ""
    options: Mapping[str, RequestedValues] = field(default_factory=dict)
    sequential: bool = False
    answer_command: str = ""
    only_answer: bool = False
    devices: int = 0
    ray: str = ""
    remote: str = ""
    ray_actors: int = 0
    ray_gpus: Mapping[str, float] = field(default_factory=dict)
    blank: str = ""
    slices: str = ""
    by_protocol: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def for_protocol(self, protocol: str) -> "Settings":
        """Return the settings that the cases of a protocol have.

        >>> Settings(by_protocol={"mcq": {"limit": "1/class"}}).for_protocol("mcq").limit
        '1/class'
        """
        own = self.by_protocol.get(protocol, {})
        limit = parse_limit(own["limit"]) if "limit" in own else self.limit
        names, templates = own.get("names", self.names), own.get("templates", self.templates)
        return replace(self, names=names, templates=templates, limit=limit)


@dataclass(frozen=True)
class Case:
    """One test: a split, a model, a protocol and the values of all its options.

    `test` names a test function that is not packaged, so that two functions with equal settings are two cases.
    """

    benchmark: str
    split: str
    model: ModelSpec
    protocol: str
    options: OptionValues = field(default_factory=dict)
    test: str = ""

    def __str__(self) -> str:
        suffix = get_protocol(self.protocol).case_suffix(self.options) if self.options else ""
        details = ",".join(filter(None, (suffix, self.test and f"test={self.test}")))
        return f"{self.benchmark}/{self.split}/{self.model.name}{details and f'@{details}'}"

    @property
    def whole_split(self) -> str:
        """The split with its benchmark.

        >>> Case("imagenet", "val", ModelSpec("conse"), "zero_shot").whole_split
        'imagenet/val'
        """
        return f"{self.benchmark}/{self.split}"

    @property
    def id(self) -> str:
        """The name of the case in its pytest node id, which names the test function itself.

        >>> Case("imagenet", "val", ModelSpec("conse"), "zero_shot", test="my_test").id
        'imagenet/val/conse[]'
        """
        return str(replace(self, test=""))

    @property
    def slug(self) -> str:
        """A file name of the case: short, readable, and unique by its hash.

        >>> Case("imagenet", "val", ModelSpec("conse"), "zero_shot").slug
        'zero_shot-imagenet-val-conse-3ffeef33'
        """
        whole = f"{self.protocol}-{self}"
        readable = re.sub(r"[^A-Za-z0-9_.=-]", "-", whole).strip("-")
        return f"{readable[:100]}-{sha256(whole.encode()).hexdigest()[:8]}"
