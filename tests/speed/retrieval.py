"""What a probability for each of 3,651 species costs: names up to where they differ, beside whole names.

Through vLLM: nodes side by side, beside one request for each.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request, Until
from eyechart.models.vllm.generator import VllmGenerator

from .paired import Work, ratio, seconds
from .posterior import IMAGE

SPECIES = 3651  # of RealBirdID
SYLLABLES = tuple(one + other for one in "bcdfglmnprstv" for other in ("a", "e", "io", "u"))
ASKED = Request((IMAGE, "What is the species of this bird?"))


@dataclass(frozen=True)
class Bench:
    """A model, once for each way to score, so that both keep their trie, and made-up names."""

    models: Mapping[Until, HfGenerator]
    names: tuple[str, ...]

    def score(self, until: Until) -> Work:
        """The probabilities of all names."""
        return lambda: self.models[until].score([ASKED], self.names, until=until)

    def nodes(self, until: Until) -> int:
        """How many tokens are read behind a prompt."""
        return len(self.models[until]._chat.build_trie(self.names, until).nodes) - 1

    def beside_whole_names(self, pairs: int) -> str:
        """How many times fewer tokens and less time it takes to stop early."""
        cut, whole = self.nodes("unique"), self.nodes("end")
        middle, least, most = ratio(self.score("unique"), self.score("end"), pairs)
        return (
            f"{cut:,} tokens behind the prompt instead of {whole:,}, {middle:.1f} times as fast "
            f"({least:.1f}–{most:.1f})"
        )

    def beside_an_answer(self, pairs: int) -> str:
        """How many greedy answers they take."""
        model = self.models["unique"]
        long = int(np.median([len(row) for row in model._chat.tokenize_choices(self.names)]))
        return "{:.0f} ({:.0f}–{:.0f})".format(
            *ratio(lambda: generate_all(model, [ASKED], long), self.score("unique"), pairs)
        )


@dataclass(frozen=True)
class VllmBench:
    """A model through vLLM, and made-up names."""

    model: VllmGenerator
    names: tuple[str, ...]

    def score(self, *, side_by_side: bool) -> Work:
        """The probabilities of all names."""

        def work() -> None:
            self.model._scorer._agrees = side_by_side
            self.model.score([ASKED], self.names, until="unique")

        return work

    def facts(self, pairs: int) -> Iterator[str]:
        """How many times as fast nodes are side by side as with a request each, and how long they take."""
        ours, theirs = self.score(side_by_side=True), self.score(side_by_side=False)
        ours()  # what is first takes longer
        theirs()
        requests = len(self.model._chat.build_trie(self.names, "unique").nodes)
        middle, least, most = ratio(ours, theirs, pairs)
        yield (
            f"toybox-mllm through vLLM, {SPECIES:,} species up to where their names differ: one request, "
            f"{middle:.0f} times as fast ({least:.0f}–{most:.0f}) as {requests:,}, {seconds(ours):.1f} s"
        )


def binomials(number: int) -> tuple[str, ...]:
    """Names of species, four in a genus on average."""
    rng = np.random.default_rng(0)

    def word() -> str:
        return "".join(rng.choice(SYLLABLES, 3))

    genera = [f"{word()}us".title() for _ in range(number // 4)]
    names: dict[str, None] = {}
    while len(names) < number:
        names[f"{rng.choice(genera)} {word()}a"] = None
    return tuple(names)


def facts(pairs: int) -> Iterator[str]:
    """Those of the packaged model."""
    untils: tuple[Until, ...] = ("unique", "end")
    bench = Bench(
        {until: HfGenerator(parse_spec("hf[toybox-mllm]"), offline=True) for until in untils}, binomials(SPECIES)
    )
    for model in bench.models.values():
        generate_all(model, [ASKED], 1)  # what is first takes longer
    what = f"toybox-mllm, {SPECIES:,} species up to where their names differ"
    yield f"{what}, beside whole names: {bench.beside_whole_names(pairs)}"
    yield f"{what}: time over one greedy answer's: {bench.beside_an_answer(pairs)}"
    model = VllmGenerator(parse_spec("vllm[toybox-mllm]"), offline=True)
    yield from VllmBench(model, bench.names).facts(pairs)
    model.close()


if __name__ == "__main__":
    for line in facts(3):
        print(line, flush=True)
