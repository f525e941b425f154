"""Parser of counts.

Strict is ASCII digits and nothing else. Lenient parses digits and English number words below one hundred, and "no" and
"none" as 0 (arXiv 2602.18094's counting questions), if all numbers of the answer are equal, or all numbers after 'the
answer is', or if later numbers only enumerate what the first number counts. Different numbers, a bound
("at least 3"), a range, a fraction, a count that goes on ("one on the left and another on the right"), a share ("two on
each side"), others beside the number ("2 adults and a child"), groups, lengths, "no idea" and an answer that there is
no image are unparsed. `compat.parse_first_number` is a simpler rule.

"There are two fences. One is on the left." states 2, and so does "2 cars. Car 1: red. Car 2: blue." Later numbers
enumerate if they number a list, name a part of the count ("one of them", "one is"), are parts that add up to it, or are
a pronoun ("the first one"). "Two dogs on the left and one on the right" does not state a count of all dogs. An answer
with a correction or a doubt is unparsed. Source: the answers printed in Figs. 19–22 of arXiv 2602.18094.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, takewhile
from typing import NamedTuple
from unicodedata import category

from eyechart.parsers import json_answers
from eyechart.parsers.no_image import lacks_image
from eyechart.parsers.text import (
    CORRECTION,
    UNCERTAIN,
    ParseResult,
    answer_text,
    fold_pattern,
    single_value,
    split_sentences,
    stated_answers,
    word_set,
)

GROUPED = re.compile(r"[0-9]{1,9}|[0-9]{1,3}(?:,[0-9]{3}){1,2}")
UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
TEENS = "seventeen eighteen nineteen"
ROUND = "twenty thirty forty fifty sixty seventy eighty ninety"
SMALL = {word: value for value, word in enumerate(f"{UNITS} {TEENS}".split())}
TENS = {word: 10 * value for value, word in enumerate(ROUND.split(), 2)}
NOTHING = {"no": 0, "none": 0}
COUNTS = SMALL | TENS | NOTHING
OPENS, CLOSES = "([{\"'~=", ".,;:!?)]}\"'"


def split_words(text: str) -> Iterator[str]:
    """Yield words without surrounding punctuation; 'twenty-one' becomes two words."""
    for chunk in text.split():
        word = chunk.lstrip(OPENS).rstrip(CLOSES)
        parts = word.split("-")
        yield from parts if all(part in COUNTS for part in parts) else [word]


def find_numbers(words: Sequence[str]) -> Iterator[tuple[int | None, int, int]]:
    """Yield every number with its start and end in the words; None for a word with digits that is not a count.

    >>> list(find_numbers(["twenty", "one", "or", "2.5"]))
    [(21, 0, 2), (None, 3, 4)]
    """
    index = 0
    while index < len(words):
        first, second = words[index], words[index + 1] if index + 1 < len(words) else ""
        if first in TENS and 0 < SMALL.get(second, 0) < 10:
            yield TENS[first] + SMALL[second], index, index + 2
            index += 1
        elif first in COUNTS or any(letter.isdigit() for letter in first):
            digits = int(first.replace(",", "")) if GROUPED.fullmatch(first) else None
            yield COUNTS.get(first, digits), index, index + 1
        index += 1


VAGUE = word_set(
    "dozen dozens hundred hundreds thousand thousands million half couple pair pairs several between least most minus "
    "many multiple numerous few negative percent not idea clue way doubt answer information cannot unable unclear "
    "unknown unsure sure can't don't maximum minimum halves thirds quarters fifths tenths"
)
BOUND, RANGE = word_set("over under than to or up > < <= >="), word_set("or to plus times % + - / x something ish")
MARKER = re.compile(r"(?:^|(?<=[:.;!?] ))[-•# ]*(?:[a-z]+ )?#?([0-9]{1,2})(?:[.):]|(?= -))(?= )")
CLAUSE = re.compile(r"([,;:](?= )|\(| - )")
HOW_MANY = re.compile(r"\bhow many\b")
AT_LEAST = re.compile(r"\bat least (?=\w)")
ORDINAL = re.compile(r"[0-9]+(?:st|nd|rd|th)")
POINTS_OUT = word_set("a an the this that another other each every first second third last which")
JOINS = word_set("and or but")
OTHERS = word_set("other others further more")
ITEM_VERBS = word_set("is are was were has have appears appear seems seem looks look sits sit stands stand")
ITEM_PLACES = word_set("on in at near behind beside by under above below next with from of")
ITEM_LOOKS = word_set(
    "black white brown grey gray red blue green yellow orange pink purple golden tan dark light large small big little "
    "tall short adult young old male female man woman boy girl"
)
PLACES = word_set("left right middle center centre side foreground background front behind back top bottom")

IN_ALL = word_set("image picture photo scene visible seen shown present total all altogether")


ORDINALS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9}
NEXT = re.compile(
    rf"(?:\ban?|\band(?: then)? the|[,;.] the|\bmaybe|\bpossibly|\bperhaps|\bprobably) ({'|'.join(ORDINALS)})\b"
    r"(?! (?:floor|row|shelf|storey|story|level|time|glance|look|thought)s?\b)"
)
CONTINUED = re.compile(
    r"(?<!next to )\banother\b|\b(?:an|and|some|plus) additional (?!detail|info|context|note)|\bplus (?:an?|the|some)\b"
    r"|\bof (?:others|another)\b|\bthe (?:rest|remaining \w+) are\b"
    r"|\b(?:may|might|could)(?: also| well)? be (?:more|others|another)(?! \w+(?<!hidden)\b(?! of))"
    r"|\b(?:and|plus|with|are|is|also|possibly|maybe|perhaps|one|some|a few|several)(?: \w+)?"
    r" (?:more(?! \w+ly\b| than)|others)\b"
)
ONE_MORE = re.compile(r"\b(?:and|plus) another(?: one)?(?= ?(?:[.,;!?\n]|\Z))")
THE_OTHER = re.compile(
    r"\b(?<!of )the other(?= (?:one|is|on|in|at|near|to)\b|[.,;]|\Z)|\+ ?[0-9a-z]"
    r"|(?:[,;]|\b(?:and|while|whereas|with)) the other\b(?! (?:side|end|hand)\b)|\. the other \w+s\b(?! (?:are|were)\b)"
)
AND_A = r"(?:(?:\b(?:and|plus|with|as well as|along with|alongside)|,)(?: (?:also|maybe|possibly|perhaps|then))? "
AND_A += r"(?:an?|its|their|her|his) )"
AND_AN = re.compile(AND_A)
A_ONE, AND_A_ONE = (re.compile(rf"{article}(?:[\w-]+ ){{0,3}}ones?\b") for article in (r"\b(?:an?|another) ", AND_A))
YOUNG = re.compile(
    rf"{AND_A}(?:[\w-]+ ){{0,2}}(?:pupp(?:y|ies)|pups?|kittens?|cubs?|cal(?:f|ves)|foals?|lambs?|chicks?|ducklings?"
    r"|piglets?|bab(?:y|ies)|child(?:ren)?|kids?|infants?|toddlers?|twins?)\b"
)
WITH_ANOTHER = re.compile(r"\b(?:with|plus|as well as) another\b")
GROUPS = word_set(
    "group groups pack packs herd herds flock flocks school schools bunch bunches row rows pile piles stack stacks "
    "cluster clusters crowd crowds litter litters swarm swarms set sets line lines"
)
PARTS = re.compile(r"[:;(\n]|[.!?] | - ")
A_PART = re.compile(r"(?:\band|,) an?\b")
MEASURES = word_set("cm mm km kg lb lbs inch inches degrees o'clock pm feet ft percent years")
A_SHARE = word_set("each every either both per apiece")
REFERS = re.compile(r"\b(?:another|the other)(?: one)?(?= (?:is|was|on|in|at|near|behind|beside|by|under|with|to)\b)")
PART_OF = (("of", "which"), ("of", "whom"), ("of", "them"))
BOUNDED = re.compile(r"[(,;-] ?(?:at least|at most|or more|or fewer|minimum|maximum)\b")


class _Mention(NamedTuple):
    """A number with the words of its clause, its start and end among them, and the punctuation before the clause.

    `sign` is "" if the clause starts a sentence; `value` is None for a word with digits that is not a count.
    """

    value: int | None
    clause: tuple[str, ...]
    start: int
    end: int
    sign: str

    @property
    def first_word(self) -> str:
        """The first word of the number."""
        return self.clause[self.start]

    @property
    def follows(self) -> str:
        """The word after the number, "" if there is none."""
        return self.clause[self.end] if self.end < len(self.clause) else ""


def _read_stated_count(answer: str) -> int | None:
    """Return the first count that a text states, None if a later number does not only enumerate.

    "another" and "the other" count as one where that makes them parts of the count.

    >>> _read_stated_count("there are two dogs. one is brown."), _read_stated_count("there are 3 dogs and 2 cats.")
    (2, None)
    """
    value = _stated_count(answer)
    value = _stated_count(REFERS.sub("one", answer)) if value is None and REFERS.search(answer) else value
    if (
        value is None
        or ONE_MORE.search(answer)
        or _next_ordinal(answer) > value
        or (value == 1 and CONTINUED.search(answer))
    ):
        return None
    return value


def _goes_on(answer: str, count: int) -> bool:
    """Return whether a text that has no other number goes on counting, or counts a share of what is there.

    >>> [_goes_on(text, 1) for text in ("one on the left and another on the right", "one on each side", "one dog")]
    [True, True, False]
    """
    if CONTINUED.search(answer) or _next_ordinal(answer) > count or (count == 1 and THE_OTHER.search(answer)):
        return True
    for mention in _mentions(answer):
        words = mention.clause[mention.end :]
        if (
            mention.start == 0 and mention.follows in ITEM_VERBS and not PLACES.isdisjoint(words)
        ):  # "one is on the left"
            return True
        if not A_SHARE.isdisjoint(words[:3]) or (count == 1 and words and f"and a {words[0]}" in answer):
            return True
    return False


def _counts_more(answer: str, count: int) -> bool:
    """Return whether a text counts others beside its number, which are none of its parts, or counts groups or lengths.

    >>> [_counts_more(text, 1) for text in ("a dog and a small one", "one dog and its puppy", "one group of dogs")]
    [True, True, True]
    """
    if WITH_ANOTHER.search(answer) or (
        AND_A_ONE.search(answer) and (count == 1 or len(A_ONE.findall(answer)) != count)
    ):
        return True
    mentions = [*_mentions(answer)]
    if not mentions:
        return False
    first, later = mentions[0], mentions[1:]
    words = [*takewhile(lambda word: word not in JOINS, first.clause[first.end : first.end + 3])]
    grouped = any(one in GROUPS and other == "of" for one, other in pairwise(first.clause[first.end :]))
    if grouped or not MEASURES.isdisjoint(words[:1]):
        return True
    kinds = {word.rstrip("s") for word in words if len(word) > 2 and word not in ITEM_PLACES | ITEM_VERBS | IN_ALL}
    counted = PARTS.split(answer[answer.find(first.first_word) :])[0]
    if count > 1 and ", a" in counted and len(AND_AN.findall(counted)) == count:  # "two zebras, a mother and her foal"
        return False
    if YOUNG.search(counted) or any(
        re.search(rf"{AND_A}(?:[\w-]+ ){{0,2}}{re.escape(kind)}\b", counted) for kind in kinds
    ):
        return True
    return any(mention.value == count and _is_beside(mention) and kinds for mention in later) and not any(
        mention.follows.rstrip("s") in kinds for mention in later
    )


def _is_beside(mention: _Mention) -> bool:
    """Return whether a number counts something beside what was counted, as in 'and one cat'."""
    joined = mention.clause[mention.start - 1] in JOINS if mention.start else mention.sign == ","
    return joined and mention.follows != "" and mention.follows not in ITEM_PLACES | ITEM_VERBS | {"of"}


def _next_ordinal(answer: str) -> int:
    """Return the largest ordinal that goes on counting, as in "and a third", 0 if there is none."""
    return max((ORDINALS[match[1]] for match in NEXT.finditer(answer)), default=0)


def _stated_count(answer: str) -> int | None:
    if CORRECTION.search(answer) or UNCERTAIN.search(answer):
        return None
    statement, items = _without_list(HOW_MANY.sub("", answer))
    if len(items) and AT_LEAST.search(statement):
        statement, exact = AT_LEAST.sub("", statement, count=1), len(items)
    else:
        exact = None
    if BOUNDED.search(statement):
        return None
    first, later = _first_and_later(statement)
    if first is None or first.value is None or _is_open(first) or exact not in (None, first.value):
        return None
    inner = [mention for item in items for mention in _mentions(item) if not _is_pronoun(mention)]
    if len(items) > first.value or (inner and _sum(inner) != first.value):
        return None
    words = first.clause[first.end :]
    articles = len(A_PART.findall("".join(PARTS.split(statement, maxsplit=1)[1:])))
    one_location = not PLACES.isdisjoint(words) or (_is_subject(first) and IN_ALL.isdisjoint(words))
    return first.value if _enumerate_only(later, first.value, one_location, articles) else None


def _is_bounded(words: Sequence[str], start: int, end: int) -> bool:
    """Return whether the number at words[start:end] is a bound or the end of a range."""
    return not BOUND.isdisjoint(words[max(start - 1, 0) : start]) or not RANGE.isdisjoint(words[end : end + 1])


def _without_list(answer: str) -> tuple[str, list[str]]:
    """Return the text outside a numbered list 1, 2, 3, …, and the items of the list, none if there is no such list."""
    outside: list[str] = []
    items: list[str] = []
    numbered: list[int] = []
    for line in answer.split("\n"):
        begin, *rest = MARKER.split(line)
        outside += [begin] if begin.strip() else []
        numbered += map(int, rest[::2])
        items += rest[1::2]
    in_order = numbered == [*range(1, len(numbered) + 1)]
    return ("\n".join(outside), items) if in_order else (answer, [])


def _first_and_later(statement: str) -> tuple[_Mention | None, list[_Mention]]:
    """Return the first number, None if a vague word comes before it, and the later numbers."""
    mentions = list(_mentions(statement))
    if not mentions:
        return None, []
    before = statement[: statement.find(mentions[0].first_word)]
    vague = not VAGUE.isdisjoint(split_words(before))
    return None if vague else mentions[0], mentions[1:]


def _mentions(answer: str) -> Iterator[_Mention]:
    for sentence in split_sentences(answer):
        parts = ["", *CLAUSE.split(sentence)]
        for sign, clause in zip(parts[::2], parts[1::2], strict=True):
            words = tuple(split_words(clause))
            for value, start, end in find_numbers(words):
                yield _Mention(value, words, start, end, sign.strip())


def _is_open(mention: _Mention) -> bool:
    """Return whether a number does not state a count: it is vague, a bound, a part of a count, or a pronoun."""
    bounded = _is_bounded(mention.clause, mention.start, mention.end)
    part = mention.follows == "of" or (mention.start == 0 and mention.follows in ITEM_VERBS)
    return bounded or part or _is_pronoun(mention) or not VAGUE.isdisjoint(mention.clause)


def _is_pronoun(mention: _Mention) -> bool:
    """Return whether a number is the 'one' of 'the other one' or 'a brown one', or an ordinal."""
    if mention.first_word != "one":
        return ORDINAL.fullmatch(mention.first_word) is not None
    near: list[str] = []
    for word in reversed(mention.clause[max(mention.start - 3, 0) : mention.start]):
        if word in JOINS:
            break
        near.append(word)
    return not POINTS_OUT.isdisjoint(near)


def _enumerate_only(later: Sequence[_Mention], count: int, one_location: bool, articles: int) -> bool:
    """Return whether later numbers only enumerate the count.

    `one_location`: the count may cover one location only; `articles`: parts with an article, as in "and a child".
    """
    rest = [mention for mention in later if not (_is_pronoun(mention) or _is_part(mention, count))]
    if all(mention.value == count and not _is_item(mention) for mention in rest):
        return True
    if rest[0].sign in (":", "(", "-", ";"):
        return _sum(rest) in (count, count - articles)
    if one_location or not all(_is_item(mention) for mention in rest) or (rest[0].start and rest[0].sign == ""):
        return False
    alone = rest[0].sign == "" and all(mention.clause[: mention.start] in ((), ("and",)) for mention in rest)
    return _sum(rest) == count or (alone and 0 < _sum(rest) < count)


def _is_part(mention: _Mention, count: int) -> bool:
    """Return whether a number is a part of a count, as in 'two of them', 'including two' or 'no other'."""
    if mention.value is None or mention.value > count:
        return False
    if mention.clause[max(mention.start - 2, 0) : mention.start] in PART_OF:
        return True
    if mention.clause[max(mention.start - 1, 0) : mention.start] == ("including",):
        return True
    return mention.follows == "of" or (mention.value == 0 and mention.follows in OTHERS)


def _is_item(mention: _Mention) -> bool:
    """Return whether a number refers to objects that were counted before: 'one is', 'one on the left', 'one dog is'."""
    verb = mention.follows in ITEM_VERBS or mention.follows.endswith("ing")
    return verb or mention.follows in ITEM_PLACES | ITEM_LOOKS or (mention.sign == "" and _is_subject(mention))


def _is_subject(mention: _Mention) -> bool:
    """Return whether a number is the subject of its clause, as in 'one dog is'."""
    return mention.start == 0 and not ITEM_VERBS.isdisjoint(mention.clause[mention.end + 1 : mention.end + 2])


def _sum(mentions: Sequence[_Mention]) -> int:
    return sum(-(10**9) if mention.value is None else mention.value for mention in mentions)


VERSION = 3
STRICT = re.compile(r"[0-9]{1,9}")
ONE_ANOTHER = re.compile(
    r"\bone another\b|(?<=, )one (?:\w+ly )?(?:behind|beside|next to|in front of|after|above|on top of)"
    r" (?:another|the other)\b"
)
NUMBERED = re.compile(r"\b(image|picture|photo|figure|frame) #?[0-9]+\b(?!:)")
EQUATION = re.compile(r"[0-9+x×*() ]+= ?([0-9]{1,4})\W*")
COUNTER = re.compile(r"([0-9]{1,4}) ?(?:只|隻|个|個|匹|头|頭|条|條|羽|つ|人|台|辆|輛|本|枚|마리|개|명|대)\W*")
NONE_SEEN = re.compile(
    r"(?:\bthere (?:are|is)(?:n't| not)|\bi (?:do not|don't|cannot|can't) (?:see|find|spot|detect)"
    r"|\b(?:image|picture|photo) does(?: not|n't) (?:contain|show|have|include)) any"
    r" (?!(?:more|other|others|additional|further|clear|obvious|way|problem|reason|details?|text|context|numbers?"
    r"|one|(?:\w+ )?(?:images?|pictures?|photos?|attachments?|files?))\b)\w"
)
TWICE = re.compile(r"(?<![\w-])([\w-]{1,20}) \(([\w-]{1,20})\)")
BOUNDS = re.compile(  # and negations, of other languages
    fold_pattern(
        r"\b(?:mindestens|höchstens|maximal|weniger als|mehr als|au moins|au plus|plus de|moins de|al menos|más de"
        r"|menos de|como mucho|pelo menos|mais de|no máximo|almeno|più di"
        r"|meno di|al massimo|minstens|meer dan|minder dan"
        r"|не менее|не более|более|больше|меньше|как минимум|co najmniej|en az|en fazla|nicht|pas|não|non|не|niet|nie)"
        r" (?=\w)|(?:ليس|على الأقل|أكثر من|أقل من|कम से कम|से ज़्यादा|से अधिक)"
    )
)
NO_IMAGE = re.compile(r"\bno (?:image|picture|photo)\b|\bnone of (?:the (?:above|options|choices|answers)|these)\b")


def parse(text: str) -> ParseResult[int]:
    """Return the count.

    >>> parse("3"), parse("There are three dogs."), parse("2 or 3")
    ... # doctest: +NORMALIZE_WHITESPACE
    (ParseResult(strict=3, lenient=3), ParseResult(strict=None, lenient=3), ParseResult(strict=None, lenient=None))
    """
    digits = STRICT.fullmatch(text.strip())
    return ParseResult.with_fallback(int(digits[0]) if digits else None, lambda: _lenient(text))


def _lenient(text: str) -> int | None:
    if any(
        category(letter) == "No" for letter in text
    ):  # a superscript or circled digit is a footnote or part of a fraction
        return None
    answer = answer_text(json_answers.state(text, json_answers.COUNTS))
    answer = NUMBERED.sub(r"\1", TWICE.sub(_once, ONE_ANOTHER.sub("each other", answer)))
    if lacks_image(answer) or BOUNDS.search(answer):
        return None
    if whole := EQUATION.fullmatch(answer) or COUNTER.fullmatch(answer):
        return int(whole[1])
    called = [(statement, _count(statement)) for statement, *_ in stated_answers(answer)]
    if any(count is not None for _, count in called):
        value = single_value(count for _, count in called)
        return None if any(count is not None and _counts_more(text, count) for text, count in called) else value
    value = None if NO_IMAGE.search(answer) else _uncalled(answer)
    return None if value is None or _counts_more(answer, value) else value


def _uncalled(answer: str) -> int | None:
    """Return the count of a text that does not call it the answer."""
    if NONE_SEEN.search(answer) and not (
        any(_mentions(answer)) or CORRECTION.search(answer) or UNCERTAIN.search(answer)
    ):
        return 0
    value = _count(answer)
    if value is not None:
        return None if _goes_on(answer, value) else value
    return _read_stated_count(answer)


def _once(match: re.Match[str]) -> str:
    """Return a number that brackets repeat, as in "three (3)", without them."""
    values, repeated = ([value for value, *_ in find_numbers([*split_words(part)])] for part in match.groups())
    return match[1] if len(values) == 1 and values == repeated else match[0]


def _count(answer: str) -> int | None:
    """Return the number of a text if all its numbers are equal and none is vague."""
    words = list(split_words(answer))
    matches = list(find_numbers(words))
    if NO_IMAGE.search(answer) or not VAGUE.isdisjoint(words) or any(value is None for value, *_ in matches):
        return None
    if len(matches) > 1 and any(
        map(_is_item, islice(_mentions(answer), 1, None))
    ):  # "two on the left, two on the right"
        return None
    if any(_is_bounded(words, *span) for _, *span in matches):
        return None
    return single_value(value for value, *_ in matches)
