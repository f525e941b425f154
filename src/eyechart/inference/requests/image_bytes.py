"""Reads the images of a data set for a model: checks their bytes, decodes them and puts them into requests."""

from hashlib import sha256
from platform import node

from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.images import decode_image
from eyechart.data.readers.in_memory import ImageSource
from eyechart.errors import ImageError
from eyechart.inference.requests.text_requests import TextRequest
from eyechart.models.runtime.device import count_processors
from eyechart.models.types import Request

THREADS = min(16, count_processors())


def load_image(dataset: Dataset, index: int, data: bytes) -> Image.Image:
    """Return the decoded image at an index, after checking that its bytes are those that were indexed.

    Raises ImageError for other bytes and for what cannot be decoded.
    """
    expected, digest = dataset.index[dataset.selected[index]].sha256, sha256(data).hexdigest()
    if digest != expected:
        location = dataset.source.location(dataset.selected[index])
        if isinstance(dataset.source, ImageSource):
            raise ImageError(
                f"Image {image_name(dataset, index)} is another one each time that {location} of the data is read: "
                "create the data set without a random transform. The answer is not stored."
            )
        raise ImageError(
            f"Image {image_name(dataset, index)} changed after the data set was indexed, or was read incompletely: the "
            f"{len(data):,} bytes that were read from {location} on {node()} have the sha256 {digest[:12]}…, the index "
            f"has {expected[:12]}…. The answer is not stored. When nothing writes to the file any more, run the same "
            "command again; if that does not help, delete the folder 'index' of the store, so that the data set is "
            "indexed anew."
        )
    return decode_image(data, image_name(dataset, index), upright=dataset.upright)


def image_name(dataset: Dataset, index: int) -> str:
    """Return the name of an image in messages."""
    return f"{dataset.benchmark}/{dataset.split}: {dataset.keys[index]}"


def load_request(dataset: Dataset | None, template: TextRequest) -> Request | ImageError:
    """Return a request with its images, and with the bytes they were decoded from for a model on a server.

    Returns the error of an image that cannot be read.
    """
    if not template.images:
        return Request(tuple(part for part in template.parts if isinstance(part, str)))
    assert dataset is not None  # `request_key` refuses requests about images without a data set
    files = [data for index in template.images for _, data in dataset.read([index])]
    try:
        images = [load_image(dataset, index, data) for index, data in zip(template.images, files, strict=True)]
    except ImageError as error:
        return error
    left = iter(images)
    return Request(tuple(part if isinstance(part, str) else next(left) for part in template.parts), tuple(files))
