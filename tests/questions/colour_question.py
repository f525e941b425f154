"""A question about a colour."""

from eyechart.questions.data.question_set import Question

OPTIONS = ("red", "blue", "green", "grey")


def question(*answers: str, right: tuple[int, ...] = (), **more: str) -> Question:
    options = OPTIONS if right else ()
    return Question("1", "Which?", (0,), "t.csv, line 2", answers, options, right, **more)
