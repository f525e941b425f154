"""Words of other languages that say that an answer follows, as in "Antwort: B" and "答案是B", at the start of a line.

A negation after them ("Die Antwort ist nicht A") stays in what is read as the answer, which is then no label.
"""

import re

from eyechart.parsers.folding import fold_pattern

NOUNS = (
    *("antwort", "lösung", "réponse", "respuesta", "resposta", "risposta", "odpowiedź", "cevap", "antwoord", "svar"),
    *("jawaban", "ответ", "відповідь", "答案", "正确答案", "正確答案", "回答", "答え", "正解", "정답", "답"),
    *("الإجابة", "إجابة", "الجواب", "उत्तर"),
)
TITLE = r"(?:(?:die|der|la|a|meine|ma|mi|minha|das) )?"
TITLE += r"(?:(?:richtige|korrekte|finale|bonne|правильный|सही|最终|最終) ?)?"
MORE = r"(?: (?:correcta|correcte|correta|corretta|final|finale|الصحيحة|الصحيح))?"
IS = r"(?:\]? ?: ?| (?:ist|lautet|est|es|é|è|هي|هو) (?:(?:la|a) )?(?:: )?|是:? ?|为 ?|は ?|은 ?|\] ?)"
INTRODUCTION = re.compile(fold_pattern(rf"(?:\A|(?<=\n))\[?{TITLE}(?:{'|'.join(NOUNS)}){MORE}{IS}"))
COPULA = re.compile(r"(?<=[a-z0-9)])(?:です|입니다| है)(?=[.\s]|\Z)")


def translate_introductions(text: str) -> str:
    """Return a normalized text with "answer: " instead of what introduces an answer in another language.

    >>> translate_introductions("die antwort ist b."), translate_introductions("答えは3です")
    ('answer: b.', 'answer: 3')
    """
    translated = INTRODUCTION.sub("answer: ", text)
    return COPULA.sub("", translated) if translated != text else text
