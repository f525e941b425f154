"""Score a model's skills on the toy world, as its card shows them: python -m toybox.score_mllm [SPEC]."""

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence

from eyechart.errors import ModelError
from eyechart.models.generation import generate_all
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec
from eyechart.models.types import Answer, Scorer
from toybox.exam import TRAINED, Item, Skill, groups, skills
from toybox.score_clip import cell

LONGEST = 24
SURE = 1.96
EMOJI = ("noto-v1", "fluent-3d")
Share = tuple[int, int]


def count_correct(model: Scorer, skill: Skill, items: Sequence[Item]) -> int:
    """Count the answers that are right, to the letter."""
    requests = [item.request for item in items]
    if skill.choices:
        answers = [skill.choices[best] for best in model.score(requests, skill.choices).argmax(axis=1)]
    else:
        answers = [answer_text(answer) for answer in generate_all(model, requests, LONGEST)]
    return sum(text == item.question.answer for text, item in zip(answers, items, strict=True))


def answer_text(answer: Answer) -> str:
    """The words of an answer; an error is none."""
    if answer.error:
        raise ModelError(answer.error)
    return answer.text


def score_skills(model: Scorer, most: int) -> Iterator[tuple[Skill, Mapping[str, Share]]]:
    """Yield every skill with the number of right answers and of questions in every group of styles."""
    for skill in skills():
        items_by_group = {group.name: list(skill.items(group, most)) for group in groups()}
        yield (
            skill,
            {name: (count_correct(model, skill, items), len(items)) for name, items in items_by_group.items() if items},
        )


def table(results: Sequence[tuple[Skill, Mapping[str, Share]]]) -> Iterator[str]:
    """Yield a table: shares with Wilson's 95 % intervals in every group, and their means over held-out styles."""
    every = [group.name for group in groups()]
    held_out = [name for name in every if name != TRAINED]
    means = {"mean of the emoji styles held out": EMOJI, "mean of all styles held out": held_out}
    yield f"| skill | chance | {' | '.join([*every, *means])} |"
    yield f"|---|---|{'---|' * (len(every) + len(means))}"
    for skill, shares in results:
        cells = [f"{cell(*shares[name])}, n = {shares[name][1]}" if name in shares else "" for name in every]
        cells += [mean([shares[name] for name in wanted if name in shares]) for wanted in means.values()]
        yield f"| {skill.name} | {skill.chance:.3f} | {' | '.join(cells)} |"


def mean(shares: Sequence[Share]) -> str:
    """Return the mean of shares, every one counted as much, with a normal 95 % interval over their own variances.

    >>> mean([(50, 100), (90, 100)])
    '0.700 [0.643, 0.757]'
    """
    if not shares:
        return ""
    parts = [k / n for k, n in shares]
    spread = math.sqrt(sum(p * (1 - p) / n for p, (_, n) in zip(parts, shares, strict=True))) / len(parts)
    middle = sum(parts) / len(parts)
    return f"{middle:.3f} [{max(0.0, middle - SURE * spread):.3f}, {min(1.0, middle + SURE * spread):.3f}]"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m toybox.score_mllm", description=__doc__.splitlines()[0])
    parser.add_argument("spec", nargs="?", default="hf[toybox-mllm]", help="default: %(default)s")
    parser.add_argument("--questions", type=int, default=300, help="at most, a skill and group (default: %(default)s)")
    options = parser.parse_args(arguments)
    model = create_model(parse_spec(options.spec), offline=True)
    print("\n".join(table(list(score_skills(model, options.questions)))))


if __name__ == "__main__":
    main()
