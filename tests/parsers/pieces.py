"""What tests of parsers share."""

from hypothesis import strategies as st

PIECES = (
    *(
        "a",
        "B",
        "(c)",
        "D)",
        "I",
        "e.",
        ":",
        ".",
        ",",
        "!",
        "**",
        "`",
        "'",
        '"',
        "-",
        "/",
        "\n",
        "\u200b",
        "№",
        "{",
        "}",
    ),
    *("[", "]", "\\", "1", "2", "3.5", "1,000", "two", "twenty", "yes", "no", "not", "or", "and", "the answer is"),
    *("Answer:", "option", "is correct", "because", "I think", "this is", "a", "goldfish", "cat", "caterpillar"),
    *('"1":', '"cat"', "'2':", "null", "```json", "<think>", "</think>", "\\boxed{", "actually", "none"),
)
made = st.lists(st.sampled_from(PIECES), max_size=12).flatmap(
    lambda parts: st.sampled_from((" ", "")).map(lambda by: by.join(parts))
)
anything = st.text(max_size=60)
texts = made | anything
