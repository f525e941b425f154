"""How many requests to a server may be pending: few at first, and more as long as that pays.

Pending requests L and their mean latency R give the throughput L / R (Little's law). The limit climbs to the knee of
the curve of latency over throughput, where Kleinrock's power, throughput over a power of L, is greatest: at a server
with k slots that is L = k, whatever its latency is; where latency rises with every request, it is 80 % of the highest
throughput. A server that says that it is overloaded (429, 503, 529) lowers the limit at once.
"""

from math import log

START = 4
ROUND = 16  # responses that one comparison needs at least
WEIGHT = 0.2  # of L in the logarithm of power
STEP = 1.25  # factor between two limits that are compared, after the first doublings
CUT = 0.7  # factor after a server said that it is overloaded
SATURATED = 0.8  # fraction of the limit that must be pending for a comparison to say something
MAX_HOLD = 16  # rounds without a new comparison


class ConcurrencyLimit:
    """A limit between 1 and `most`, moved by what `on_response` and `on_overload` report."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = self._base = min(START, most)
        self._score: float | None = None  # of the base
        self._upwards, self._doubling = True, True
        self._hold, self._next_hold = 0, 1
        self._epoch = 0
        self._responses, self._seconds, self._peak = 0, 0.0, 0

    def on_request(self, pending: int) -> int:
        """Note that a request is sent while `pending` are, itself included; return the epoch for its response."""
        self._peak = max(self._peak, pending)
        return self._epoch

    def on_response(self, epoch: int, seconds: float) -> None:
        """Note the latency of a response; those to requests that were sent under another limit say nothing."""
        if epoch != self._epoch:
            return
        self._responses += 1
        self._seconds += seconds
        if self._responses >= max(ROUND, self.limit):
            saturated, latency = self._peak >= SATURATED * self.limit, self._seconds / self._responses
            self._begin_round()
            if saturated:
                self._compare((1 - WEIGHT) * log(self.limit) - log(max(latency, 1e-6)))

    def on_overload(self, epoch: int) -> None:
        """Lower the limit, once for all requests that were sent under it."""
        if epoch == self._epoch:
            self._doubling, self._upwards, self._hold = False, True, 1
            self._base = max(1, int(self.limit * CUT))
            self._score = None
            self._move(self._base)

    def forget_latency(self) -> None:
        """Start anew with the present limit, for requests of another kind."""
        self._score, self._base = None, self.limit
        self._begin_round()

    def _begin_round(self) -> None:
        self._responses, self._seconds, self._peak = 0, 0.0, 0

    def _move(self, limit: int) -> None:
        self.limit = limit
        self._epoch += 1
        self._begin_round()

    def _compare(self, score: float) -> None:
        """Keep the limit if it is better than the base, else return to the base; then try the next one."""
        if self.limit == self._base:
            self._score = score
            self._hold -= 1
            if self._hold < 0:
                self._try_next()
        elif self._score is None or score > self._score:
            self._base, self._score, self._next_hold = self.limit, score, 1
            self._try_next()
        else:
            self._turn()
            self._move(self._base)

    def _turn(self) -> None:
        """Try the other direction, after a pause that grows."""
        self._upwards, self._doubling = not self._upwards, False
        self._hold, self._next_hold = self._next_hold, min(MAX_HOLD, 2 * self._next_hold)

    def _try_next(self) -> None:
        factor = 2 if self._doubling else STEP
        up, down = max(self._base + 1, round(self._base * factor)), min(self._base - 1, round(self._base / STEP))
        limit = min(self.most, up) if self._upwards else max(1, down)
        if limit == self._base:
            self._turn()
        else:
            self._move(limit)
