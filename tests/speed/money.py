"""What 30 models on ImageNet cost on rented machines: `python -m tests.speed.money`, the table of docs/cluster.md.

The time is computed from paces of docs/speed.md, and from the CPU seconds that scoring takes there; nothing of it was
run on these machines.
"""

from collections.abc import Iterator
from typing import NamedTuple

MODELS = 30
SPLITS = (50_000, 1_280_000)  # ImageNet's validation and training images
SCORING = 5.3 / 50_000  # CPU seconds an image under 4 label sets
COLUMNS = ("models", "machine", "USD an hour", "images/s", *(f"{images:,} images" for images in SPLITS))


class Pace(NamedTuple):
    """The images that a machine answers in a second, and its price."""

    models: str
    machine: str
    price: float  # USD an hour
    images: float  # a second

    def hours(self, images: int) -> float:
        """Return the hours that all models take, with the scoring, which one processor does."""
        return MODELS * images * (1 / self.images + SCORING) / 3600


H200, C5 = "one of 8 H200 of p5e.48xlarge", "c5.4xlarge, 8 cores"
PACES = (
    Pace("ViT-B-32", H200, 5.408, 2_670),  # limited by 16 processors, which prepare the images
    Pace("ViT-L-14", H200, 5.408, 1_900),  # of the forward pass alone: images were not prepared beside it
    Pace("EfficientNet-Lite0", C5, 0.68, 8 / 0.025),  # 25 ms an image on each core
)


def rows() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    for pace in PACES:
        costs = (f"{(hours := pace.hours(images)):.1f} h, {hours * pace.price:.2f} USD" for images in SPLITS)
        yield pace.models, pace.machine, f"{pace.price:g}", f"{pace.images:,.0f}", *costs


if __name__ == "__main__":
    print("\n".join(f"| {' | '.join(row)} |" for row in (COLUMNS, *rows())))
