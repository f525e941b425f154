"""Answers that say that there is no image, which are no answers to a question about it, in any protocol.

A server that drops images (ollama 9664, dottxt-ai/outlines 1809, ggml-org/llama.cpp 4436) gives such answers, often
with a yes or a no before them. "No, I can't see a dog." is about the content of an image and is an answer.
"""

import re
from functools import cache

from eyechart.parsers import languages
from eyechart.parsers.text import answer_text, fold_pattern

NOUN = r"(?:image|picture|photo|photograph|attachment|screenshot|visual input)s?(?: files?)?"
ABSENT = r"(?:attached|provided|uploaded|included|shared|supplied|given|sent|posted|here|available|present|yet)"
ABSENT += r"(?! (?:to|on|with|in) (?:a|an|the|its|his|her|their) "
ABSENT += r"(?!message|prompt|question|request|post|chat|conversation))"
SENT_TO = (
    r"(?:in|with|to|from) (?:your|our|the|this) (?:message|conversation|chat|prompt|request|question|post"
    r"|query|input"
    r"|upload|text|thread)"
)
WHERE = rf"(?=[.,;:!?)\n]|\Z| -| (?:{ABSENT}|{SENT_TO}|from you|on my end|at all"
WHERE += r"|to (?:analy[sz]e|look at|examine|see|view|count|describe|identify|inspect)"
WHERE += r"|in order|so|and|but|for me|that you|you|directly|because|as|since|right now|at the moment)\b)"
CANNOT = (
    r"(?:(?:do not|don't|lack)(?: currently)? (?:have )?the (?:ability|capability) to"
    r"|(?:do|does|did|could|would|have|has)(?:n't| not)"
    r"|can't|cannot|can not|unable to|not able to|never|(?:no|without the) ability to|incapable of|not capable of)"
)
SEE = (
    r"(?:see|seeing|view|viewing|access|find|receive|open|load|detect|display|process|processing"
    r"|analy[sz]e|analy[sz]ing"
    r"|interpret|have|get|look at|have access to|perceive|read|identify)"
)
ADVERB = r"(?: (?:actually|currently|directly|physically|seem to|appear to|yet|even|visually))*"
WHICH = r"(?: (?:any|an|a|the|your|that|this|actual|attached|uploaded|provided|mentioned|such|or|view|see"
WHICH += r"|analy[sz]e|process))*"
ASK = r"(?:please|kindly|(?:can|could|would|will) you"
ASK += r"|(?:if|once|when|after|as soon as|until) you(?:'ve| have| can| could)?"
ASK += r"|forgot to|need you to|free to|try(?:ing)? to|try|i(?:'ll| will| would|'d)? need|help if you)"
SEND = (
    r"(?:re-?)?(?:upload|uploading|uploaded|provide|provided|share|shared|attach|attaching|attached|send"
    r"|sent|sending|paste"
    r"|submit|post|include|supply)"
)
GIVEN = r" (?:given|provided with|provided|shown|sent|received)"
PHRASES = (
    rf"\b{CANNOT}{ADVERB} {SEE}{WHICH} {NOUN}(?: you \w+)?{WHERE}",
    (
        rf"\bno {NOUN}(?: (?:is|are|was|were|has been|have been|appears to be|seems to be|to be|to|actually))?"
        rf" (?:{ABSENT}|found|detected|attach\w*|visible to me|analy[sz]e|{SENT_TO})\b"
    ),
    rf"\bno (?:attached|uploaded|accompanying|provided|actual|such) {NOUN}{WHERE}",
    rf"(?:\A|\b(?:there(?:'s| is| was| are)|i (?:see|have|received|got|find)) )no {NOUN}(?=[.,;:!?)\n]|\Z)",
    (
        rf"\b{NOUN}(?: you \w+)? (?:(?:is|was|were|has|have|did|does|are)(?:n't| not)|(?:is|was) never)"
        rf"(?: (?:been|actually|seem to|appear to|come|get|to be|be|currently|successfully))*"
        rf" (?:{ABSENT}|through|load(?:ed)?|upload|attach|come|showing up|show up|(?:visible|accessible) to me)\b"
    ),
    (
        rf"\b{NOUN} (?:not found|(?:could not|couldn't|cannot|can't) be"
        r" (?:loaded|displayed|opened|processed|read|accessed|viewed|found|retrieved))"
    ),
    rf"\b{NOUN} (?:(?:is|was|seems|appears)(?: to be)? missing(?! \w)|failed to (?:load|upload|attach|process))",
    (
        rf"\b{ASK}(?: (?:to|also|just|try|again|first|go ahead and))* {SEND}(?: me)?"
        rf"(?: (?:it|the|an|your|a|that|any|actual|correct))* {NOUN}\b"
    ),
    rf"(?:\A|[.!?,\n] ?)(?:upload|attach|send|share|provide)(?: (?:the|an|your|me))+ {NOUN}\b",
    (
        rf"\b(?:haven't|have not|hasn't|didn't|did not|forgot to)(?: (?:actually|yet|seem to have|been))?"
        rf" {SEND}(?: (?:any|an|a|the|your))* {NOUN}\b"
    ),
    rf"\b(?:haven't|have not|wasn't|was not|not)(?: been)?{GIVEN}(?: (?:any|an|a|the))+ {NOUN}\b",
    rf"\bwaiting for(?: (?:any|an|a|the|your))* {NOUN}{WHERE}",
    (
        r"\b(?:message|prompt|request|question|post|query) (?:does not|doesn't|did not|didn't)(?: seem to"
        r"| appear to)?"
        rf" (?:contain|include|have|come with)(?: (?:any|an|a|the|actual|attached))* {NOUN}{WHERE}"
    ),
    rf"\b(?:does not|doesn't|do not|don't) (?:appear|seem) to be(?: (?:any|an|a|attached))+ {NOUN}{WHERE}",
    rf"\bneed (?:to (?:see|view) )?(?:the|an|your) {NOUN} (?:to|in order|first|before)\b",
    rf"\bwithout (?:seeing |having |access to |being able to see |viewing )?(?:an|the|any|your) {NOUN}{WHERE}",
    r"\b(?:text-based|text-only) (?:ai|model|assistant|language model)\b",
    (
        rf"\b{CANNOT}{ADVERB} (?:have|{SEE})(?: (?:any|the|to))*"
        r" (?:vision|visual|image|image-processing|image-viewing|multimodal)"
        r" (?:capabilit\w+|content|input|inputs|data|understanding|processing|analysis|media|abilit\w+)\b"
    ),
    r"\bno (?:vision|visual|image)(?:-\w+)? (?:capabilit\w+|abilit\w+|support|input|inputs)\b",
    (
        r"\b(?:nothing|no files?) (?:is|was|were|has been|have been|appears to be|seems to be)"
        rf" (?!available|present|here|given|yet){ABSENT}\b"
    ),
    rf"\b(?:have|has|had|did|do|was|were)(?:n't| not)(?: yet| actually)? {SEND} (?:anything|any files?|a file)\b",
    rf"\bno {NOUN} for me to (?:look|see|view|analy[sz]e|examine|inspect|check)\b",
    (
        r"(?<!image )(?<!picture )(?<!photo )(?<!sign )\b(?:only|just) (?:contains?|includes?|has|have"
        r"|process|handle|see|read|received?|got|support|supports|accept"
        r"|accepts|work with)(?: your| the| plain)? text\b(?! (?:on|in the (?:image|picture|photo)))"
    ),
    rf"\b(?:{NOUN}|{NOUN} inputs?|vision|visual inputs?) (?:is|are)(?:n't| not)(?: currently)? supported\b",
    rf"\b(?:does|do)(?:n't| not)(?: currently)? support(?: the)? (?:{NOUN}|vision|visual)\b",
    rf"\b(?:which|what) {NOUN} (?:do|are|did) you (?:mean|mean to|referring|talking|refer|want|send)\b",
    (
        r"\bnone (?:is|are|was|were|has been|have been)(?: yet| actually)?"
        r" (?:attached|provided|uploaded|shared|supplied|sent|given to me)\b(?! (?:to|on|with|in) (?:a|an|the|its) )"
    ),
    rf"\[(?:{NOUN}) (?:not available|unavailable|missing|omitted|removed)",
    rf"\b0 {NOUN} (?:{ABSENT}|(?:is|are|was|were) {ABSENT})\b",
)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return patterns of the English phrases, of signs of another language, and of the phrases of all languages.

    They take 0.05 s to compile, which a run with stored answers of other kinds need not wait for.
    """
    return (
        re.compile("|".join(PHRASES)),
        re.compile(fold_pattern(languages.NO_IMAGE_LANGUAGE)),
        re.compile("|".join(map(fold_pattern, languages.NO_IMAGE))),
    )


def says_no_image(text: str) -> bool:
    """Return whether an answer says that no image came with the question, or asks for one.

    >>> says_no_image("Yes, I can help! Please upload the image."), says_no_image("No, I can't see a dog.")
    (True, False)
    """
    return lacks_image(answer_text(text))


def lacks_image(answer: str) -> bool:
    """Return whether a normalized answer says that there is no image."""
    english, language, other = _patterns()
    if english.search(answer):
        return True
    return language.search(answer) is not None and other.search(answer) is not None
