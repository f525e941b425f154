"""What each protocol needs of a model, and what about it may be chosen: every choice is an option and is recorded."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from eyechart.errors import SpecError
from eyechart.spec import did_you_mean, pieces

Chosen = Mapping[str, str]


@dataclass(frozen=True)
class Choice:
    """One choice: its name in cases and records, its option, its default, and the values there are; () for any."""

    name: str
    help: str
    default: str
    known: tuple[str, ...] = ()
    option: str = ""
    least: int | None = None
    share: bool = False

    @property
    def long(self) -> str:
        """The option without its prefix."""
        return self.option or self.name.replace("_", "-")

    def values(self, given: str) -> tuple[str, ...]:
        """Read a list of values; `all` is every known one. Raises SpecError for a value that is none.

        >>> CHOICES["order"].values("random,same_class"), CHOICES["images"].values("1,10")
        (('random', 'same_class'), ('1', '10'))
        """
        found = self.known if given == "all" and self.known else tuple(pieces(given))
        for value in found:
            self.check(value)
        return tuple(dict.fromkeys(map(self.plain, found)))

    def plain(self, value: str) -> str:
        """One spelling of equal numbers."""
        return str(int(value)) if self.least is not None else str(float(value)) if self.share else value

    def check(self, value: str) -> None:
        """Refuse what is no value of this choice."""
        if self.least is not None and not (value.isdecimal() and int(value) >= self.least):
            raise SpecError(f"--eye-{self.long} takes whole numbers from {self.least} up. Got '{value}' instead.")
        if self.share and not is_share(value):
            raise SpecError(f"--eye-{self.long} takes numbers from 0 to 1. Got '{value}' instead.")
        if not value or (self.known and value not in self.known):
            listed = f" It takes {', '.join(self.known)}." if self.known else " Give a value."
            raise SpecError(f"--eye-{self.long} does not know '{value}'{did_you_mean(value, self.known)}{listed}")


def is_share(value: str) -> bool:
    """Whether a text is a number from 0 to 1."""
    try:
        return 0 <= float(value) <= 1
    except ValueError:
        return False


READINGS = ("lenient", "strict", "authors", "mill")
SHORT: Mapping[str, str] = {  # settings of multiple choice as one types them, and as Table 19 writes them
    "ImGT+random": "ImGT + random",
    "ImGT+confusion": "ImGT + confEVA(ImGT)",
    "ImGT+text": "ImGT + confBERT(ImGT)",
    "ReGT+confusion": "ReGT + confEVA(ReGT)",
    "ReGT+text": "ReGT + confBERT(ReGT)",
    "ImGT+ReGT+random": "ImGT + ReGT + random",
    "ImGT+ReGT+confusion": "ImGT + ReGT + confEVA(ImGT,ReGT)",
}
CHOICES: Mapping[str, Choice] = {
    choice.name: choice
    for choice in (
        Choice("images", "how many images a request shows", "1", option="images-per-request", least=1),
        Choice("order", "which images a request shows together", "random", ("random", "same_class")),
        Choice("answer", "how a class is named: by name, by id, or as the likeliest of all names", "name",
               ("name", "id", "constrained")),
        Choice("prefix", "paper: images, then the class list; shared: the list first, for an engine to compute once",
               "paper", ("paper", "shared")),
        Choice("prompt", "a packaged prompt or a toml file in the place of the protocol's own", "own"),
        Choice("structure", "who sees to JSON: the model as its prompt asks, or the engine by a schema", "parsed",
               ("parsed", "enforced")),
        Choice("reading", "how words become an answer: as a person reads them, to the letter of the prompt, or as a "
               "published scorer did", "lenient", READINGS),
        Choice("evaluations", "how often everything is asked, for the spread of a model that is not the same twice",
               "1", least=1),
        Choice("mapping", "how free words become a class: nearest text embedding, or the name that occurs in them",
               "nearest", ("nearest", "inclusion")),
        Choice("encoder", "the text encoder of the mapping, as backend[…]", "sentence[minilm]"),
        Choice("text_templates", "prompts that names and answers are put into: none, 80, 7, 1 or a file", "none"),
        Choice("setting", "what is right and what distracts", "ImGT+random", tuple(SHORT)),
        Choice("repeats", "how often options and their order are redrawn", "31", least=1),
        Choice("distractors", "whose confusions distract: a model, or a csv or npy of classes × classes", "own"),
        Choice("division", "OODBench's pairs: made by the detectors, a file or folder of python -m eyechart.oodbench, "
               "or a published csv of one set, such as coco-OOD-H.csv", "made"),
        Choice("detectors", "who divides, joined by +: encoders, matchers or classifiers of the categories", "own"),
        Choice("detector_templates", "detectors' prompts: 80, 7, 1, name, or a file with one a line", "1"),
        Choice("threshold", "a present category less probable than this is out of distribution", "0.05", share=True),
        Choice("most", "how many pairs a set of the main benchmark has at most", "3000", option="most-pairs", least=1),
        Choice("benchmark", "ask about the main benchmark, or also about the initial one, all that was flagged", "main",
               ("main", "initial"), option="pairs"),
        Choice("absent", "whether to ask about absent categories that a detector took for present, too", "no",
               ("no", "yes")),
        Choice("hard", "hard samples to compare with: none, own (of the first detector) or COCO results", "none"),
        Choice("reasoning", "the question: direct, or step by step (chain of thought)", "direct", ("direct", "cot")),
        Choice("called", "which names of species are put into prompts", "scientific", ("scientific", "common")),
        Choice("extraction", "how a bird's name or a reason is found in free words: by constrained choice (where a "
               "model can choose), or where it occurs", "choice", ("choice", "inclusion")),
        Choice("wordings", "levels of wordings of the question that may be refused, in a toml file", "own"),
        Choice("about", "which birds all wordings are asked about", "unanswerable", ("unanswerable", "all")),
        Choice("reference", "compare with the pairs of this split, such as oodbench/coco-train", "none"),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A protocol: the interface that it asks, the names of its choices, and whose replayed words it reads.

    `also` are interfaces that do as well; with `unless`, a choice, it is only put where that is not the default.
    """

    needs: str
    choices: tuple[str, ...] = ()
    said: str = ""
    also: tuple[str, ...] = ()
    unless: str = ""

    @property
    def replayed(self) -> str:
        """The interface of words that were said elsewhere."""
        return f"said:{self.said}"

    def suits(self, offers: Collection[str]) -> bool:
        """Whether a model that offers these can be asked."""
        return not {self.needs, *self.also, self.replayed}.isdisjoint(offers)

    def defaults(self) -> Chosen:
        """Every choice at its default."""
        return {name: CHOICES[name].default for name in self.choices}

    def variants(self, given: Mapping[str, Sequence[str]], offers: Collection[str] = ()) -> Iterator[Chosen]:
        """Every combination of the values given, each with all choices, and no two that ask the same of a model.

        Where some combinations cannot be, the others are left; where none can, all. `offers` are the model's.

        >>> likeliest = PROTOCOLS["closed_world"].variants({"answer": ("constrained",), "images": ("1", "5")})
        >>> [each["images"] for each in likeliest]
        ['1']
        """
        values = [given.get(name, (CHOICES[name].default,)) for name in self.choices]
        known = [dict(zip(self.choices, each, strict=True)) for each in product(*values)]
        every = [settled(chosen, replayed=self.replayed in offers) for chosen in known]
        kept = [each for each in every if possible(each)] or every
        if self.unless:
            kept = [each for each in kept if each[self.unless] != CHOICES[self.unless].default]
        yield from {tuple(each.items()): each for each in kept}.values()


