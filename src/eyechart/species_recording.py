"""What cases about species write down: every bird's answer level by level, the curves, and who is in the data."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from eyechart.asking.species import ALL, RANGE, Species
from eyechart.bird_recording import BIRD, BirdRecording, cell
from eyechart.case_recording import Rows
from eyechart.records import Outcomes
from eyechart.species_curves import curve_rows
from eyechart.species_scoring import species_metrics
from eyechart.species_views import Views

PREFIXES = {ALL: "all.", RANGE: "range."}


class SpeciesRecording(BirdRecording[Species]):
    """Collects the numbers of a case of species."""

    def species(self, found: Species) -> None:
        """Score the probabilities."""
        self.views = Views(found)
        self.scored.extend(species_metrics(self.views, self.settings.seed))

    def outcomes(self) -> Outcomes:
        """What became of the birds at the finest level that is known of each."""
        correct = self.views[ALL].deepest
        return Outcomes(correct=int((correct == 1).sum()), wrong=int((correct == 0).sum()), error=len(self.errors))

    def artifact_rows(self) -> dict[str, Rows]:
        """The curves, and the genera."""
        return {**super().artifact_rows(), "curves": curve_rows(self.views)}

    def answer_rows(self) -> Rows:
        """Every bird: the best of every level, how sure it is, and whether it is right."""
        levels = self.found.observed.taxonomy.levels
        numbers = ("", ".p", ".p2", ".entropy", ".correct")
        columns = [f"{prefix}{level}{number}" for prefix in PREFIXES.values() for level in levels for number in numbers]
        yield [*BIRD, "error", *columns, "range.choices"]
        for row in range(len(self.found.keys)):
            told = [part for labels in PREFIXES for part in self.level_cells(labels, row)]
            yield [*self.bird_cells(row), self.found.errors.get(row, ""), *told, int(self.found.observed.choices[row])]

    def level_cells(self, labels: str, row: int) -> Iterator[Any]:
        """What is said of a bird under one list, level by level."""
        names = self.found.observed.taxonomy.names
        for place, level in enumerate(self.found.summaries[labels].levels):
            best, right = int(level.best[row]), self.views[labels].correct[place][row]
            yield names[place][best] if best >= 0 else ""
            yield from (cell(part[row]) for part in (level.probability, level.second, level.entropy))
            yield "" if np.isnan(right) else int(right)
