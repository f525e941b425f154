"""What all sweeps over 35,138 probabilities of 3,651 species cost beside a loop over thresholds."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import numpy as np
from numpy.typing import NDArray

from eyechart.realbirdid.answers.species_summary import ProbabilitySummary, summarise
from eyechart.realbirdid.statistics.abstention_tradeoff import CRITERIA, ua_a, uncertainty
from eyechart.realbirdid.statistics.hierarchy import Tree
from eyechart.realbirdid.statistics.information_gain import information_gain, information_gain_area
from eyechart.statistics.thresholds import accuracy_coverage_area

from .paired import ratio, seconds

ANSWERABLE, IMAGES, SPECIES, GENERA = 31_885, 35_138, 3651, 248
THRESHOLDS = (0.9, 0.7, 0.5, 0.3, 0.1)  # of the peer's: one costs as much as another
MANY = 20  # times as many are a hundred
Ints = NDArray[np.int64]


class Birds:
    """Probabilities on disk, and what is true."""

    def __init__(self, file: Path) -> None:
        random = np.random.default_rng(0)
        more = random.choice(GENERA, SPECIES - GENERA, p=random.dirichlet(np.ones(GENERA)))
        self.genus = np.sort(np.concatenate([np.arange(GENERA), more]))  # genera of 1 to about 100 species
        self.species = random.integers(SPECIES, size=IMAGES)
        if not file.exists():
            self.write(file, random)
        self.probabilities = np.load(file, mmap_mode="r")

    @property
    def ancestors(self) -> list[Ints]:
        """The place at each level of every species."""
        return [np.arange(SPECIES), self.genus]

    def write(self, file: Path, random: np.random.Generator) -> None:
        """A model that knows something of both levels: about half of the genera and a tenth of the species."""
        table = np.lib.format.open_memmap(file, "w+", np.float32, (IMAGES, SPECIES))
        for start in range(0, IMAGES, 2048):
            truth = self.species[start : start + 2048]
            genera = random.normal(size=(len(truth), GENERA)) + 3 * np.eye(GENERA)[self.genus[truth]]
            logits = genera[:, self.genus] + 1.5 * random.normal(size=(len(truth), SPECIES))
            logits[range(len(truth)), truth] += 2.5
            chances = np.exp(logits)
            table[start : start + 2048] = chances / chances.sum(axis=1, keepdims=True)
        table.flush()

    def read(self, start: int, stop: int) -> NDArray[np.float32]:
        """Some rows of the file."""
        return self.probabilities[start:stop]


def ours(birds: Birds) -> dict[str, float]:
    """Everything: sums, the nodes at all thresholds, IG, and for three criteria UA/A and the areas of three levels."""
    found = summarise(birds.read, birds.species, birds.ancestors)
    tree, kept = Tree.from_levels(birds.ancestors), np.arange(IMAGES) < ANSWERABLE
    gain = information_gain(tree, found.threshold_steps, np.where(kept, birds.species, -1))
    return {"ig": gain.area, **dict(areas(birds, found, kept))}


def areas(birds: Birds, found: ProbabilitySummary, kept: NDArray[np.bool_]) -> Iterator[tuple[str, float]]:
    """UA/A, and AUC of species and genus on answerable birds, of genus on the others."""
    rights = [found.levels[0].best == birds.species, found.levels[1].best == birds.genus[birds.species]]
    for criterion in CRITERIA:
        unsure = [uncertainty(criterion, one.probability, one.second, one.entropy) for one in found.levels]
        yield f"ua_a {criterion}", ua_a(unsure[0], ~kept).value
        for name, index, rows in (
            ("answerable.species", 0, kept),
            ("answerable.genus", 1, kept),
            ("unanswerable.genus", 1, ~kept),
        ):
            yield f"{name} {criterion}", accuracy_coverage_area(-unsure[index][rows], rights[index][rows])


class Loop:
    """The peer, for IG alone: every node of all images looked at in numpy, threshold by threshold."""

    def __init__(self, birds: Birds) -> None:
        tree, leaves = Tree.from_levels(birds.ancestors), birds.probabilities[:ANSWERABLE]
        sums = np.add.reduceat(leaves, np.searchsorted(birds.genus, range(GENERA)), axis=1)
        self.nodes = np.concatenate([leaves, sums, np.ones((ANSWERABLE, 1), np.float32)], axis=1)
        self.information = tree.information.astype(np.float32)
        self.score = self.information + np.float32(1e-4) * self.nodes  # near enough, of equals the likeliest
        genera = SPECIES + birds.genus[birds.species[:ANSWERABLE]]
        self.true = np.stack([birds.species[:ANSWERABLE], genera, np.full(ANSWERABLE, tree.root)])

    def rule(self, threshold: float) -> Ints:
        """The rule as it is said: the most informative of the nodes that are likely enough, of equals the likeliest."""
        told = np.where(self.nodes >= threshold, self.information, np.float32(-1))
        deepest = told == told.max(axis=1, keepdims=True)
        return np.where(deepest, self.nodes, np.float32(-1)).argmax(axis=1)

    def scored(self, threshold: float) -> Ints:
        """A quicker way, by a score that was made once and holds both."""
        return np.where(self.nodes >= threshold, self.score, np.float32(-1)).argmax(axis=1)

    def points(self, choose: Callable[[float], Ints]) -> list[tuple[float, float]]:
        """Mean information and accuracy at each threshold."""
        chosen = [choose(threshold) for threshold in THRESHOLDS]
        return [(self.information[nodes].mean(), (nodes == self.true).any(axis=0).mean()) for nodes in chosen]


def facts(pairs: int) -> Iterator[str]:
    """The wall time, the memory of a process of its own, and the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        birds = Birds(file := Path(folder) / "probabilities.npy")
        wall = min(seconds(lambda: ours(birds)) for _ in range(pairs))
        command = [sys.executable, "-m", "tests.speed.birds", str(file)]
        memory = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        loop = Loop(birds)
        works = (partial(loop.points, choose) for choose in (loop.rule, loop.scored))
        rule, scored = (ratio(lambda: ours(birds), work, pairs, MANY) for work in works)
        yield (
            f"{IMAGES:,} birds by {SPECIES:,} species, sums, all thresholds, three criteria, IG and AUC: {wall:.2f} s "
            f"and {float(memory):.2f} GiB; {{:.0f}} ({{:.0f}}–{{:.0f}}) times faster than a loop over "
            f"{MANY * len(THRESHOLDS)} thresholds for the points of IG alone, the sums given, in numpy".format(*rule)
            + ", {:.0f} ({:.0f}–{:.0f}) where it needs no second look at equals".format(*scored)
        )
        found, kept = summarise(birds.read, birds.species, birds.ancestors), np.arange(IMAGES) < ANSWERABLE
        tree, stairs = Tree.from_levels(birds.ancestors), found.threshold_steps.select(kept)
        wall = seconds(lambda: information_gain_area(tree, stairs, birds.species[kept]).interval())
        yield f"1,000 resamples of {ANSWERABLE:,} birds' IG: {wall:.1f} s"


if __name__ == "__main__" and len(sys.argv) == 2:  # the process of its own
    ours(Birds(Path(sys.argv[1])))
    print(getrusage(RUSAGE_SELF).ru_maxrss / 2**20)
elif __name__ == "__main__":
    for line in facts(3):
        print(line, flush=True)
