"""How to look at what a number lost: the command that writes the page of a run, and addresses within that page."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

STORE = Path(".eyechart/store")  # where the page looks by itself
PAGE = Path("page")


@dataclass(frozen=True)
class Sight:
    """A run beside its baselines, named as in the folder `here`, with the data and the store that it was made of."""

    here: Path
    run: Path
    baseline: Path
    data: str | None = None
    store: Path = STORE

    @property
    def command(self) -> str:
        """The command that writes the page, as it is typed in that folder."""
        words = [
            "python",
            "-m",
            "eyechart.reports",
            "page",
            self.near(self.run),
            "--baseline",
            self.near(self.baseline),
        ]
        if self.data:
            words += ["--data", self.data]
        if self.near(self.store) != str(STORE):
            words += ["--store", self.near(self.store)]
        return shlex.join([*words, "--out", str(PAGE)])

    def near(self, path: Path) -> str:
        """A path as it is written there: what is beneath that folder, from it on."""
        whole = self.here / path
        return str(whole.relative_to(self.here) if whole.is_relative_to(self.here) else whole)


def address(case: str, protocol: str, labels: str, number: str = "") -> str:
    """Where the page shows what a case was asked; of a number that is told image by image, only what it lost.

    >>> address("imagenet/val/knn", "knn", "ReGT", "acc1 (ReGT, A)")
    'page/index.html#/samples/imagenet/val/knn?protocol=knn&labels=ReGT&changed=lost&of=acc1+%28ReGT%2C+A%29'
    """
    lost = {"changed": "lost", "of": number} if number else {}
    return f"{PAGE}/index.html#/samples/{quote(case)}?{urlencode({'protocol': protocol, 'labels': labels} | lost)}"
