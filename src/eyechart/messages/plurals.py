"""Numbers with their nouns, in the singular or plural."""


def count_of(n: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun; without `plural`, the noun takes an s.

    >>> count_of(1, "case"), count_of(1200, "case"), count_of(2, "genus", "genera")
    ('1 case', '1,200 cases', '2 genera')
    """
    return f"{n:,} {singular if n == 1 else plural or f'{singular}s'}"
