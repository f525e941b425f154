"""Whether other decoders of JPEG give the pixels of Pillow, bit by bit, and how fast: `python -m tests.speed.decoders`.

    python -m tests.speed.decoders [PHOTOGRAPHS [PAIRS]]

The packaged photographs are encoded anew in several ways. Each decoder that is installed (`pip install simplejpeg
PyTurboJPEG opencv-python-headless`; PyTurboJPEG needs libturbojpeg 3) decodes all of them to RGB at its exact setting:
the slow inverse transform and the smooth upsampling, which Pillow uses. Both sides end with an image of Pillow, which
the transforms of models take.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from io import BytesIO
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, features

from eyechart.data.images import decode_image
from eyechart.data.readers.imagenet_sample import open_sample
from eyechart.models.runtime.torchvision_repair import repair

from .paired import ratio

Pixels = NDArray[np.uint8]
Decode = Callable[[bytes], Pixels]
QUALITIES = (30, 75, 90, 100)
SUBSAMPLINGS = {"4:4:4": 0, "4:2:2": 1, "4:2:0": 2}


def encodings(image: Image.Image) -> Iterator[tuple[str, bytes]]:
    """Yield a photograph as JPEG: of each quality and subsampling, progressive or not, and grey."""
    for quality in QUALITIES:
        for name, subsampling in SUBSAMPLINGS.items():
            for progressive in (False, True):
                kind = f"{name}{' progressive' if progressive else ''}"
                yield kind, _encode(image, quality=quality, subsampling=subsampling, progressive=progressive)
        yield "grey", _encode(image.convert("L"), quality=quality)
        odd = image.crop((0, 0, image.width - 1 - image.width % 2, image.height - 1 - image.height % 2))
        yield "4:2:0, odd sides", _encode(odd, quality=quality, subsampling=2)


def _encode(image: Image.Image, **options: Any) -> bytes:
    stream = BytesIO()
    image.save(stream, "JPEG", **options)
    return stream.getvalue()


def by_pillow(data: bytes) -> Pixels:
    """Return the pixels as eyechart decodes them."""
    return np.asarray(decode_image(data, "photograph"))


def _simplejpeg() -> Decode:
    decode = import_module("simplejpeg").decode_jpeg
    return lambda data: decode(data, "RGB", fastdct=False, fastupsample=False)


def _turbojpeg() -> Decode:
    package = import_module("turbojpeg")
    decode = package.TurboJPEG().decode
    return lambda data: decode(data, pixel_format=package.TJPF_RGB)


def _opencv() -> Decode:
    package = import_module("cv2")
    package.setNumThreads(1)
    return lambda data: package.imdecode(np.frombuffer(data, np.uint8), package.IMREAD_COLOR_RGB)


def _torchvision() -> Decode:
    repair()
    torch, io = import_module("torch"), import_module("torchvision.io")
    torch.set_num_threads(1)

    def decode(data: bytes) -> Pixels:
        pixels = io.decode_jpeg(torch.frombuffer(bytearray(data), dtype=torch.uint8), mode=io.ImageReadMode.RGB)
        return np.asarray(pixels.permute(1, 2, 0))

    return decode


DECODERS: Mapping[tuple[str, str], Callable[[], Decode]] = {
    ("simplejpeg", "simplejpeg"): _simplejpeg,
    ("PyTurboJPEG", "turbojpeg"): _turbojpeg,
    ("opencv-python-headless", "cv2"): _opencv,
    ("torchvision", "torchvision"): _torchvision,
}


def compare(decode: Decode, files: list[tuple[str, bytes]]) -> tuple[dict[str, list[int]], int]:
    """Return for each kind how many files have equal pixels, and how many there are; and the largest difference."""
    counts: dict[str, list[int]] = {}
    largest = 0
    for kind, data in files:
        theirs, ours = decode(data), by_pillow(data)
        apart = int(np.abs(theirs.astype(np.int16) - ours).max())
        largest = max(largest, apart)
        equal = counts.setdefault(kind, [0, 0])
        equal[0] += not apart
        equal[1] += 1
    return counts, largest


def speed(decode: Decode, files: list[tuple[str, bytes]], pairs: int) -> tuple[float, float, float]:
    """Return Pillow's CPU time divided by a decoder's: the median, least and largest of paired runs."""

    def ours() -> None:
        for _, data in files:
            Image.fromarray(decode(data))

    def pillow() -> None:
        for _, data in files:
            decode_image(data, "photograph")

    return ratio(ours, pillow, pairs, clock=process_time)


def facts(photographs: int = 177, pairs: int = 3) -> Iterator[str]:
    """Yield a row for each decoder."""
    dataset = open_sample("sample")
    photos = [(index, data) for index, data in dataset.read(range(min(photographs, len(dataset))))]
    files = [found for _, data in photos for found in encodings(decode_image(data, "photograph"))]
    yield f"Pillow {version('pillow')} with libjpeg-turbo {features.version('libjpeg_turbo')}"
    for (package, module), make in DECODERS.items():
        if find_spec(module) is None:
            yield f"{package}: not installed"
            continue
        try:
            decode = make()
            decode(files[0][1])
        except (ImportError, OSError, RuntimeError) as error:
            yield f"{package} {version(package)}: cannot decode here ({str(error).splitlines()[0]})"
            continue
        counts, largest = compare(decode, files)
        equal, total = (sum(column) for column in zip(*counts.values(), strict=True))
        unequal = ", ".join(f"{right} of {n} {kind}" for kind, (right, n) in counts.items() if right < n)
        faster, least, most = speed(decode, files, pairs)
        yield (
            f"{package} {version(package)}: {equal:,} of {total:,} files equal"
            f"{f' ({unequal}; {largest} apart at most)' if unequal else ''}; {faster:.2f} times as fast as Pillow "
            f"({least:.2f} to {most:.2f})"
        )


if __name__ == "__main__":
    for line in facts(*map(int, sys.argv[1:])):
        print(line, flush=True)
