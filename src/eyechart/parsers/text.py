r"""What all parsers share: their result, and what remains of an answer's text once it is normalized.

`answer_text` folds compatibility forms, case, look-alikes and punctuation, so that equal texts look equal, and removes
what surrounds an answer: special tokens of chat templates, LaTeX, HTML tags and boxes. A box (`\boxed{B}`, GLM's
`<|begin_of_box|>`, `<answer>`) is a statement of the answer: it becomes "answer: B" on a line of its own, unless the
words around it state or doubt it already. The rest reads sentences and introductions such as 'the answer is'.

These patterns are matched against text with single spaces, and none has nested repetitions, so that parsing takes time
proportional to the length of the answer.

Sources: NFKC and the case rules are Unicode's (UAX 15, chapter 3.13), and the look-alikes are the Greek and Cyrillic
letters whose capitals look like Latin ones; the chat templates of Qwen, Llama, Mistral, Gemma, GLM, DeepSeek, Phi,
Cohere and Idefics; NVIDIA-NeMo/Gym 1790 and lmms-eval 1510 (`\boxed{\text{B}}`), stanford-crfm/helm 1803 and
EuroEval 1006 (special tokens after an answer); the failures of published scorers in arXiv 2603.06578 (answers outside
the prompt), arXiv 2602.18094 and Mill.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Generic, TypeVar
from unicodedata import normalize

from eyechart.parsers import languages
from eyechart.parsers.thinking import remove_thinking

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ParseResult(Generic[T]):
    """The strict and the lenient value of an answer; None means unparsed.

    >>> ParseResult.with_fallback(None, lambda: "cat"), ParseResult.with_fallback("dog", lambda: "cat")
    (ParseResult(strict=None, lenient='cat'), ParseResult(strict='dog', lenient='dog'))
    """

    strict: T | None
    lenient: T | None

    @classmethod
    def with_fallback(cls, strict: T | None, lenient: Callable[[], T | None]) -> "ParseResult[T]":
        """Return a result whose lenient value is the strict value, or `lenient()` if that is None."""
        return cls(strict, lenient() if strict is None else strict)


INVISIBLE = "\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\ufe0e\ufe0f\ufeff\u20e3"
CONTROLS = "".join(map(chr, range(9)))
BEFORE = str.maketrans(  # NFKC would replace the numero sign by "No"
    dict.fromkeys(INVISIBLE + CONTROLS) | {"№": "#", "🅱": "b", "🅰": "a"}
)
LATIN = str.maketrans("авекмнорстухѕіјһԁԛԝαβεζηικμνορτυχ", "abekmhopctyxsijhdqwabezhikmnoptyx")
MARKS = str.maketrans("‘’ʼ′＇‐‑‒–―−", "'''''------") | {ord("—"): " - "}
SIGNS = str.maketrans(  # of other scripts; NFKC has replaced the full-width ones
    dict.fromkeys("。।॥۔։።။།", ". ")
    | dict.fromkeys("、،", ",")
    | dict.fromkeys("؛፤", ";")
    | {"؟": "?", "፡": ":"}
    | dict.fromkeys("「『《〈‹", '"')
    | dict.fromkeys("」』》〉›", '" ')
    | dict(zip("【】〔〕〖〗⟨⟩⟪⟫", "[][][]()()", strict=True))
    | dict.fromkeys("¿¡", " ")
)


def fold(text: str) -> str:
    """Return the text with compatibility forms, case and look-alikes unified and invisible characters removed.

    >>> fold("ＧＯＬＤ\u200bﬁsh"), fold("В") == fold("B") == "b"
    ('goldfish', True)
    """
    normalized = normalize("NFKC", text.translate(BEFORE))
    cased = normalize("NFKC", normalized.casefold().upper().casefold())
    return cased.translate(LATIN).translate(MARKS).translate(SIGNS)


def fold_pattern(pattern: str) -> str:
    r"""Return a pattern that matches folded texts as the given one matches texts; its escapes stay.

    >>> fold_pattern(r"\A(?:Größe|В)\Z")
    '\\A(?:grösse|b)\\Z'
    """
    return "".join(part if part.startswith("\\") else fold(part) for part in re.split(r"(\\.)", pattern))


ROLE = r"(?:<\|(?:im_start|start_header_id|start|start_of_role|role_start|turn)\|>|<start_of_turn>|<\|turn>)\s*"
END = r"(?:<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|end_of_turn)\|>|</s>|<eos>|<end_of_turn>)\s*"
USER = rf"{ROLE}(?:user|human|system)\b|<\|(?:user|system|observation)\|>|\[inst\]|{END}(?:human|user|question)\s*:"
ASSISTANT = rf"{ROLE}(?:assistant|model)\b|<\|assistant\|>|\[/inst\]"
OTHER_TURN = re.compile(rf"(?:{USER})(?:(?!{ASSISTANT})[\s\S])*")
TOKEN = re.compile(
    rf"{ASSISTANT}|<\|[^<>|\s][^<>|\n]{{0,40}}\|>|</?s>|<(?:eos|bos|pad|unk|end_of_turn|start_of_turn|end_of_utterance"
    r"|end_of_text|turn\||\|turn|0x0a|eo[tahm]|sep|image|/?img)>|\[(?:(?:eos|bos)(?:_token)?|eot|sep|cls|pad|unk|/s"
    r"|unused_token_[0-9]+)\]|▁|###+\s*\Z"
)
SPEAKER = re.compile(
    r"\A\s*(?:(?:user|human)\s*:[\s\S]*\b)?(?:(?:assistant|chatgpt|gpt|ai|bot|model)\s*:|(?:assistant|model)\s*\n)\s*"
)

REASONS = re.compile(
    r"<(reasons?|rationale|reflection|analysis|explanation|justification)>(?:(?!</\1>)[\s\S])*(?:</\1>|\Z)"
)
COLOUR = re.compile(r"\\\\?(?:textcolor|color) ?\{[^{}]*\}")
BRACED = re.compile(r"\{\{([^{}]*)\}\}")
STYLED_BOX = re.compile(r"((?:\\\\?f?|\b)box(?:ed)? ?\{)\\\\?(?:bf|rm|it|tt|sf|em|bfseries|large)\b ?")
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
BOXED = re.compile(r"(?:\\\\?(?:f|frame)?box(?:ed)?|\\\\?bbox ?\[[^\[\]{}]*\]|\bboxed) ?\{([^{}]*)\}([.,;:!?)\]]?)")
MATHS = re.compile(r"(?<!\$)\$\$?(?!\$)(?:([^$\s](?:[^$\n]{0,80}[^$\s])?)|(\s[^$]{0,80}\s))\$\$?(?!\$)([.,;:!?)\]]?)")
SPACES = re.compile(r"\\\\?[(\[,;! ]|\\quad\b|&nbsp;")
CLOSINGS = re.compile(r"\\\\?[)\]]")
ESCAPES = re.compile(r"^#{1,6} (?=[a-z]{2})|\\(?:(?=[.\-_*#])|(?:left|right|displaystyle|large)\b ?)", re.MULTILINE)
MACROS = re.compile(r"\\\\?[a-z]+ ?\{|[\\${}(\[]+")
BOX_ENDS = re.compile(r"[^\w\n]*(?:\n|\Z)|[)\]}$\\]*[.!] ")
DEEPEST, LONGEST = 6, 200  # boxes within each other, and letters before one that are read


def _remove_markup(text: str, states: Callable[[str], bool]) -> str:
    r"""Return a folded text without special tokens, turns of others, struck text, LaTeX and tags.

    `states` says for the words before a box whether the box is a statement of its own.

    >>> _remove_markup(r"orange, so $\boxed{\text{b}}$<|im_end|>", lambda before: True)
    'orange, so  \nanswer: b\n \n'
    """
    plain = TAGGED.sub(r"\\boxed{\1\3}", REASONS.sub("\n", text))
    plain = SPEAKER.sub("", TOKEN.sub("\n", OTHER_TURN.sub("\n", plain)))
    plain = BARE_BOX.sub(r"\\boxed{\1}", BRACED.sub(r"{\1}", COLOUR.sub("", plain)))
    plain = STRUCK.sub(" ", STYLED_BOX.sub(r"\1", plain))
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
    return f" {(match[1] or match[2]).strip(' ')}{match[3]} "


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


DENIAL = 30  # letters of the longest denial
DENIED = re.compile(
    r"\b(?:not|no|never|neither|nor|without|unlike|(?:is|was|are)n['’]?t|rather than|instead of)[\s*_'\"“]+"
    r"(?:(?:an?|the|any)[\s*_'\"“]+)?\Z"
)
BULLETS = "•·●▪◦‣→⇒➡✅✔☑👉"
EMPHASIS = str.maketrans("", "", '*`"“”„«»')
SPACED = str.maketrans("-_", "  ")
EDGES = f" \t\n.,;:!?'\"“”„«»()[]{{}}<>|#=$*`~…\\-_{BULLETS}"
ENDS = EDGES.translate(str.maketrans("", "", "#-=<"))  # "C#" is not C
ARTICLE = re.compile(r"(?:a|an|the) (?=\S)")
SENTENCE = re.compile(r"\n|(?<=[.!?]) (?![#\d])")
WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
SEARCHED_WORD = re.compile(r"[^\W_]+")  # in a text that may have names

LINK = r"(?: is| would be| should be| must be)"
OPENING = (
    r"(?:∴ ?)?(?:(?:so|thus|therefore|hence|indeed|in short|in summary|short answer|sure|okay|ok|well|certainly"
    r"|definitely|clearly|of course|overall|in conclusion|hmm+"
    r"|(?:after|upon|among|of|out of) (?:the|these|those|all|careful\w*|closer|\w+ing)(?: [a-z]+){0,3}(?=,)"
    r"|(?:based on|looking at|judging by|from) (?:the|this) (?:image|picture|photo))[,.!:]? )?"
)
OPINION = r"(?:i(?:'d| would|'ll| will)? (?:say|choose|pick|select|go with|think|believe|guess)(?: that)?:? "
OPINION += r"|i(?:'m| am) (?:going with|(?:quite |very )?(?:sure|confident)(?: that)?) )?"
TITLE = r"(?:(?:the|my) )?(?:final |(?:only )?correct |best |right |closest |nearest |selected |chosen |predicted "
TITLE += r"|(?:most )(?:likely|appropriate|accurate|suitable|plausible|probable) )?"
NOUN = r"(?:answer|option|choice|letter|class name|class|label|category|prediction|match|guess|response|output|result"
NOUN += r"|verdict|conclusion|(?<=correct )one|(?<=right )one|(?<=best )one|(?:(?<=\n)|\A)final(?=:))"
LABELLED = rf"(?:{NOUN} (?=[(\[]?[a-z]\b(?!['-])))"
ABOUT = (
    r"(?: (?:to|for|of|about|in) (?:the|this|that|your|my) (?:\w+ )?(?:question|image|picture|photo|problem|query|case)"
    r"| here)?"
)
ANSWER = rf"(?:{TITLE}(?:{NOUN}{ABOUT}(?:{LINK}(?: ?[:=] ?|[ \n])| ?[:=] ?){LABELLED}?|{LABELLED}))?"
LEAD = re.compile(OPENING + OPINION + ANSWER)
SCENE = re.compile(
    OPENING + OPINION + r"(?:(?:it|this|that)(?:'s| is| looks like| appears to be| would be| must be| has to be)"
    r"|(?:the|this) (?:image|picture|photo)(?: shows| depicts| contains| is of| is)"
    r"|the (?:main )?(?:object|subject)(?: (?:in|of) (?:the|this) (?:image|picture|photo))? is)[ :\n]"
)
LABEL_NOUN = re.compile(rf"(?:the )?{LABELLED}")
STATED = re.compile(rf"\b(?:answer{ABOUT}|(?:option|choice)(?= is|:)){LINK}?(?: ?[:=] ?| )")


REFUSED = re.compile(r"\A(?:no,? ?)?(?:wait,? ?)?(?:no,? )?(?=the |my )")  # "No, the answer is B" states B


def word_set(text: str) -> frozenset[str]:
    """Return the words of a space-separated list."""
    return frozenset(text.split())


DOUBT = word_set(
    "not no none neither nor never cannot if unless unsure unclear unknown wrong incorrect can't don't doesn't isn't "
    "aren't wasn't didn't won't wouldn't couldn't"
)

CORRECTION = re.compile(
    r"\b(?:actually|wait|correction|or rather|scratch that|on second thoughts?|mistaken?|mistakes|i (?:was|am) wrong"
    r"|sorry(?= \w|[,:.]? (?:i|it|that|there|this)\b))\b"
)
UNCERTAIN = re.compile(
    r"\b(?:not (?:(?:\w+ly|so|too|quite|100%) )?(?:sure|certain)|unsure|uncertain|(?:or|if) not"
    r"|(?:unclear|(?:hard|difficult|impossible) to (?:say|tell))(?=[.,;!?\n]|\Z| (?:if|whether))"
    r"|no (?:idea|clue)|(?:cannot|can't|can not) (?:tell|say|be sure|be certain|determine))\b"
)


INTRODUCTION = re.compile(
    r"(?:\A|(?<=\n))(?:ans\b\.?(?: ?[:=])? ?(?=\S)|\[(?:final )?answer\] ?:? ?)"
    rf"|{fold_pattern(languages.INTRODUCTION)}"
)
ESCAPED_BREAKS = re.compile(r"(?:\\n){2,}|\A\\n(?=[a-z]\b)|(?:\\n)+(?=[^a-z]|\Z)")
ENTITIES = {"&quot;": '"', "&apos;": "'", "&#39;": "'", "&lt;": "<", "&gt;": ">", "&amp;": "&"}
ENTITY = re.compile("|".join(ENTITIES))
CLOSED = re.compile(r"\[/(?:final )?(?:answer|ans)\]")
COPULA = re.compile(languages.COPULA)


@lru_cache(maxsize=256)  # an answer is normalized for several parsers in a row, and many answers are equal
def answer_text(text: str) -> str:
    r"""Return the normalized answer: after any thinking, folded, without emphasis, with single spaces and line breaks.

    >>> answer_text("<think>A?</think>\n\n **Answer:**\n  C ")
    'answer: c'
    """
    plain = remove_thinking(ENTITY.sub(lambda match: ENTITIES[match[0]], text))
    folded = ESCAPED_BREAKS.sub("\n", CLOSED.sub("\n", _remove_markup(fold(plain), _states))).translate(EMPHASIS)
    lines = (" ".join(line.split()) for line in folded.splitlines())
    return _translate_introductions("\n".join(line for line in lines if line).replace(":\n", ": "))


def _translate_introductions(text: str) -> str:
    """Return a normalized text with "answer: " instead of what introduces an answer in another language.

    >>> _translate_introductions("die antwort ist b."), _translate_introductions("答えは3です")
    ('answer: b.', 'answer: 3')
    """
    translated = INTRODUCTION.sub("answer: ", text)
    return COPULA.sub("", translated) if translated != text else text


def _states(before: str) -> bool:
    """Return whether a box after these words of its line is a statement, neither introduced nor doubted by them."""
    sentence = split_sentences(" ".join(before.translate(EMPHASIS).split()))[-1:] or [""]
    *_, last = (None, *STATED.finditer(f"{sentence[0]} "))
    introduced = LEAD.fullmatch(f"{sentence[0]} ") or (last and last.end() > len(sentence[0]))
    return not introduced and DOUBT.isdisjoint(split_words(sentence[0]))


def strip_punctuation(text: str) -> str:
    """Return the text without surrounding punctuation."""
    return text.lstrip(EDGES).rstrip(ENDS)


def name_key(text: str) -> str:
    """Return the key of a name: equal for all spellings of one name, different for a part of it.

    >>> name_key('"The Great-White_shark."') == name_key("great white shark")
    True
    """
    name = strip_punctuation(" ".join(fold(text).translate(SPACED).split()))
    return ARTICLE.sub("", name, count=1) if ARTICLE.match(name) else name


def lowercase_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation.

    Source: own definition, for "regardless of word order" in arXiv 2603.06578, Table 16.

    >>> lowercase_words("Jack-o'-lantern, lit")
    ['jack', 'o', 'lantern', 'lit']
    """
    return SEARCHED_WORD.findall(text.lower())


