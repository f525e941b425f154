"""Options of RealBirdID's protocols."""

from eyechart.protocol.options import Option
from eyechart.realbirdid.answers.prompt_sets import load_prompt_set


def _check_wordings(value: str, _: str | None) -> None:
    """Refuse a file of wordings that cannot be read."""
    load_prompt_set(value)


SPECIES_NAMES = Option("species_names", "names of species in the prompts", "scientific", ("scientific", "common"))
ONE_PASS, NLG2CHOICE = "one_pass", "nlg2choice"
PROBABILITY = Option(
    "probability",
    "how a language model gives every species a probability: one_pass (of its name, given image and question), or "
    "nlg2choice (as published: a free answer, then of its name as a choice, given that text alone)",
    ONE_PASS,
    (ONE_PASS, NLG2CHOICE),
)
GENUS_TREE, WHOLE_TREE = "genus", "all"
TREE = Option(
    "tree",
    "levels of the tree of IG and TreeGT: genus (species, genus, root, as published), or all (every level of the "
    "taxonomy); information depends on them",
    GENUS_TREE,
    (GENUS_TREE, WHOLE_TREE),
)
EXTRACTION = Option(
    "extraction",
    "how a name or reason is extracted from free text: by a constrained choice of the model (where it supports one), "
    "or by inclusion: the name that occurs in it",
    "choice",
    ("choice", "inclusion"),
)
PROMPT_SET = Option(
    "prompt_set",
    "prompts of the question, by level: the packaged ones (own), or a toml file",
    "own",
    check=_check_wordings,
)
ALL = "all"
PROMPTS_PER_LEVEL = Option(
    "prompts_per_level", "how many prompts of each level are sent, the first ones of the set, or all", ALL, least=1
)
ABSTENTION_IMAGES = Option(
    "abstention_images", "images that every prompt of the set is asked about", "unanswerable", ("unanswerable", "all")
)
