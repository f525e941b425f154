"""The policy of a gate: a TOML file with other limits for some metrics, and floors.

    floors = ["imagenet/zero_shot:acc1>=0.62"]

    [[rules]]
    split = "imagenet/*"
    metric = "acc1"
    tier = "critical"
    margin = 0.01
    max_relative_drop = 0.02

A rule is for the metrics that all of its patterns match; `*` stands for any text. Of several rules that set one limit
of a metric, the last one counts. In `pyproject.toml`, the policy is the table `[tool.eyechart.gate]`.
"""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from unicodedata import normalize

import msgspec

from eyechart.errors import DataError, SpecError
from eyechart.files.text_files import plain_text
from eyechart.gate.comparison.compare_metrics import SLICES, MetricComparison

TIERS = CRITICAL, SUPPORTING, ADVISORY = "critical", "supporting", "advisory"
PYPROJECT, TABLE = "pyproject.toml", ("tool", "eyechart", "gate")
BOUND = 0.5  # of a loss: catches a percentage given as a fraction
EXPECTED = "Expected TOML with the list floors and tables [[rules]]."


class PolicyRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Patterns of metrics, and what holds for these; None leaves a limit as it is.

    `split` is a pattern of BENCHMARK/SPLIT. A regression of a critical or supporting metric fails its case, one of an
    advisory metric does not; a slice is advisory without a rule. With a margin, an inconclusive critical metric
    fails its case too; the margin is not for slices. Losses are fractions; `max_relative_drop` is a
    fraction of the value in the baseline.
    """

    split: str = "*"
    protocol: str = "*"
    metric: str = "*"
    labels: str = "*"
    subset: str = "*"
    model: str = "*"
    tier: str | None = None
    margin: float | None = None
    max_drop: float | None = None
    max_relative_drop: float | None = None

    def __post_init__(self) -> None:
        if self.tier is not None and self.tier not in TIERS:
            raise ValueError(f"tier must be one of {', '.join(TIERS)}. Got {self.tier!r} instead")
        if self.margin is not None and not 0 < self.margin < BOUND:
            raise ValueError(f"margin must be above 0 and below {BOUND}. Got {self.margin:g} instead. 1 % is 0.01")
        for name in ("max_drop", "max_relative_drop"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < BOUND:
                raise ValueError(f"{name} must be from 0 up and below {BOUND}. Got {value:g} instead. 1 % is 0.01")
        if {self.tier, self.margin, self.max_drop, self.max_relative_drop} == {None}:
            raise ValueError(f"{self} sets nothing. Give it a tier, margin, max_drop or max_relative_drop")

    def covers(self, comparison: MetricComparison) -> bool:
        """Return whether all patterns match a metric of a case; that of a slice is its subset, such as `class=*`."""
        if comparison.family == SLICES and "=" not in self.subset:
            return False
        metric = comparison.metric
        benchmark, split = comparison.case.split("/")[:2]
        patterns = (self.split, self.protocol, self.metric, self.labels, self.subset, self.model)
        case = (f"{benchmark}/{split}", comparison.protocol)
        values = (*case, *metric.printed_key, comparison.model)
        return all(
            _matches(normalize("NFC", value), normalize("NFC", pattern))
            for value, pattern in zip(values, patterns, strict=True)
        )

    def __str__(self) -> str:
        names = ("split", "protocol", "metric", "labels", "subset", "model")
        patterns = [f"{name}={getattr(self, name)}" for name in names if getattr(self, name) != "*"]
        return f"the rule on {', '.join(patterns) or 'every metric'}"


def _matches(value: str, pattern: str) -> bool:
    """Return whether a text matches a pattern, in which `*` alone is special: names of models have brackets.

    >>> _matches("open_clip[ViT-B-32]", "open_clip[ViT-*]"), _matches("m[x]", "mx")
    (True, False)
    """
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), value, re.DOTALL) is not None


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules, and floors as in `--eye-floor`. A later rule replaces what an earlier one sets."""

    rules: tuple[PolicyRule, ...] = ()
    floors: tuple[str, ...] = ()

    def rules_for(self, comparison: MetricComparison) -> list[PolicyRule]:
        """Return the rules on a metric of a case; a pooled comparison has none."""
        return [] if comparison.pooled else [rule for rule in self.rules if rule.covers(comparison)]

    @property
    def has_slices(self) -> bool:
        """Whether a rule is on slices."""
        return any("=" in rule.subset for rule in self.rules)

    def is_advisory(self, comparison: MetricComparison) -> bool:
        """Return whether the last rule on a metric that has a tier makes it advisory."""
        return [rule.tier for rule in self.rules_for(comparison) if rule.tier][-1:] == [ADVISORY]

    def unused_rules(self, comparisons: Iterable[MetricComparison]) -> list[PolicyRule]:
        """Return the rules that match none of the metrics, which may be misspelled."""
        known = [*comparisons]
        return [rule for rule in self.rules if not any(rule.covers(comparison) for comparison in known)]


NO_POLICY = Policy()


def unread_policy(folder: Path) -> str:
    """Return that `pyproject.toml` in a folder has a policy that only `--eye-policy` reads, "" where it has none."""
    path = folder / PYPROJECT
    try:
        values = tomllib.loads(plain_text(path))
        for key in TABLE:
            values = values[key]
    except (OSError, ValueError, KeyError, TypeError, SpecError, DataError):
        return ""
    return f"{path} has the table [{'.'.join(TABLE)}], which is not read: give --eye-policy={PYPROJECT}"


def read_policy(path: Path) -> Policy:
    """Read a TOML file, or the table [tool.eyechart.gate] of a `pyproject.toml`.

    Raises SpecError if it cannot be read or has an unknown key or a wrong value.
    """
    try:
        values = tomllib.loads(plain_text(path))
        for key in TABLE if path.name == PYPROJECT else ():
            if key not in values:
                raise SpecError(f"{path} has no table [{'.'.join(TABLE)}]. Add it, or name another file.")
            values = values[key]
        return msgspec.convert(values, Policy)
    except OSError as error:
        raise SpecError(f"{path} cannot be read: {error.strerror or error}. Name a TOML file.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SpecError(f"{path} cannot be read: {error}. {EXPECTED}") from error
    except msgspec.ValidationError as error:
        raise SpecError(f"{path}: {error}.") from error
