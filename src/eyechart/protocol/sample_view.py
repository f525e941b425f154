"""How the page shows the sample table of a protocol."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

Line = Mapping[str, str]  # the cells of a row by column
Cell = str | Callable[[Line], str]  # a column, or a text that is made of the cells of a row
Asked = tuple[str, dict[str, str]]  # the kind of a question, "" for the only one, and the slots of its prompt


@dataclass(frozen=True)
class SampleView:
    """How the page shows the rows of a sample table. An item is an image, or a question about one.

    Attributes:
        label_sets: Returns the label sets by name, of the columns of the table: the column of the outcome, and the
            column of the right label, "" for none.
        unit: What the page calls an item.
        question: The text that tells the items of one image apart.
        category: The category of an item.
        answer: The answer of the model.
        details: Returns more texts about an item, each with a name; None for none.
        slots: Returns what is filled into the prompt of an item; None if the prompt is the same for all.
        score: The column of the score of the answer, "" for none.
        sampling_unit: The column that identifies what was sampled, "" if that is the image.
    """

    label_sets: Callable[[Collection[str]], Mapping[str, tuple[str, str]]]
    unit: str = "image"
    question: Callable[[Line], str] | None = None
    category: Cell = "subset"
    answer: Cell = "prediction"
    details: Callable[[Line], Iterable[tuple[str, str]]] | None = None
    slots: Callable[[Line], Asked] | None = None
    score: str = ""
    sampling_unit: str = ""
