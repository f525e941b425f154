"""Links to the page of a run: the command that writes it, and addresses within it."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from eyechart.files.folders import STORE
from eyechart.gate.verdicts.decide import DEFAULT_RULE, Rule

PAGE = Path("page")


@dataclass(frozen=True)
class PageLink:
    """A run and its baseline, with the data, store and gate options that the page needs.

    `folder` is where we are. `policy` is the file of the rule's policy, "" without one.
    """

    folder: Path
    run: Path
    baseline: Path
    data: str | None = None
    store: Path = STORE
    rule: Rule = DEFAULT_RULE
    policy: str = ""

    @property
    def command(self) -> str:
        """The command that writes the page, to be typed in `folder`."""
        words = ["eyechart", "page", self.relative(self.run)]
        options = {
            "--baseline": self.relative(self.baseline),
            "--alpha": "" if self.rule.alpha == DEFAULT_RULE.alpha else str(self.rule.alpha),
            "--max-drop": str(self.rule.max_drop) if self.rule.max_drop else "",
            "--margin": "" if self.rule.margin is None else str(self.rule.margin),
            "--gate": "" if self.rule.gates == DEFAULT_RULE.gates else ",".join(self.rule.gates),
            "--policy": self.policy,
            "--data": self.data or "",
            "--store": "" if self.relative(self.store) == str(STORE) else self.relative(self.store),
            "--out": str(PAGE),
        }
        return shlex.join([*words, *(word for option, value in options.items() if value for word in (option, value))])

    def relative(self, path: Path) -> str:
        """Return a path relative to `folder` if it is within it, else the whole path."""
        whole = self.folder / path
        return str(whole.relative_to(self.folder) if whole.is_relative_to(self.folder) else whole)


def page_address(case: str, protocol: str, labels: str, number: str = "") -> str:
    """Return the address of a case's samples on the page; with the title of a metric, of the samples that it lost.

    >>> page_address("imagenet/val/knn", "knn", "ReGT", "acc1 (ReGT)")
    'page/index.html#/samples/imagenet/val/knn?protocol=knn&labels=ReGT&changed=lost&of=acc1+%28ReGT%29'
    """
    lost = {"changed": "lost", "of": number} if number else {}
    return f"{PAGE}/index.html#/samples/{quote(case)}?{urlencode({'protocol': protocol, 'labels': labels} | lost)}"
