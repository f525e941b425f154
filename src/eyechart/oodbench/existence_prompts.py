"""OODBench's two opposite questions about an image and a category (arXiv 2602.18094, sections 5.3 and 5.4)."""

from collections.abc import Mapping

from eyechart.protocol.prompts import Prompt, prompt

WORDINGS: Mapping[str, tuple[str, str]] = {
    "direct": ("existence", "existence_not"),
    "cot": ("existence_cot", "existence_cot_not"),
}
QUESTIONS = ("positive", "negative")


def existence_prompts(reasoning: str = "direct") -> tuple[Prompt, Prompt]:
    """Whether the image contains a category, and whether it does not; `reasoning` is direct or cot (chain of thought).

    Raises KeyError for another reasoning.

    Source: arXiv 2602.18094, sections 5.3 and 5.4, word by word.

    >>> [each.fill(category="book") for each in existence_prompts()]
    ['Does this image contain a book? (yes or no)', 'Does this image not contain a book? (yes or no)']
    """
    positive, negative = WORDINGS[reasoning]
    return prompt(positive), prompt(negative)