MADE = CHOICES["division"].default
DIVIDED = ("division", "detectors", "detector_templates", "threshold", "most")
IN_A_DIVISION = (*DIVIDED[1:], "absent", "hard")  # choices that a file of a division has made


def possible(chosen: Chosen) -> bool:
    """Whether choices go together: the likeliest name is that of one image, and Mill's scorer reads letters alone."""
    alone = chosen.get("answer") != "constrained" or chosen.get("images") == "1"
    return alone and (chosen.get("reading") != "mill" or {"structure", "division"}.isdisjoint(chosen))


def settled(chosen: dict[str, str], *, replayed: bool) -> Chosen:
    """Put the default in the place of every choice that, beside the others, changes nothing."""
    hardness = chosen.get("setting", "").rpartition("+")[2]
    likeliest, included = chosen.get("answer") == "constrained", chosen.get("mapping") == "inclusion"
    idle = {
        "order": chosen.get("images") == "1",
        "reading": likeliest,
        "structure": likeliest or replayed,
        "evaluations": likeliest or replayed,
        "prefix": replayed,  # how a model is asked, which a file is not
        "extraction": replayed,
        "mapping": likeliest,
        "encoder": likeliest or included or hardness in ("random", "confusion"),
        "text_templates": likeliest or included,
        "distractors": hardness in ("random", "text"),
    } | dict.fromkeys(IN_A_DIVISION, chosen.get("division", MADE) != MADE)
    return {name: CHOICES[name].default if idle.get(name) else value for name, value in chosen.items()}


SHOWN = ("images", "order", "prefix", "prompt", "structure", "reading")
ASKED = ("answer", *SHOWN)
MAPPED = ("encoder", "mapping", "text_templates")
PROTOCOLS: Mapping[str, Kind] = {
    "zero_shot": Kind("encoder"),
    "supervised": Kind("classifier"),
    "knn": Kind("neighbours"),
    "replay": Kind("answers"),
    "mcq": Kind("generator", ("reading",), "mcq"),
    "closed_world": Kind("generator", (*ASKED, "evaluations"), "closed_world"),
    "closed_world_plus": Kind("generator", (*ASKED, *MAPPED), "closed_world"),
    "open_world": Kind("generator", (*SHOWN, *MAPPED), "open_world"),
    "multiple_choice": Kind("generator", ("setting", "repeats", "distractors", "encoder", "prompt", "reading")),
    "posterior": Kind("scorer", ("prompt",)),
    "existence": Kind("generator", (*DIVIDED, "absent", "hard", "benchmark", "reasoning", "reading"), "existence"),
    "progression": Kind("generator", (*DIVIDED, "reading")),
    "detection": Kind("encoder", ("detector_templates", "threshold"), also=("classifier", "matcher")),
    "species": Kind("encoder", ("called", "prompt"), "species", also=("scorer",)),
    "flat_list": Kind("encoder", ("called", "prompt"), also=("scorer",)),
    "free_form": Kind("generator", ("prompt", "extraction"), "free_form"),
    "abstention": Kind("generator", ("wordings", "about", "extraction")),
    "distribution": Kind("image_encoder", (*DIVIDED, "reference"), unless="reference"),
}


def differing(protocol: str, chosen: Chosen) -> str:
    """Write the choices that are not the defaults, as they stand in a case's name.

    >>> differing("mcq", {"reading": "mill"}), differing("mcq", {"reading": "lenient"})
    ('reading=mill', '')
    """
    defaults = PROTOCOLS[protocol].defaults()
    return ",".join(f"{name}={value}" for name, value in sorted(chosen.items()) if value != defaults[name])
