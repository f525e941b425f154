"""Load a file in a process of its own first: some files end the process that loads them."""

import subprocess
import sys
from hashlib import sha256

from eyechart.errors import ModelError
from eyechart.models.exported.graph import Graph
from eyechart.models.weights.digests import digest_folder
from eyechart.models.weights.weight_source import digest


def try_to_load(graph: Graph, code: str, engine: str, *arguments: str, remedy: str = "Convert it again") -> None:
    """Load a graph in another process, once for its bytes, its engine and the arguments.

    Args:
        graph: The graph, whose files are loaded.
        code: What loads it, in Python; `sys.argv` has the path and the arguments.
        engine: The name of the engine, with its version.
        arguments: What else changes how it is loaded.
        remedy: What the user can do about a file that ends the process.

    Raises:
        ModelError: The process was ended by a signal, as by an invalid address. Other errors are left to the engine.
    """
    folder, name = digest_folder(), [digest(*graph.files), engine, *arguments]
    note = folder / f"loads-{sha256(' '.join(name).encode()).hexdigest()}" if folder else None
    if note and note.is_file():
        return
    command = [sys.executable, "-c", code, str(graph.path), *arguments]
    if subprocess.run(command, capture_output=True, check=False).returncode < 0:
        raise ModelError(f"{graph.path} crashes {engine} when it is loaded. {remedy}.")
    if note:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.touch()
