"""OptionValues of RealBirdID's protocols."""

from eyechart.protocol.options import Option
from eyechart.realbirdid.prompt_sets import load_prompt_set


def check_wordings(value: str, _: str | None) -> None:
    """Refuse a file of wordings that cannot be read."""
    load_prompt_set(value)


CALLED = Option("called", "which names of species are put into prompts", "scientific", ("scientific", "common"))
EXTRACTION = Option(
    "extraction",
    "how a name or reason is found in free words: by constrained choice (where a model can choose), or where it occurs",
    "choice",
    ("choice", "inclusion"),
)
WORDINGS = Option(
    "wordings", "levels of wordings of the question that may be refused, in a toml file", "own", check=check_wordings
)
ABOUT = Option("about", "which birds all wordings are asked about", "unanswerable", ("unanswerable", "all"))
