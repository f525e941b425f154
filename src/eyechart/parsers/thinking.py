"""The thinking of a model before its answer, separated from the answer by tags or by the tokens of its chat template.

The tags are from Qwen, DeepSeek, GLM, InternVL, MiniCPM and Ernie (`<think>`), Seed (`<seed:think>`), MiniMax
(`<mm:think>`), Mistral (`[THINK]`), Kimi (`◁think▷`), Cohere (`<|START_THINKING|>`), Gemma 4 (`<|channel>thought`),
Sky-T1 (`<|begin_of_thought|>`) and gpt-oss, whose messages of the channels analysis and commentary are thinking.
"""

import re

WORD = r"(?:(?:seed|mm):)?think(?:ing)?|thoughts?|reasoning|scratchpad|cot|inner_monologue"
FINAL = r"(?:<\|start\|>assistant\s*)?<\|channel\|>final(?:\s*<\|constrain\|>\s*\w+)?\s*<\|message\|>"
START = re.compile(
    rf"<(?:{WORD})>|\[think(?:ing)?\]|◁think▷|<\|start_thinking\|>|<\|channel>|<\|begin_of_thought\|>"
    rf"|<\|think(?:ing)?\|>"
    r"|<\|channel\|>(?:analysis|commentary)",
    re.IGNORECASE,
)
END = re.compile(
    rf"</(?:{WORD})>|\[/think(?:ing)?\]|◁/think▷|<\|end_thinking\|>|<channel\|>|<\|end_of_thought\|>"
    rf"|<\|/think(?:ing)?\|>"
    rf"|{FINAL}|\Aanalysis(?=\S)(?s:.)*assistantfinal",
    re.IGNORECASE,
)
TAGS = (  # of chat templates whose tags are one token each
    ("<think>", "</think>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
)
OPENING = "<think>"  # written before a completion whose thinking the prompt opened


def split_thinking(text: str) -> tuple[str, str]:
    r"""Return the thinking of a completion, with its tags, and the answer after it.

    A chat template may write the opening tag, so that a completion has the closing tag only. Thinking without a
    closing tag was truncated: there is no answer.

    >>> split_thinking("A or C? It has scales.</think>\n\nB"), split_thinking("B"), split_thinking("B <think> or C")
    (('A or C? It has scales.</think>\n\n', 'B'), ('', 'B'), ('B <think> or C', ''))
    """
    *_, end = (0, *(match.end() for match in END.finditer(text)))
    if START.search(text, end):
        return text, ""
    answer = text[end:].lstrip() if end else text
    return text[: len(text) - len(answer)], answer


def remove_thinking(text: str) -> str:
    """Return the answer of a completion, without thinking.

    >>> remove_thinking("<think>A or C?</think> B"), remove_thinking("<think>A or C?")
    ('B', '')
    """
    return split_thinking(text)[1]


def is_tag(token: str) -> bool:
    """Return whether a token of a vocabulary begins or ends thinking.

    >>> is_tag("<think>"), is_tag("[/THINK]"), is_tag("think")
    (True, True, False)
    """
    return bool(START.fullmatch(token) or END.fullmatch(token))
