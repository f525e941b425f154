"""What cases about species write down: every bird's answer level by level, the curves, and who is in the data."""

from collections.abc import Iterator, Sequence

from eyechart.gate.evidence import Given
from eyechart.gate.pairing import paired
from eyechart.protocol.result import Rows
from eyechart.realbirdid.recording import BIRD, BirdRecording, cells, marks, names_of
from eyechart.realbirdid.species import ALL, RANGE, Species
from eyechart.realbirdid.species_curves import curve_rows
from eyechart.realbirdid.species_draws import species_draws, species_outcomes, species_units
from eyechart.realbirdid.species_scoring import species_metrics
from eyechart.realbirdid.species_views import Views
from eyechart.records import Metric, Outcomes

PREFIXES = {ALL: "all.", RANGE: "range."}


class SpeciesRecording(BirdRecording[Species]):
    """Collects the numbers of a case of species."""

    def species(self, found: Species) -> None:
        """Score the probabilities."""
        self.views = Views(found)
        self.scored.extend(species_metrics(self.views, self.settings.seed))

    def given(self, metrics: Sequence[Metric]) -> Iterator[Given]:
        """Shares with each bird's outcome; areas, gains and errors with their draws."""
        seed = self.settings.seed
        draws, units = species_draws(self.views, seed), species_units(self.views)
        yield from paired(metrics, species_outcomes(self.views, seed), draws, units)

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
        titles = [f"{prefix}{level}{number}" for prefix in PREFIXES.values() for level in levels for number in numbers]
        yield [*BIRD, "error", *titles, "range.choices"]
        columns = [column for labels in PREFIXES for column in self.columns(labels)]
        told = zip(*columns, self.found.observed.choices.tolist(), strict=True)
        for row, said in enumerate(told):
            yield [*self.bird_cells(row), self.found.errors.get(row, ""), *said]

    def columns(self, labels: str) -> Iterator[list[str]]:
        """What is said of all birds under one list, level by level."""
        view, names = self.views[labels], self.found.observed.taxonomy.names
        for level, known, right in zip(view.summary.levels, names, view.correct, strict=True):
            yield names_of(level.best, known)
            yield from (cells(part) for part in (level.probability, level.second, level.entropy))
            yield marks(right)
