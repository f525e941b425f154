"""What cases about a flat list write down: every bird's answer."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from eyechart.asking.flat_list import UNTOLD, FlatList
from eyechart.asking.species import ALL
from eyechart.bird_recording import BIRD, BirdRecording, cell
from eyechart.case_recording import Rows
from eyechart.flat_list_scoring import correct, flat_list_metrics
from eyechart.records import Outcomes
from eyechart.species_recording import PREFIXES


class FlatListRecording(BirdRecording[FlatList]):
    """Collects the numbers of a case of a flat list."""

    def flat_list(self, found: FlatList) -> None:
        """Score the answers."""
        self.scored.extend(flat_list_metrics(found, self.settings.seed))

    def outcomes(self) -> Outcomes:
        """What became of the birds."""
        right = correct(self.found, ALL)
        return Outcomes(correct=int((right == 1).sum()), wrong=int((right == 0).sum()), error=len(self.errors))

    def answer_rows(self) -> Rows:
        """Every bird: the name that was chosen, how deep it is, how sure it is, and whether it is right."""
        columns = ("answer", "level", "p", "correct")
        yield [*BIRD, "error", *(f"{prefix}{column}" for prefix in PREFIXES.values() for column in columns)]
        right = {labels: correct(self.found, labels) for labels in PREFIXES}
        for row in range(len(self.found.keys)):
            told = [part for labels in PREFIXES for part in self.answer_cells(labels, row, right[labels][row])]
            yield [*self.bird_cells(row), self.found.errors.get(row, ""), *told]

    def answer_cells(self, labels: str, row: int, right: float) -> Iterator[Any]:
        """What is chosen of one list."""
        taxonomy, answers = self.found.observed.taxonomy, self.found.answers[labels]
        place = int(answers.places[row])
        level = int(place >= len(taxonomy.names[0]))
        names = (*taxonomy.names[0], *taxonomy.names[1])
        yield from ("", "") if place == UNTOLD else (names[place], taxonomy.levels[level])
        yield cell(answers.probabilities[row])
        yield "" if np.isnan(right) else int(right)
