"""Parse the reason of an abstention: one of three reasons, another reason, or no abstention."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from eyechart.parsers import class_name
from eyechart.parsers.abstention import is_abstention
from eyechart.parsers.text import lowercase_words
from eyechart.realbirdid.answers.bird_vocabulary import BirdVocabulary
from eyechart.realbirdid.data.observations import REASONS

PHRASES = Path(__file__).with_name("abstention_reasons.toml")
OTHER, ANSWERED = "another reason", "none"
CHOICES = (*REASONS, OTHER, ANSWERED)
UNPARSED = -1


@dataclass(frozen=True)
class ReasonParser:
    """Parse a text into an index into `CHOICES`; a text that names exactly one species is no abstention."""

    vocabulary: BirdVocabulary

    def parse_exact(self, text: str) -> int:
        """Return the choice of a text that is only a reason or only a species name, `UNPARSED` for other texts."""
        reason = class_name.parse(text, REASONS).lenient  # "none" means no reason, so a species name is checked next
        if reason is not None:
            return reason
        named = self.vocabulary.parse_exact(text)
        return CHOICES.index(ANSWERED) if named >= 0 and self.vocabulary.taxa[named][0] >= 0 else UNPARSED

    def parse(self, text: str) -> int:
        """Return the choice of a text by what occurs in it: one species, else a reason, else a refusal."""
        species = {
            species for species, _ in map(self.vocabulary.taxa.__getitem__, self.vocabulary.find_names(text))
        } - {UNPARSED}
        reason = first_reason(text)
        if len(species) == 1:
            return CHOICES.index(ANSWERED)
        if reason >= 0 and (is_abstention(text) or not species):
            return reason
        return CHOICES.index(OTHER if is_abstention(text) else ANSWERED)


def first_reason(text: str) -> int:
    """Return the reason whose phrase comes first in a text, `UNPARSED` if there is none."""
    tokens, known = lowercase_words(text), _reason_phrases()
    for start in range(len(tokens)):
        for size in range(min(known.max_words, len(tokens) - start), 0, -1):
            if (reason := known.reasons.get(tuple(tokens[start : start + size]))) is not None:
                return reason
    return UNPARSED


@dataclass(frozen=True)
class _Phrases:
    """Phrases as tuples of words, with the index of their reason."""

    reasons: Mapping[tuple[str, ...], int]

    @cached_property
    def max_words(self) -> int:
        """The number of words of the longest phrase."""
        return max(map(len, self.reasons))


@cache
def _reason_phrases() -> _Phrases:
    """Return the packaged phrases."""
    table = tomllib.loads(PHRASES.read_text(encoding="utf-8"))
    return _Phrases(
        {tuple(lowercase_words(phrase)): index for index, name in enumerate(REASONS) for phrase in table[name]}
    )
