"""What words say about a bird: a species, by its scientific or common name, a genus, or that it cannot be told."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from eyechart.data.taxonomy import Taxonomy
from eyechart.parsers import class_name
from eyechart.parsers.abstention import is_abstention, lowercase_words

ABSTAIN = "cannot tell"
UNPARSED = -1


@dataclass(frozen=True)
class BirdVocabulary:
    """Names that may be said: `meaning` has the species' and the genus' place of each, -1 for what is not named.

    Without regard to case, no two are equal: a species goes before a genus of its common name, and a common name that
    several species share is nobody's (`shared`).
    """

    choices: tuple[str, ...]
    taxa: tuple[tuple[int, int], ...]
    shared: tuple[str, ...] = ()

    @classmethod
    def from_taxonomy(cls, taxonomy: Taxonomy) -> "BirdVocabulary":
        """The names of a taxonomy, and the words for none of them."""
        genera = taxonomy.ancestors[1].tolist()
        common = Counter(map(fold_name, taxonomy.common))
        names_by_key: dict[str, tuple[str, tuple[int, int]]] = {}
        named = [(name, (place, genera[place])) for place, name in enumerate(taxonomy.names[0])]
        named += [
            (name, (place, genera[place]))
            for place, name in enumerate(taxonomy.common)
            if name.strip() and common[fold_name(name)] == 1
        ]
        named += [(name, (UNPARSED, place)) for place, name in enumerate(taxonomy.names[1])]
        for name, meaning in [*named, (ABSTAIN, (UNPARSED, UNPARSED))]:
            names_by_key.setdefault(fold_name(name), (name, meaning))
        choices, meanings = zip(*names_by_key.values(), strict=True)
        shared = sorted({name for name in taxonomy.common if name.strip() and common[fold_name(name)] > 1})
        return cls(choices, meanings, tuple(shared))

    @cached_property
    def index_by_words(self) -> Mapping[tuple[str, ...], int]:
        """The choices by their words."""
        return {tuple(lowercase_words(name)): place for place, name in reversed([*enumerate(self.choices)])}

    @cached_property
    def index_by_taxon(self) -> Mapping[tuple[int, int], int]:
        """The first choice of every meaning."""
        return {meaning: place for place, meaning in reversed([*enumerate(self.taxa)])}

    @cached_property
    def max_words(self) -> int:
        """The most words of a name."""
        return max(map(len, self.index_by_words))

    def parse_exact(self, text: str) -> int:
        """The choice of a text that is a name and nothing else."""
        index = class_name.parse(text, self.choices).lenient
        return UNPARSED if index is None else index

    def parse(self, text: str) -> int:
        """The choice that a text makes by what is named in it; names go before words that decline.

        Several species of one genus go no deeper than it; names of several genera say nothing.
        """
        taxa = [self.taxa[place] for place in self.find_names(text)]
        species = [*dict.fromkeys(taxon for taxon in taxa if taxon[0] >= 0)]
        genera = {genus for _, genus in (species or taxa) if genus >= 0}
        if len(species) == 1:
            return self.index_by_taxon[species[0]]
        if genera:
            return self.index_by_taxon.get((UNPARSED, max(genera)), UNPARSED) if len(genera) == 1 else UNPARSED
        return self.index_by_taxon[UNPARSED, UNPARSED] if is_abstention(text) else UNPARSED

    def find_names(self, text: str) -> Iterator[int]:
        """The choices whose words follow one another in a text, the longest from each word on."""
        tokens, start = lowercase_words(text), 0
        while start < len(tokens):
            spans = range(min(self.max_words, len(tokens) - start), 0, -1)
            length = next((size for size in spans if tuple(tokens[start : start + size]) in self.index_by_words), 0)
            if length:
                yield self.index_by_words[tuple(tokens[start : start + length])]
            start += max(1, length)


def fold_name(name: str) -> str:
    """A name as names are compared."""
    return " ".join(name.split()).casefold()
