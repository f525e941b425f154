"""The key of a request's answers in the store."""

from eyechart.data.dataset.dataset import Dataset
from eyechart.inference.requests.image_bytes import decoder_settings
from eyechart.inference.requests.row_requests import BaseRequest
from eyechart.inference.store.entries import Key
from eyechart.models.types import Model


def request_key(request: BaseRequest, model: Model, dataset: Dataset | None = None) -> Key:
    """Return the key of a model's answers to a request about the images of a data set.

    Requests about the whole split have the same key whatever part of it is selected. Raises ValueError for a request
    about images without a data set.
    """
    fields = request.key_fields
    if not request.about_images:
        data, decoder = "", {}
    elif dataset is None:
        raise ValueError(f"{type(request).__name__} is about images. Expected a data set.")
    else:
        data, decoder = dataset.index_fingerprint, decoder_settings(dataset)
    return Key(
        kind=fields.kind,
        model=model.identity.in_key,
        owner=model.owner,
        data=data,
        decoder=decoder,
        prompts=fields.prompts,
        decoding=fields.decoding,
        batch_size=model.batch_size if request.batched else 0,
    )
