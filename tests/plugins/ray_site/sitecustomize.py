"""Has the workers of a Ray node forked from the warm interpreter whose command is in WARM_RAY.

Python runs this file at its start.
"""

import os
import sys

if any(argument.endswith("setup_worker.py") for argument in sys.orig_argv):
    os.execv(os.environ["WARM_RAY"], [os.environ["WARM_RAY"], *sys.orig_argv[1:]])
