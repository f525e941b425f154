r"""Removal of what surrounds an answer: special tokens of chat templates, LaTeX, HTML tags, and boxes.

A box (`\boxed{B}`, GLM's `<|begin_of_box|>`, `<answer>`) is a statement of the answer: it becomes "answer: B" on a line
of its own, unless the words around it state or doubt it already.

Sources: the chat templates of Qwen, Llama, Mistral, Gemma, GLM, DeepSeek, Phi, Cohere and Idefics; NVIDIA-NeMo/Gym 1790
and lmms-eval 1510 (`\boxed{\text{B}}`), stanford-crfm/helm 1803 and EuroEval 1006 (special tokens after an answer).
"""

import re
from collections.abc import Callable

ROLE = r"(?:<\|(?:im_start|start_header_id|start|start_of_role|role_start|turn)\|>|<start_of_turn>|<\|turn>)\s*"
END = r"(?:<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|end_of_turn)\|>|</s>|<eos>|<end_of_turn>)\s*"
USER = rf"{ROLE}(?:user|human|system)\b|<\|(?:user|system|observation)\|>|\[inst\]|{END}(?:human|user|question)\s*:"
ASSISTANT = rf"{ROLE}(?:assistant|model)\b|<\|assistant\|>|\[/inst\]"
OTHER_TURN = re.compile(rf"(?:{USER})(?:(?!{ASSISTANT})[\s\S])*")
TOKEN = re.compile(
    rf"{ASSISTANT}|<\|[^<>|\s][^<>|\n]{{0,40}}\|>|</?s>|<(?:eos|bos|pad|unk|end_of_turn|start_of_turn|end_of_utterance"
    r"|end_of_text|turn\||\|turn|0x0a)>|\[(?:eos|bos|eot|sep|cls|pad|unk)\]|▁"
)
SPEAKER = re.compile(r"\A\s*(?:(?:user|human)\s*:[\s\S]*\b)?(?:assistant\s*[:\n]|model\s*\n)\s*")

REASONS = re.compile(
    r"<(reasons?|rationale|reflection|analysis|explanation|justification)>(?:(?!</\1>)[\s\S])*(?:</\1>|\Z)"
)
COLOUR = re.compile(r"\\\\?(?:textcolor|color) ?\{[^{}]*\}")
BRACED = re.compile(r"\{\{([^{}]*)\}\}")
BARE_BOX = re.compile(r"\\\\?box(?:ed)? ([a-z0-9])(?![a-z0-9])")
STRUCK = re.compile(r"~~[^~\n]+~~|<(del|strike)>[^<>]*</\1>")
FORMAT = re.compile(r"<(b|i|u|em|strong|code|span|font|mark|small|big|tt|ref)(?: [^<>]*)?>([^<>]*)</\1>")
BLOCK = re.compile(r"</?(?:p|br|div|li|ul|ol|pre|h[1-6]|html|body|answer)(?: [^<>]*)?/?>")
TAGGED = re.compile(
    r"<\|begin_of_box\|>([^<{}]*)<\|end_of_box\|>|<((?:final[_ ]?|correct[_ ]?)?answer|final|ans"
    r"|selected|count|choice|option|letter|label|output|response"
    r"|result|solution|conclusion|class|class_?name|prediction)>([^<>{}]*)</\2>"
)
LATEX = (
    r"(?:text(?:bf|it|rm|tt|sf|md|up|sc|normal)?|math(?:bf|rm|it|sf|tt|bb|cal|frak|scr|normal)|boldsymbol|bm|mbox|hbox"
    r"|emph|underline|operatorname|large|displaystyle)"
)
WRAPPED = re.compile(rf"\\\\?{LATEX} ?\{{([^{{}}]*)\}}|\{{\\\\?(?:bf|rm|it|tt|sf|em|bfseries) ([^{{}}]*)\}}")
BOXED = re.compile(r"\\\\?f?box(?:ed)? ?\{([^{}]*)\}([.,;:!?)\]]?)")
MATHS = re.compile(r"(?<!\$)\$\$?(?!\$)(?:([^$\s](?:[^$\n]{0,80}[^$\s])?)|(\s[^$]{0,80}\s))\$\$?(?!\$)([.,;:!?)\]]?)")
SPACES = re.compile(r"\\\\?[(\[,;! ]|\\quad\b|&nbsp;")
CLOSINGS = re.compile(r"\\\\?[)\]]")
ESCAPES = re.compile(r"\\(?:(?=[.\-_*#])|(?:left|right|displaystyle|large)\b ?)")
MACROS = re.compile(r"\\\\?[a-z]+ ?\{|[\\${}(\[]+")
BOX_ENDS = re.compile(r"[^\w\n]*(?:\n|\Z)|[)\]}$\\]*[.!] ")
DEEPEST, LONGEST = 6, 200  # boxes within each other, and letters before one that are read


def remove_markup(text: str, states: Callable[[str], bool]) -> str:
    r"""Return a folded text without special tokens, turns of others, struck text, LaTeX and tags.

    `states` says for the words before a box whether the box is a statement of its own.

    >>> remove_markup(r"orange, so $\boxed{\text{b}}$<|im_end|>", lambda before: True)
    'orange, so  \nanswer: b\n \n'
    """
    plain = TAGGED.sub(r"\\boxed{\1\3}", REASONS.sub("\n", text))
    plain = SPEAKER.sub("", TOKEN.sub("\n", OTHER_TURN.sub("\n", plain)))
    plain = BARE_BOX.sub(r"\\boxed{\1}", BRACED.sub(r"{\1}", COLOUR.sub("", plain)))
    plain = STRUCK.sub(" ", plain)
    for _ in range(DEEPEST):
        inner = _unboxed(WRAPPED.sub(_unwrapped, FORMAT.sub(r"\2", plain)), states)
        if inner == plain:
            break
        plain = inner
    plain = CLOSINGS.sub("", SPACES.sub(" ", MATHS.sub(_unwrapped_maths, BLOCK.sub("\n", plain))))
    return ESCAPES.sub("", plain)


def _unwrapped(match: re.Match[str]) -> str:
    return match[1] if match[1] is not None else match[2]


def _unwrapped_maths(match: re.Match[str]) -> str:
    return f" {match[1] or match[2]}{match[3]} "


def _unboxed(text: str, states: Callable[[str], bool]) -> str:
    """Return the text with the content of each box in its sentence, or as a statement on a line of its own."""
    parts, index = list[str](), 0
    for match in BOXED.finditer(text):
        line = text[max(index, match.start() - LONGEST) : match.start()]
        before = MACROS.sub(" ", line[max(line.rfind("\n"), 0) :]).strip()
        ends = match[2] in tuple(".!") or BOX_ENDS.match(text, match.end()) is not None
        alone = before and ends and ("\n" in line or not index) and states(before)
        content = match[1].strip()
        parts += [text[index : match.start()], f"\nanswer: {content}\n" if alone else f" {content}{match[2]} "]
        index = match.end()
    return "".join([*parts, text[index:]])
