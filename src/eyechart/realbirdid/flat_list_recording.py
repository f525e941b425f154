"""What cases about a flat list write down: every bird's answer."""

from collections.abc import Iterator

from eyechart.protocol.result import Rows
from eyechart.realbirdid.flat_list import FlatList
from eyechart.realbirdid.flat_list_scoring import (
    correct,
    flat_list_estimates,
)
from eyechart.realbirdid.recording import BIRD, BirdRecording, cells, marks, names_of
from eyechart.realbirdid.species import ALL
from eyechart.realbirdid.species_recording import PREFIXES
from eyechart.records import Outcomes


class FlatListRecording(BirdRecording[FlatList]):
    """Collects the numbers of a case of a flat list."""

    def flat_list(self, found: FlatList) -> None:
        """Score the answers."""
        self.scored.extend(flat_list_estimates(found, self.settings.seed))

    def outcomes(self) -> Outcomes:
        """What became of the birds."""
        right = correct(self.found, ALL)
        return Outcomes(correct=int((right == 1).sum()), wrong=int((right == 0).sum()), error=len(self.errors))

    def answer_rows(self) -> Rows:
        """Every bird: the name that was chosen, how deep it is, how sure it is, and whether it is right."""
        titles = ("answer", "level", "p", "correct")
        yield [*BIRD, "error", *(f"{prefix}{title}" for prefix in PREFIXES.values() for title in titles)]
        columns = [column for labels in PREFIXES for column in self.columns(labels)]
        for row, said in enumerate(zip(*columns, strict=True)):
            yield [*self.bird_cells(row), self.found.errors.get(row, ""), *said]

    def columns(self, labels: str) -> Iterator[list[str]]:
        """What is chosen of one list for all birds."""
        taxonomy, answers = self.found.observed.taxonomy, self.found.answers[labels]
        species, genera = taxonomy.names[:2]
        kinds = (taxonomy.levels[0],) * len(species) + (taxonomy.levels[1],) * len(genera)
        yield names_of(answers.places, (*species, *genera))
        yield names_of(answers.places, kinds)
        yield cells(answers.probabilities)
        yield marks(correct(self.found, labels))
