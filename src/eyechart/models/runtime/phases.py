"""What the threads of this process do now, for the progress of a session in the terminal."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

open_phases: dict[int, list[str]] = {}  # the names of those that are open now in each thread, the innermost last
seconds: defaultdict[str, float] = defaultdict(float)  # of those that have ended, by name


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Name what this thread does until the end of the block, and count its seconds.

    >>> with phase("outer"), phase("inner"):
    ...     open_phases[threading.get_ident()][-2:]
    ['outer', 'inner']
    >>> seconds["outer"] >= seconds["inner"] > 0
    True
    """
    begun = time.monotonic()
    names = open_phases.setdefault(threading.get_ident(), [])
    names.append(name)
    try:
        yield
    finally:
        names.pop()
        seconds[name] += time.monotonic() - begun
