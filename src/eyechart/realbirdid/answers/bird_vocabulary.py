"""The names of species and genera, and a parser that finds them in text."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from eyechart.parsers import class_name
from eyechart.parsers.abstention import is_abstention
from eyechart.parsers.text import lowercase_words, undenied_words
from eyechart.realbirdid.data.taxonomy import Taxonomy

ABSTAIN = "cannot tell"
UNPARSED = -1


@dataclass(frozen=True)
class BirdVocabulary:
    """The names that a response may contain: `taxa` has the index of the species and of the genus of each, -1 if none.

    Names are unique, ignoring case: a species takes precedence over a genus of the same name, and a common name of
    several species (`shared`) is left out.
    """

    choices: tuple[str, ...]
    taxa: tuple[tuple[int, int], ...]
    shared: tuple[str, ...] = ()

    @classmethod
    def from_taxonomy(cls, taxonomy: Taxonomy) -> "BirdVocabulary":
        """Return the vocabulary of a taxonomy, with one more choice for an abstention."""
        genera = taxonomy.ancestors[1].tolist()
        common = Counter(map(fold_name, taxonomy.common))
        names_by_key: dict[str, tuple[str, tuple[int, int]]] = {}
        named = [(name, (index, genera[index])) for index, name in enumerate(taxonomy.names[0])]
        named += [
            (name, (index, genera[index]))
            for index, name in enumerate(taxonomy.common)
            if name.strip() and common[fold_name(name)] == 1
        ]
        named += [(name, (UNPARSED, index)) for index, name in enumerate(taxonomy.names[1])]
        for name, meaning in [*named, (ABSTAIN, (UNPARSED, UNPARSED))]:
            names_by_key.setdefault(fold_name(name), (name, meaning))
        choices, meanings = zip(*names_by_key.values(), strict=True)
        shared = sorted({name for name in taxonomy.common if name.strip() and common[fold_name(name)] > 1})
        return cls(choices, meanings, tuple(shared))

    @cached_property
    def index_by_words(self) -> Mapping[tuple[str, ...], int]:
        """The index of each choice by its words."""
        return {tuple(lowercase_words(name)): index for index, name in reversed([*enumerate(self.choices)])}

    @cached_property
    def index_by_taxon(self) -> Mapping[tuple[int, int], int]:
        """The first choice of every pair of species and genus."""
        return {meaning: index for index, meaning in reversed([*enumerate(self.taxa)])}

    @cached_property
    def max_words(self) -> int:
        """The number of words of the longest name."""
        return max(map(len, self.index_by_words))

    def parse_exact(self, text: str) -> int:
        """Return the choice of a text that is only a name, `UNPARSED` for other texts."""
        index = class_name.parse(text, self.choices).lenient
        return UNPARSED if index is None else index

    def parse(self, text: str) -> int:
        """Return the choice that a text names; names take precedence over phrases of refusal.

        Several species of one genus give the genus; names of several genera give `UNPARSED`.
        """
        taxa = [self.taxa[index] for index in self.find_names(text)]
        species = [*dict.fromkeys(taxon for taxon in taxa if taxon[0] >= 0)]
        genera = {genus for _, genus in (species or taxa) if genus >= 0}
        if len(species) == 1:
            return self.index_by_taxon[species[0]]
        if genera:
            return self.index_by_taxon.get((UNPARSED, max(genera)), UNPARSED) if len(genera) == 1 else UNPARSED
        return self.index_by_taxon[UNPARSED, UNPARSED] if is_abstention(text) else UNPARSED

    def find_names(self, text: str) -> Iterator[int]:
        """Yield the names that occur in a text and are not denied, the longest match at each word."""
        words, start = [*undenied_words(text)], 0
        tokens = [word for word, _ in words]
        while start < len(tokens):
            spans = range(min(self.max_words, len(tokens) - start), 0, -1)
            length = next((size for size in spans if tuple(tokens[start : start + size]) in self.index_by_words), 0)
            if length and words[start][1]:
                yield self.index_by_words[tuple(tokens[start : start + length])]
            start += max(1, length)


def fold_name(name: str) -> str:
    """Return a name in the form in which names are compared: single spaces, no case."""
    return " ".join(name.split()).casefold()
