"""The complete part of an answer that was truncated at the token limit.

The last line of a truncated response is unreliable: "Yes, I need to check whether" is not a yes. These parts count as
complete: a JSON object, a letter on its own line, and the first line if a line break follows it. A line must be a
whole answer: one word for a letter, yes, no or a number, and the name for a class. A name at the end of the response
counts as truncated, because more words could follow ("great" of "great white shark"). Truncated thinking has no answer.
"""

import json
import re

from eyechart.parsers.text import answer_text, split_words
from eyechart.parsers.thinking import remove_thinking

LONGEST_NAME = 8
LABEL = re.compile(r"^(?:final )?answer ?: ?")  # "so the answer is B" may be part of the reasoning


def read_complete_word(text: str) -> str:
    r"""Return the JSON object of a truncated response, or its first line if that is one word, else "".

    >>> read_complete_word("Yes.\n\nI see a"), read_complete_word("Yes, I need to check\nthe")
    ('Yes.', '')
    """
    first = next(iter(_complete_lines(text)), "")
    return _json_object(text) or (first if _is_word(first) else "")


def read_complete_letter(text: str) -> str:
    r"""Return the JSON object of a truncated response, or its line that is one letter, else ""; two letters give "".

    >>> read_complete_letter("It has scales.\n**B**\nBecause the"), read_complete_letter("A\nor\nB\nor")
    ('**B**', '')
    """
    letter_lines = [line for line in _complete_lines(text) if _is_word(line) and len(_bare(line)[0]) == 1]
    return _json_object(text) or (letter_lines[0] if len({_bare(line)[0] for line in letter_lines}) == 1 else "")


def read_complete_name(text: str) -> str:
    r"""Return the first line of a truncated response if it can be a name, else "".

    >>> read_complete_name("great white shark\nIt is"), read_complete_name("great white")
    ('great white shark', '')
    """
    first = next(iter(_complete_lines(text)), "")
    return "" if first.endswith((":", ",")) or len(_bare(first)) > LONGEST_NAME else first


def read_complete_lines(text: str) -> str:
    r"""Return the complete lines of a truncated response, such as those of a list of names.

    >>> read_complete_lines("cat\n\ndog\ngreat white")
    'cat\ndog'
    """
    return "\n".join(_complete_lines(text))


def _complete_lines(text: str) -> list[str]:
    """Return the non-empty lines after any thinking that end with a line break."""
    lines = remove_thinking(text).splitlines(keepends=True)
    return [line.strip() for line in lines if line.endswith(("\n", "\r")) and line.strip()]


def _bare(line: str) -> list[str]:
    return split_words(LABEL.sub("", answer_text(line), count=1))


def _is_word(line: str) -> bool:
    return len(_bare(line)) == 1


def _json_object(text: str) -> str:
    stripped = remove_thinking(text).strip()
    try:
        return stripped if stripped.startswith("{") and isinstance(json.loads(stripped), dict) else ""
    except (ValueError, RecursionError):
        return ""
