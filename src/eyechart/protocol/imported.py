"""Results of other tools. A record names the tool as its protocol; here is what tables, page and exports read of it."""

from functools import cache
from typing import Any, ClassVar

from eyechart.errors import UnavailableError
from eyechart.protocol.base import Predictions, Protocol
from eyechart.protocol.context import Context
from eyechart.protocol.registry import get_protocol, is_registered


class Imported(Protocol[Predictions]):
    """Results that another tool computed with its own prompts and scorers; nothing can be asked."""

    requires: ClassVar[tuple[str, ...]] = ()
    sample_unit: ClassVar[str] = "sample"
    knows_images: ClassVar[bool] = False

    def predict(self, context: Context) -> Predictions:  # noqa: ARG002
        """Raise UnavailableError: there is no model."""
        raise UnavailableError("Results of another tool cannot be asked for again. Import its file: eyechart import")


@cache
def imported_protocol(tool: str) -> Protocol[Any]:
    """Return the protocol that stands for the prompts and scorers of a tool.

    >>> imported_protocol("lmms-eval").summary
    'Imported results of lmms-eval, with its own prompts and scores.'
    """

    class OfTool(Imported):
        name: ClassVar[str] = tool
        summary: ClassVar[str] = f"Imported results of {tool}, with its own prompts and scores."

    return OfTool()


def recorded_protocol(name: str) -> Protocol[Any]:
    """Return the protocol of a record: the registered one, or that of the tool whose results were imported.

    >>> recorded_protocol("closed_world").short_name, recorded_protocol("lmms-eval").short_name
    ('CW', '')
    """
    return get_protocol(name) if is_registered(name) else imported_protocol(name)