def undenied_words(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of a text in lower case, and whether none denies what begins with it.

    >>> [word for word, kept in undenied_words("A cat, not a dog. It isn't the hen") if not kept]
    ['a', 'dog', 'the', 'hen']
    """
    lowered = text.lower()
    for match in SEARCHED_WORD.finditer(lowered):
        yield match[0], DENIED.search(lowered, max(0, match.start() - DENIAL), match.start()) is None


def split_words(text: str) -> list[str]:
    """Return the words of a normalized text, including inner apostrophes and hyphens."""
    return WORD.findall(text)


def strip_lead(text: str) -> tuple[str, bool]:
    """Return the text after an introduction to an answer, and whether the introduction refers to the image.

    >>> strip_lead("the answer is b."), strip_lead("this is a fish")
    (('b.', False), ('a fish', True))
    """
    if scene := SCENE.match(text):
        body = text[scene.end() :]
        return body[named.end() if (named := LABEL_NOUN.match(body)) else 0 :], True
    lead = LEAD.match(text)
    return text[lead.end() if lead else 0 :], False


def split_sentences(text: str) -> list[str]:
    """Return the sentences and lines of a normalized text."""
    return [sentence for sentence in SENTENCE.split(text) if sentence]


def stated_answers(text: str) -> Iterator[list[str]]:
    """Yield the text after every 'answer is' or 'answer:' that is not negated or doubted: the rest of its sentence up
    to the next of them, then the following sentences.

    >>> list(stated_answers("i don't think the answer is a. the answer is b. it has fins."))
    [['b.', 'it has fins.']]
    """
    statements: list[list[str]] = [[]]
    for sentence in split_sentences(text):
        cues, sure, read = [*STATED.finditer(sentence)], True, 0
        for cue, after in zip_longest(cues, cues[1:]):
            end = after.start() if after else len(sentence)
            before = REFUSED.sub("", sentence[read : cue.start()])
            sure = sure and DOUBT.isdisjoint(split_words(before))
            statements.append([sentence[cue.end() : end] if sure else ""])
            read = cue.start()
        if not cues:
            statements[-1].append(sentence)
    yield from (statement for statement in statements[1:] if statement[0])


def single_value(values: Iterable[T | None]) -> T | None:
    """Return the value if all values that are not None are equal, else None.

    >>> single_value([None, 3, 3]), single_value([3, 4]), single_value([])
    (3, None, None)
    """
    distinct = {value for value in values if value is not None}
    return distinct.pop() if len(distinct) == 1 else None
