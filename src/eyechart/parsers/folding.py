"""Folding of compatibility forms, case, look-alikes and punctuation, so that equal texts look equal.

NFKC and the case rules are Unicode's (UAX 15, chapter 3.13). The look-alikes are the Greek and Cyrillic letters whose
capitals look like Latin ones.
"""

import re
from unicodedata import normalize

INVISIBLE = "\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\ufe0e\ufe0f\ufeff"
BEFORE = str.maketrans(dict.fromkeys(INVISIBLE) | {"№": "#"})  # NFKC would replace the numero sign by "No"
LATIN = str.maketrans("авекмнорстухѕіјһԁԛԝαβεζηικμνορτυχ", "abekmhopctyxsijhdqwabezhikmnoptyx")
MARKS = str.maketrans("‘’ʼ′＇‐‑‒–—―−", "'''''-------")
SIGNS = str.maketrans(  # of other scripts; NFKC has replaced the full-width ones
    dict.fromkeys("。।॥۔։።။།", ". ")
    | dict.fromkeys("、،", ",")
    | dict.fromkeys("؛፤", ";")
    | {"؟": "?", "፡": ":"}
    | dict.fromkeys("「『《〈‹", '"')
    | dict.fromkeys("」』》〉›", '" ')
    | dict(zip("【】〔〕〖〗", "[][][]", strict=True))
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
