"""What the command line asks for, as typed values; the plugin fills it in and the fixtures read it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from eyechart.data.label_files import LabelsOption
from eyechart.metrics.accuracy import Empty
from eyechart.protocol.options import OptionValues, RequestedValues
from eyechart.protocol.registry import get_protocol
from eyechart.spec import ModelSpec


@dataclass(frozen=True)
class Settings:
    """One value an option of the group `--eye-…`; `options` are those of protocols, by protocol.

    `names_of_protocols` are the class names of protocols for which a preset has others than `names`.
    """

    models: tuple[ModelSpec, ...]
    data: str | None
    out: Path
    store: Path
    limit: int | None
    seed: int
    offline: bool
    strict: bool
    max_errors: int
    names: str
    templates: str | None
    labels: tuple[LabelsOption, ...]
    empty: Empty | None
    equivalences: str
    categories: str
    options: Mapping[str, RequestedValues] = field(default_factory=dict)
    names_by_protocol: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One test: a split put to a model under a protocol, with all of the protocol's choices.

    `test` names a test function that is not packaged, so that two that ask the same are two cases.
    """

    benchmark: str
    split: str
    model: ModelSpec
    protocol: str
    options: OptionValues = field(default_factory=dict)
    test: str = ""

    def __str__(self) -> str:
        suffix = get_protocol(self.protocol).case_suffix(self.options) if self.options else ""
        chosen = ",".join(filter(None, (suffix, self.test and f"test={self.test}")))
        return f"{self.benchmark}/{self.split}/{self.model.name}{chosen and f'@{chosen}'}"

    @property
    def whole_split(self) -> str:
        """The split with its benchmark."""
        return f"{self.benchmark}/{self.split}"

    @property
    def id(self) -> str:
        """The case within the brackets of its node id, which names the test itself."""
        return str(replace(self, test=""))

    @property
    def slug(self) -> str:
        """The case as a file name: short, readable, and no other case's, as its hash sees to."""
        whole = f"{self.protocol}-{self}"
        kept = re.sub(r"[^A-Za-z0-9_.=-]", "-", whole).strip("-")
        return f"{kept[:100]}-{sha256(whole.encode()).hexdigest()[:8]}"
