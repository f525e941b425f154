"""Draw 40 pictures of a shop's shelf and write 60 questions about them: `python make_shop.py data/myshop/shelf`."""

import csv
import sys
from pathlib import Path
from random import Random

from PIL import Image, ImageDraw

FRUITS = {"apple": (200, 30, 30), "plum": (80, 30, 120), "pear": (120, 190, 60), "lemon": (250, 220, 60)}
SLOTS = [(20 + 40 * column, 24 + 44 * row) for row in range(2) for column in range(4)]  # centres, left to right
WALL, BOARD, RADIUS = (236, 226, 208), (120, 84, 48), 14
COLUMNS = ("id", "image", "question", "A", "B", "C", "D", "answer", "kind", "shelf")


def draw(shelf: list[str], light: int) -> Image.Image:
    """Return a picture of a shelf: the fruit of each slot, "" for none, in more or less light."""
    image = Image.new("RGB", (160, 96), WALL)
    pen = ImageDraw.Draw(image)
    for bottom in (40, 84):
        pen.rectangle((0, bottom, 160, bottom + 4), fill=BOARD)
    for (x, y), fruit in zip(SLOTS, shelf, strict=True):
        if fruit:
            pen.ellipse((x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS), fill=FRUITS[fruit])
    return image.point(lambda value: value * light // 100)


def questions(number: int, shelf: list[str], random: Random) -> list[dict[str, str]]:
    """Return the question of each picture, and a second one of every other picture."""
    there = [fruit for fruit in shelf if fruit]
    fruit = random.choice([*FRUITS])
    options = dict(zip("ABCD", random.sample([*FRUITS], 4), strict=True))
    letter = next(letter for letter, name in options.items() if name == there[0])
    said = "yes" if fruit in there else "no"
    kinds = [
        {"question": "Which fruit is first, from the left of the upper board?", **options, "answer": letter},
        {"question": f"Is there a {fruit} on the shelf?", "answer": said, "kind": "yes_no"},
        {"question": "How many fruits are on the shelf?", "answer": str(len(there)), "kind": "number"},
    ]
    return [kinds[number % 3]] + ([kinds[(number + 1) % 3]] if number % 2 else [])


def main(folder: Path) -> None:
    """Write the pictures and the table."""
    random = Random(7)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(40):
        shelf = [random.choice([*FRUITS, "", ""]) for _ in SLOTS]
        shelf[random.randrange(4)] = random.choice([*FRUITS])
        dim = number % 4 == 0
        draw(shelf, 60 if dim else 100).save(folder / f"{number:03d}.png")
        for question in questions(number, shelf, random):
            place = {"image": f"{number:03d}.png", "shelf": "dim" if dim else "bright"}
            rows.append({"id": f"q{len(rows):02d}", **place, **question})
    with (folder / "questions.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
