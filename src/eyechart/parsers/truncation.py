"""What a reply that ended at the token limit answered completely before the cut.

A reply may stop anywhere, so that its last line says nothing sure: "Yes, I need to check whether" is no yes. Complete
are a JSON object, a letter on a line of its own, and for an answer of one line the first line, if a line end follows
it. Such a line answers only as a whole: one word for a letter, yes, no and a number; the name for a class. A name that
is cut in the middle is truncated, and so is one that ends at the cut, since nobody knows what would have followed
("great" of "great white shark"). Thoughts that were cut off are no answer.
"""

import json
import re

from eyechart.parsers.text import answer_text, remove_thinking, split_words

LONGEST_NAME = 8
LABEL = re.compile(r"^(?:final )?answer ?: ?")  # "so the answer is B" may be a thought


def read_complete_word(text: str) -> str:
    r"""Return the first line of a truncated reply if it is one word, or its JSON object; "" where there is neither.

    >>> read_complete_word("Yes.\n\nI see a"), read_complete_word("Yes, I need to check\nthe")
    ('Yes.', '')
    """
    first = next(iter(_complete_lines(text)), "")
    return _json_object(text) or (first if _is_word(first) else "")


def read_complete_letter(text: str) -> str:
    r"""Return the line of a truncated reply that is one letter, its JSON object, or ""; two letters are none.

    >>> read_complete_letter("It has scales.\n**B**\nBecause the"), read_complete_letter("A\nor\nB\nor")
    ('**B**', '')
    """
    found = [line for line in _complete_lines(text) if _is_word(line) and len(_bare(line)[0]) == 1]
    return _json_object(text) or (found[0] if len({_bare(line)[0] for line in found}) == 1 else "")


def read_complete_name(text: str) -> str:
    r"""Return the first line of a truncated reply if it may be a name and nothing else, or "".

    >>> read_complete_name("great white shark\nIt is"), read_complete_name("great white")
    ('great white shark', '')
    """
    first = next(iter(_complete_lines(text)), "")
    return "" if first.endswith((":", ",")) or len(_bare(first)) > LONGEST_NAME else first


def _complete_lines(text: str) -> list[str]:
    """Return the lines after any thinking that a line end completed, without those that say nothing."""
    lines = remove_thinking(text).splitlines(keepends=True)
    return [line.strip() for line in lines if line.endswith(("\n", "\r")) and line.strip()]


def _bare(line: str) -> list[str]:
    return split_words(LABEL.sub("", answer_text(line), count=1))


def _is_word(line: str) -> bool:
    return len(_bare(line)) == 1


def _json_object(text: str) -> str:
    said = remove_thinking(text).strip()
    try:
        return said if said.startswith("{") and isinstance(json.loads(said), dict) else ""
    except (ValueError, RecursionError):
        return ""
