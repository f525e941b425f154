"""How to look at what a number lost: the command that writes the page of a run, and addresses within that page."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from eyechart.gate.compare import ALPHA
from eyechart.paths import STORE

PAGE = Path("page")


@dataclass(frozen=True)
class PageLink:
    """A run beside its baselines, named as in the folder `folder`, with what it was made of and judged by."""

    folder: Path
    run: Path
    baseline: Path
    data: str | None = None
    store: Path = STORE
    alpha: float = ALPHA
    max_drop: float = 0.0

    @property
    def command(self) -> str:
        """The command that writes the page, as it is typed in that folder."""
        words = ["python", "-m", "eyechart.reports", "page", self.relative(self.run)]
        chosen = {
            "--baseline": self.relative(self.baseline),
            "--alpha": "" if self.alpha == ALPHA else str(self.alpha),
            "--max-drop": str(self.max_drop) if self.max_drop else "",
            "--data": self.data or "",
            "--store": "" if self.relative(self.store) == str(STORE) else self.relative(self.store),
            "--out": str(PAGE),
        }
        return shlex.join([*words, *(word for option, value in chosen.items() if value for word in (option, value))])

    def relative(self, path: Path) -> str:
        """A path as it is written there: what is beneath that folder, from it on."""
        whole = self.folder / path
        return str(whole.relative_to(self.folder) if whole.is_relative_to(self.folder) else whole)


def page_address(case: str, protocol: str, labels: str, number: str = "") -> str:
    """Where the page shows what a case was asked; of a number that is told image by image, only what it lost.

    >>> page_address("imagenet/val/knn", "knn", "ReGT", "acc1 (ReGT, A)")
    'page/index.html#/samples/imagenet/val/knn?protocol=knn&labels=ReGT&changed=lost&of=acc1+%28ReGT%2C+A%29'
    """
    lost = {"changed": "lost", "of": number} if number else {}
    return f"{PAGE}/index.html#/samples/{quote(case)}?{urlencode({'protocol': protocol, 'labels': labels} | lost)}"
