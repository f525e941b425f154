"""Score a model on the toy world, as its card shows it: python -m toybox.score_clip [SPEC] [--pictures N]."""

import argparse
from collections.abc import Iterator, Sequence

import numpy as np

from eyechart.data.images import decode_image
from eyechart.data.labels.class_names import load_templates
from eyechart.inference.requests.class_weights import class_weights, cosine_similarity
from eyechart.models.open_clip.encoder import OpenClipEncoder
from eyechart.models.spec import parse_spec
from eyechart.models.types import Encoder
from eyechart.statistics.intervals import wilson
from eyechart.toybox.art.scenes import render
from eyechart.toybox.art.toy_classes import names
from eyechart.toybox.formats.shards import encode_image, singles
from eyechart.toybox.samples.open_toybox import open_toybox, splits
from toybox.exam import SEED, groups

Picture = tuple[bytes, int]
Group = tuple[str, list[Picture]]


def packaged_pictures() -> Iterator[Group]:
    """Yield the packaged splits with their pictures, classes being those of the main things."""
    for split in splits():
        data = open_toybox(split)
        read = data.source.read(range(len(data.index)))
        yield f"toybox/{split}", [(image, data.index[row].label) for row, image in read]


def fresh_pictures(count: int) -> Iterator[Group]:
    """Yield fresh pictures of single things, `count` a class and style: the training styles together, the others."""
    for group in groups():
        rendered = (render(scene) for scene in singles(SEED, group.split, group.styles, count))
        yield (
            f"{group.split}, fresh",
            [(encode_image(picture.image), picture.scene.things[0].label) for picture in rendered],
        )


def count_correct(model: Encoder, pictures: Sequence[Picture], wording: str) -> int:
    """Count the pictures whose class is the nearest, the class weights made from a set of wordings."""
    weights = class_weights(model.encode_texts, names(), load_templates(wording).formats)
    truths = np.array([label for _, label in pictures])
    images = [model.prepare(decode_image(data, str(place))) for place, (data, _) in enumerate(pictures)]
    features = np.concatenate([model.encode_images(images[at : at + 64]) for at in range(0, len(images), 64)])
    return int((cosine_similarity(features, weights).argmax(axis=1) == truths).sum())


def table(model: Encoder, groups: Sequence[Group], wordings: Sequence[str]) -> Iterator[str]:
    """Yield a table: the share of pictures that are right, with its 95 % interval, for every set of wordings."""
    yield f"| pictures | n | {' | '.join(f'templates {name}' for name in wordings)} |"
    yield f"|---|---|{'---|' * len(wordings)}"
    for name, pictures in groups:
        if pictures:
            cells = (cell(count_correct(model, pictures, wording), len(pictures)) for wording in wordings)
            yield f"| {name} | {len(pictures)} | {' | '.join(cells)} |"


def cell(k: int, n: int) -> str:
    """Return a share with Wilson's interval.

    >>> cell(49, 50)
    '0.980 [0.895, 0.996]'
    """
    low, high = wilson(k, n)
    return f"{k / n:.3f} [{low:.3f}, {high:.3f}]"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m toybox.score_clip", description=__doc__.splitlines()[0])
    parser.add_argument("spec", nargs="?", default="open_clip[toybox-clip]", help="default: %(default)s")
    parser.add_argument("--pictures", type=int, default=3, help="fresh pictures a class and style (default: 3)")
    parser.add_argument("--wordings", nargs="+", default=["7", "80"], help="sets of templates (default: 7 80)")
    options = parser.parse_args(arguments)
    groups = [*packaged_pictures(), *fresh_pictures(options.pictures)]
    print("\n".join(table(OpenClipEncoder(parse_spec(options.spec), offline=True), groups, options.wordings)))


if __name__ == "__main__":
    main()
