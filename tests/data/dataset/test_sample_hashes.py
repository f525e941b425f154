"""Tests of `eyechart.data.dataset.sample_hashes`."""

from eyechart.data.dataset.sample_hashes import hash_samples


def test_the_hash_of_a_sample_is_of_its_key_and_image() -> None:
    one, other, image = hash_samples([("a", "00" * 32), ("b", "00" * 32), ("a", "ff" * 32)]).tolist()
    assert one >> 16 != other >> 16
    assert one >> 16 == image >> 16
    assert (one & 0xFFFF, image & 0xFFFF) == (0, 0xFFFF)
    assert len({*hash_samples((str(number), "ab" * 32) for number in range(50_000)).tolist()}) == 50_000
