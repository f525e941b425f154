"""The digest of a module's weights covers names, shapes, types and values."""

import torch

from eyechart.models.weights.state_digests import module_sha256


def test_the_digest_of_weights_covers_names_shapes_types_and_values() -> None:
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3, 2, bias=False))
    digests = {module_sha256(module)}
    with torch.no_grad():
        module[1].weight[0, 0] += 1
    digests.add(module_sha256(module))
    digests.add(module_sha256(module.to(torch.bfloat16)))
    digests.add(module_sha256(torch.nn.Sequential(*module, torch.nn.Identity())))
    digests.add(module_sha256(torch.nn.ModuleDict({"other": module})))
    assert len(digests) == 4  # an identity has no weights
