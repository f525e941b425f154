"""Starts processes of Python that serve this one."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

# The new process has the path of modules of this process, and does not import its main module again.
START = """
import json, sys
from importlib import import_module
path, module, arguments = map(json.loads, sys.argv[1:])
sys.path[:] = path
import_module(module).main(*arguments)
"""


def start_python(
    module: str, arguments: Sequence[object], variables: Mapping[str, str], descriptors: Sequence[int]
) -> "subprocess.Popen[bytes]":
    """Start a process that calls `main` of a module with arguments that JSON can have.

    `variables` are added to the environment, and the process inherits the open files with some descriptors.
    """
    command = [sys.executable, "-c", START, *map(json.dumps, (sys.path, module, arguments))]
    return subprocess.Popen(
        command,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        stdout=2,  # what libraries print does not belong into the output of this process
        pass_fds=descriptors,
    )
