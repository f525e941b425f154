"""How the id of a test ends that is a case; nothing slow is imported to recognise one."""

import re
from functools import cache


@cache
def case_pattern(aliases: tuple[str, ...]) -> re.Pattern[str]:
    """Return how a case ends a node id; a model is an alias or ends in a bracket, unlike other tests' ids.

    The test's other parameters follow after a dash.
    """
    model = "|".join([*map(re.escape, sorted(aliases, key=len, reverse=True)), r".+?\]"])
    return re.compile(rf"\[(?P<benchmark>[\w.-]+)/[\w.-]+/(?P<model>{model})(?:@(?P<choices>.+))?(?:-.*)?\]$")
