"""Which images and classes two cases differ in: added, lost, replaced and renamed ones, by name."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import basename, dirname

import numpy as np

from eyechart.data.dataset.dataset import KEY_BITS
from eyechart.messages.plurals import count_of
from eyechart.results.evidence import Evidence
from eyechart.results.shared_samples import FOLDER, SUFFIX

MAX_LISTED = 5
IMAGE_BITS = 64 - KEY_BITS
FEW = 2**IMAGE_BITS // 20  # of so many pairs of a lost and an added image, equal bits are hardly ever chance
SIDES = ("in the baseline", "now")


@dataclass(frozen=True)
class Samples:
    """The image of each sample, as bits of its hash, by bits of the hash of its key; and its key, if it is known."""

    images: Mapping[int, int]
    keys: Mapping[int, str]

    @classmethod
    def of(cls, evidence: Evidence) -> "Samples":
        """Return the samples of a case whose hashes are known."""
        identities = evidence.sample_identities()
        hashes = (identities >> np.uint64(IMAGE_BITS)).tolist()
        images = (identities & np.uint64(2**IMAGE_BITS - 1)).tolist()
        return cls(dict(zip(hashes, images, strict=True)), dict(zip(hashes, evidence.keys, strict=False)))

    def names(self, hashes: Iterable[int]) -> list[str]:
        """Return the keys of samples, without those that are not known."""
        return [self.keys[hash_] for hash_ in hashes if hash_ in self.keys]

    def classes(self) -> Counter[str]:
        """Return the number of images by folder."""
        return Counter(map(dirname, self.keys.values()))


def describe_changed_samples(before: Evidence, after: Evidence, sides: tuple[str, str] = SIDES) -> list[str]:
    """Return which images and classes differ, a sentence part each, or which file that says so is missing."""
    unknown = [
        (side.sample_hashes, name)
        for side, name in zip((before, after), sides, strict=True)
        if side.sample_hashes not in side.arrays
    ]
    if unknown:
        return [
            f"the samples {name} are not known: restore {FOLDER}/{file}{SUFFIX}, a file that is committed with a "
            "baseline"
            for file, name in unknown
            if file
        ]
    old, new = Samples.of(before), Samples.of(after)
    lost = [hash_ for hash_ in old.images if hash_ not in new.images]
    added = [hash_ for hash_ in new.images if hash_ not in old.images]
    replaced = [hash_ for hash_, image in new.images.items() if old.images.get(hash_, image) != image]
    renamed = _pair_renamed(old, new, lost, added)
    lines = [*_describe_renamed(old, new, renamed, sides)]
    lost = [hash_ for hash_ in lost if hash_ not in renamed]
    gone = {*renamed.values()}
    added = [hash_ for hash_ in added if hash_ not in gone]
    if after.limit is None:  # a limit leaves out images of the other side, which are not lost
        lines += _describe_some(f"{sides[0]} and not {sides[1]}", "lost", old, new, lost)
    if before.limit is None:
        lines += _describe_some(f"{sides[1]} and not {sides[0]}", "added", new, old, added)
    if replaced:
        count = count_of(len(replaced), "image")
        lines.append(f"{count} replaced by another one of the same name: {shorten(new.names(replaced))}")
    has_limit = before.limit is not None or after.limit is not None
    if not lines and before.fingerprint != after.fingerprint and not has_limit:
        lines.append("the same images in another order")
    return lines


def _pair_renamed(old: Samples, new: Samples, lost: Sequence[int], added: Sequence[int]) -> dict[int, int]:
    """Return lost samples with the added ones that have their image, by hash: of one file name, or the only ones."""
    by_file, by_image = defaultdict[tuple[int, str], list[int]](list), defaultdict[int, list[int]](list)
    for hash_ in added:
        by_file[new.images[hash_], basename(new.keys.get(hash_, ""))].append(hash_)
        by_image[new.images[hash_]].append(hash_)
    images = Counter(old.images[hash_] for hash_ in lost)
    files = Counter((old.images[hash_], basename(old.keys.get(hash_, ""))) for hash_ in lost)
    is_few = len(lost) * len(added) <= FEW
    pairs: dict[int, int] = {}
    for hash_ in lost:
        image, name = old.images[hash_], basename(old.keys.get(hash_, ""))
        same = by_file[image, name] if name else []
        if len(same) == files[image, name] == 1:
            pairs[hash_] = same[0]
        elif is_few and len(by_image[image]) == images[image] == 1:
            pairs[hash_] = by_image[image][0]
    return pairs


def _describe_renamed(old: Samples, new: Samples, pairs: Mapping[int, int], sides: tuple[str, str]) -> Iterator[str]:
    """Yield the renamed classes, and the other renamed images."""
    folders = Counter(
        (dirname(old.keys.get(first, "")), dirname(new.keys.get(second, ""))) for first, second in pairs.items()
    )
    classes, before, after = set(), old.classes(), new.classes()
    for (first, second), count in folders.items():
        if first != second and count == before[first] == after[second]:
            classes.add((first, second))
            yield f"class renamed: {first} {sides[0]}, {second} {sides[1]} ({count_of(count, 'image')})"
    others = [
        (old.keys.get(first, "an image"), new.keys.get(second, "an image"))
        for first, second in pairs.items()
        if (dirname(old.keys.get(first, "")), dirname(new.keys.get(second, ""))) not in classes
    ]
    if others:
        shown = shorten([f"{first} {sides[0]}, {second} {sides[1]}" for first, second in others], "; ")
        yield f"{count_of(len(others), 'image')} renamed: {shown}"


def _describe_some(where: str, what: str, side: Samples, other: Samples, hashes: Sequence[int]) -> Iterator[str]:
    """Yield the classes that one side alone has, and the other images that it alone has."""
    if not hashes:
        return
    classes, others = side.classes(), other.classes() if other.keys else None
    names = side.names(hashes)
    counts = Counter(map(dirname, names))
    whole = [
        folder for folder, n in counts.items() if others and folder and n == classes[folder] and not others[folder]
    ]
    for folder in whole[:MAX_LISTED]:
        yield f"class {what}: {folder} ({count_of(counts[folder], 'image')}), {where}"
    if len(whole) > MAX_LISTED:
        yield f"{len(whole) - MAX_LISTED} more classes {what}, {where}"
    left = [name for name in names if dirname(name) not in {*whole}]
    if left:
        yield f"{count_of(len(left), 'image')} {what}, {where}: {shorten(left)}"
    elif not names:
        yield f"{count_of(len(hashes), 'image')} {what}, {where} (names not kept)"


def shorten(names: Sequence[str], separator: str = ", ") -> str:
    """Return the first names, and how many more there are.

    >>> shorten([*"abcdefg"])
    'a, b, c, d, e and 2 more'
    """
    more = f" and {len(names) - MAX_LISTED:,} more" if len(names) > MAX_LISTED else ""
    return f"{separator.join(names[:MAX_LISTED])}{more}"
