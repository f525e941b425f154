"""Resize, crop and normalise images by Pillow and NumPy, as timm, open_clip and transformers do to the last bit.

So an exported model needs none of them, and no PyTorch.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from eyechart.messages.suggestions import did_you_mean
from eyechart.models.types import Floats

Settings = Mapping[str, Any]
FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
    "box": Image.Resampling.BOX,
    "hamming": Image.Resampling.HAMMING,
}


REQUIRED = ("input_size", "mean", "std", "interpolation", "crop_pct")  # what a user writes, and may add
STEPS = (*REQUIRED, "crop_mode")
OF_TIMM = ("test_input_size", "test_crop_pct", "fixed_input_size", "min_input_size")  # beside them in timm's own
SUFFIXES = re.compile("(ImageProcessor|FeatureExtractor)(Fast|Pil)?$")  # of the classes of transformers
SQUARE, SHORTEST, BY_SHARE = "height and width", "shorter edge", "shorter edge divided by crop_pct"
RESIZES = {  # of a size that is one number, and whether the centre is cropped where the file does not say so
    "ViT": (SQUARE, False),
    "DeiT": (SQUARE, True),
    "Beit": (SQUARE, False),
    "Pvt": (SQUARE, False),
    "Siglip": (SQUARE, False),
    "CLIP": (SHORTEST, True),
    "ChineseCLIP": (SHORTEST, True),
    "Bit": (SHORTEST, True),
    "MobileNetV1": (SHORTEST, True),
    "MobileNetV2": (SHORTEST, True),
    "ConvNext": (BY_SHARE, False),
}
WARPED = 384  # pixels: the processor of ConvNeXt crops nothing from images of this size or more


@dataclass(frozen=True)
class Preprocessing:
    """The steps from an RGB image to the numbers of a graph.

    Attributes:
        resize: The shorter edge, or height and width; None leaves the image as it is.
        crop: Height and width of the centre that is kept, None for all.
        resample: Pillow's filter; None interpolates between the four nearest pixels, without a filter that depends on
            the scale, as OpenCV does.
        square: Whether the centre square of the image is kept before the resize.
        mean: What is subtracted from each channel, of numbers from 0 to 1.
        std: What each channel is then divided by.
        factor: What bytes are multiplied with, as in transformers; None divides them by 255, as torchvision does.
        settings: What the steps were read from; they are in the key of answers.
    """

    resize: int | tuple[int, int] | None
    crop: tuple[int, int] | None
    resample: Image.Resampling | None
    mean: tuple[float, ...]
    std: tuple[float, ...]
    settings: Settings
    factor: float | None = None
    square: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for a mean or deviation that no pixels have, such as one of numbers from 0 to 255."""
        most = max(255 * self.factor if self.factor else 1.0, 1.0)
        if not all(0 < std < inf for std in self.std):
            raise ValueError(f"std {_listed(self.std)} is not above 0")
        if not all(-inf < mean < inf for mean in self.mean):
            raise ValueError(f"mean {_listed(self.mean)} is no number")
        if max(*self.mean, *self.std) > most:
            raise ValueError(
                f"mean {_listed(self.mean)} and std {_listed(self.std)} are not those of numbers from 0 to {most:g}"
                + (", as pixels are here: divide both by 255" if most == 1 else "")
            )

    @property
    def size(self) -> tuple[int, int] | None:
        """Height and width of every prepared image, None if they differ."""
        return self.crop or (self.resize if isinstance(self.resize, tuple) else None)

    def prepare(self, image: Image.Image) -> NDArray[np.uint8]:
        """Return an RGB image as bytes (h, w, 3)."""
        if self.square:
            edge = min(image.size)
            left, top = ((length - edge) // 2 for length in image.size)
            image = image.crop((left, top, left + edge, top + edge))
        if self.resize is not None and self.resample is None:
            image = Image.fromarray(_interpolate(np.asarray(image), *self._target(*image.size)))
        elif self.resize is not None:
            image = image.resize(self._target(*image.size), self.resample)
        return np.asarray(self._cropped(image))

    def _target(self, width: int, height: int) -> tuple[int, int]:
        """Return the width and height after the resize."""
        if isinstance(self.resize, tuple):
            return self.resize[1], self.resize[0]
        edge = int(self.resize or 0)
        if width <= height:
            return edge, int(edge * height / width)
        return int(edge * width / height), edge

    def _cropped(self, image: Image.Image) -> Image.Image:
        if self.crop is None:
            return image
        (height, width), (wide, high) = self.crop, image.size
        if self.factor is None:  # torchvision rounds to the nearest even number, transformers down
            top, left = round((high - height) / 2), round((wide - width) / 2)
        else:
            top, left = (high - height) // 2, (wide - width) // 2
        return image.crop((left, top, left + width, top + height))

    def stack(self, images: Sequence[NDArray[np.uint8]]) -> Floats:
        """Return prepared images as one batch (n, 3, h, w) of normalised floats."""
        pixels = np.stack(images)
        if self.factor is None:
            floats = pixels.astype(np.float32) / np.float32(255)
        else:
            floats = (pixels.astype(np.float64) * self.factor).astype(np.float32)
        normalised = (floats - np.asarray(self.mean, np.float32)) / np.asarray(self.std, np.float32)
        return np.ascontiguousarray(normalised.transpose(0, 3, 1, 2))


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _interpolate(pixels: NDArray[np.uint8], width: int, height: int) -> NDArray[np.uint8]:
    """Return bytes (h, w, 3) at another size, by linear interpolation between the four nearest pixels."""

    def neighbours(old: int, new: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
        """Return the indices of the pixels before and after each new one, and the weight of the one after."""
        centre = np.clip((np.arange(new) + 0.5) * (old / new) - 0.5, 0, old - 1)
        before = np.floor(centre).astype(np.intp)
        return before, np.minimum(before + 1, old - 1), (centre - before).astype(np.float32)

    top, bottom, down = neighbours(pixels.shape[0], height)
    left, right, across = neighbours(pixels.shape[1], width)
    floats = pixels.astype(np.float32)
    rows = floats[top] * (1 - down)[:, None, None] + floats[bottom] * down[:, None, None]
    values = rows[:, left] * (1 - across)[:, None] + rows[:, right] * across[:, None]
    return np.rint(values).astype(np.uint8)


def from_model_api(settings: Settings) -> Preprocessing:
    """Return the steps of OpenVINO's Model API: a resize as OpenCV's, of the whole image or of its square."""
    return Preprocessing(
        resize=settings["input_size"],
        crop=None,
        resample=None,
        mean=_channels(settings["mean"]),
        std=_channels(settings["std"]),
        settings=settings,
        square=settings["resize_type"] == "crop",
    )


def from_steps(settings: Settings) -> Preprocessing:
    """Return the steps that a user wrote in the words of timm. Raises ValueError or LookupError for other words.

    Nothing is guessed: a share of the image that is missing is not timm's own, and a word like one of these is refused.
    """
    for name in sorted({*settings} - {*STEPS, *OF_TIMM}):
        if get_close_matches(name, STEPS):
            raise ValueError(f"{name} is not known{did_you_mean(name, STEPS)}")
    if absent := next((name for name in REQUIRED if name not in settings), None):
        raise KeyError(absent)
    return from_timm(settings)


def from_timm(settings: Settings) -> Preprocessing:
    """Return the steps of a configuration of timm. Raises ValueError or LookupError for one that is not supported."""
    size = settings["input_size"]
    if len(size) not in (2, 3) or (len(size) == 3 and size[0] != 3):
        raise ValueError(f"input_size {_listed(size)} is not 3, height, width")
    height, width = (int(edge) for edge in size[-2:])
    share, mode = settings.get("crop_pct"), settings.get("crop_mode") or "center"
    share = 0.875 if share is None else float(share)
    if not share > 0:
        raise ValueError(f"crop_pct {share:g} is not above 0")
    scaled = math.floor(height / share), math.floor(width / share)
    if mode not in ("center", "squash") or (mode == "center" and height != width) or share > 1:
        raise ValueError(
            f"crop_mode {mode}, crop_pct {share} and input_size {height}x{width} are not supported together"
        )
    return Preprocessing(
        resize=scaled if mode == "squash" else scaled[0],
        crop=(height, width),
        resample=_filter(settings["interpolation"]),
        mean=_channels(settings["mean"]),
        std=_channels(settings["std"]),
        settings=settings,
    )


def from_open_clip(settings: Settings) -> Preprocessing:
    """Return the steps of a configuration of open_clip. Raises ValueError or LookupError for an unsupported one."""
    size = settings["size"]
    height, width = (size, size) if isinstance(size, int) else size
    mode = settings.get("resize_mode", "shortest")
    if mode not in ("shortest", "squash") or (mode == "shortest" and height != width):
        raise ValueError(f"resize_mode {mode} and size {height}x{width} are not supported together")
    return Preprocessing(
        resize=(height, width) if mode == "squash" else height,
        crop=(height, width),
        resample=_filter(settings.get("interpolation", "bicubic")),
        mean=_channels(settings["mean"]),
        std=_channels(settings["std"]),
        settings=settings,
    )


def from_transformers(settings: Settings) -> Preprocessing:
    """Return the steps of a preprocessor_config.json. Raises ValueError or LookupError for an unsupported one.

    What a size of one number means, and whether the centre is cropped, depends on the class that wrote it.
    """
    name = SUFFIXES.sub("", settings.get("image_processor_type") or settings.get("feature_extractor_type") or "")
    if name and name not in RESIZES:
        raise ValueError(f"the processor {name} is not supported, only {', '.join(RESIZES)}")
    kind, crops = RESIZES.get(name, ("", False))
    odd = [key for key in ("do_pad", "do_flip_channel_order", "rescale_offset") if settings.get(key)]
    odd += ["crop_pct"] * bool(kind != BY_SHARE and settings.get("crop_pct"))
    odd += ["do_rescale=false"] * (not settings.get("do_rescale", True))
    if odd:
        raise ValueError(f"{' and '.join(odd)} {'is' if len(odd) == 1 else 'are'} not supported")
    normalise, factor = settings.get("do_normalize", True), float(settings.get("rescale_factor", 1 / 255))
    resize = _edges(settings["size"], kind) if settings.get("do_resize", True) else None
    crop = _square(settings["crop_size"]) if settings.get("do_center_crop", crops) else None
    if kind == BY_SHARE and isinstance(resize, int):
        crop = resize, resize
        resize = crop if resize >= WARPED else int(resize / settings.get("crop_pct", 224 / 256))
    return Preprocessing(
        resize=resize,
        crop=crop,
        resample=Image.Resampling(settings["resample"] if settings.get("do_resize", True) else 2),
        mean=_channels(settings["image_mean"]) if normalise else (0.0, 0.0, 0.0),
        std=_channels(settings["image_std"]) if normalise else (1.0, 1.0, 1.0),
        settings=settings,
        factor=factor,
    )


def _edges(size: Any, kind: str) -> int | tuple[int, int]:
    """Return the shorter edge or height and width, as `size` of transformers has them."""
    if not isinstance(size, Mapping | list | tuple):
        if not kind:
            raise ValueError(f"size {size} is the shorter edge or both, and no image_processor_type says which")
        return _square(size) if kind == SQUARE else int(size)
    if isinstance(size, Mapping) and "shortest_edge" in size:
        if "longest_edge" in size:
            raise ValueError("a longest_edge beside shortest_edge is not supported")
        return int(size["shortest_edge"])
    return _square(size)


def _square(size: Any) -> tuple[int, int]:
    if isinstance(size, Mapping):
        return int(size["height"]), int(size["width"])
    height, width = size if isinstance(size, list | tuple) else (size, size)
    return int(height), int(width)


def _filter(name: str) -> Image.Resampling:
    if name not in FILTERS:
        raise ValueError(f"interpolation {name} is not supported, only {', '.join(FILTERS)}")
    return FILTERS[name]


def _channels(values: Any) -> tuple[float, ...]:
    """Return three numbers; one number holds for each channel. Raises ValueError for two, or four and more."""
    numbers = tuple(float(value) for value in (values if isinstance(values, list | tuple) else [values]))
    if len(numbers) not in (1, 3):
        raise ValueError(f"{len(numbers)} numbers for 3 channels")
    return numbers * (3 // len(numbers))
