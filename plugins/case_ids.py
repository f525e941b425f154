"""The pattern of the node ids of cases; this module imports nothing slow."""

import re
from functools import cache


@cache
def case_pattern(aliases: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of a case at the end of a node id.

    A model is an alias or ends in a bracket, which distinguishes a case from the ids of other tests. The other
    parameters of the test follow after a dash.
    """
    model = "|".join([*map(re.escape, sorted(aliases, key=len, reverse=True)), r".+?\]"])
    return re.compile(
        rf"\[(?P<benchmark>[\w.-]+)/(?P<split>[\w.-]+)/(?P<model>{model})(?:@(?P<choices>.+))?(?:-.*)?\]$"
    )
