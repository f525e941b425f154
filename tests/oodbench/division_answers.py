"""What tests of oodbench/tables share."""

# Set, category, main; then what two models say of each: both answers, "y" right, "n" wrong, "?" unparsed, "e" an error.
PAIRS = (
    ("ID", "cat", 1, "yy", "yy"),
    ("OOD-S", "cat", 1, "yn", "yy"),
    ("OOD-S", "dog", 1, "yy", "y?"),
    ("OOD-H", "dog", 1, "nn", "ne"),
    ("OOD-H", "dog", 1, "nn", "ye"),
    ("OOD-H", "éclair", 0, "", ""),
    ("OOD-S", "cat", 0, "", ""),
)


def divided():
    """The rows of a division's csv."""
    return [
        {"pair": pair, "key": f"k{pair}", "category": 3, "name": name, "set": of, "main": main, "present": 1}
        for pair, (of, name, main, *_) in enumerate(PAIRS)
    ]


def answer(pair, row, index, said):
    """A question's row: the positive one is to be answered yes."""
    expected = ("yes", "no")[index]
    given = {"y": expected, "n": ("no", "yes")[index], "?": "", "e": ""}[said]
    more = {"question": ("positive", "negative")[index], "category_name": row["name"], "subset": row["set"]}
    shared = {"target": expected, "prediction": given, "correct": "" if said == "e" else int(said == "y")}
    return {**row, "pair": pair, **more, **shared, "error": "refused" * (said == "e")}


def answered(model):
    """The rows of a model's answers."""
    rows = divided()
    given = [(pair, index, said) for pair, row in enumerate(PAIRS) for index, said in enumerate(row[3 + model])]
    return [answer(pair, rows[pair], index, said) for pair, index, said in given]
