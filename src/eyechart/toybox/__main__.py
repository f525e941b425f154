"""Make the toy world again, byte for byte: python -m eyechart.toybox OUT [--seed N] [--part PART].

The part `packaged`, made only when asked for, are the pictures that eyechart itself ships in its folder `samples`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from eyechart.toybox import annotated, birds, birds_sample, oodbench_sample, packaged, shards

PARTS = ("shards", "scenes", "birds")
SEED = 42


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m eyechart.toybox", description="Draw the toy world.")
    parser.add_argument("out", type=Path, help="folder to write to; give it to --eye-data afterwards")
    parser.add_argument("--seed", type=int, default=SEED, help="default: %(default)s")
    parser.add_argument("--part", choices=(*PARTS, "packaged"), action="append", help="one part alone; may be repeated")
    parser.add_argument("--per-class", type=int, default=10, help="pictures a class and style (default: %(default)s)")
    parser.add_argument("--scenes", type=int, default=1000, help="scenes a split (default: %(default)s)")
    parser.add_argument("--birds", type=int, default=600, help="bird observations a table (default: %(default)s)")
    options = parser.parse_args(arguments)
    parts = options.part or PARTS
    if "packaged" in parts and len({*parts}) > 1:
        parser.error("--part packaged has folders of the same names as other parts: make it alone.")
    if "shards" in parts:
        shards.write(options.out / "toybox", options.seed, options.per_class, options.scenes)
    if "scenes" in parts:
        annotated.write(options.out / "oodbench", options.seed, -(-options.scenes // 5))
    if "birds" in parts:
        birds.write(options.out / "realbirdid", options.seed, options.birds)
    if "packaged" in parts:
        packaged.write(options.out / "toybox", options.seed)
        oodbench_sample.write(options.out / "oodbench", options.seed)
        birds_sample.write(options.out / "realbirdid", options.seed)


if __name__ == "__main__":
    main()
