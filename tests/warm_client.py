"""Ask a warm interpreter for a fork that takes this process's place; it imports little, since every run starts it.

`warm_client.py SOCKET ARGUMENTS` sends its arguments, environment, folder and open files to `warm.py`, and ends as the
fork ends. If this process is killed, the fork is killed, too; SIGINT and SIGTERM are passed
on to it.
"""

import marshal
import os
import sys
from _signal import signal
from _socket import AF_UNIX, SCM_RIGHTS, SHUT_WR, SOL_SOCKET, socket

INTERRUPTED, KILLED, TERMINATED = 2, 9, 15


def ask(location: str, arguments: list[str]) -> int:
    """Return the exit status of a fork that runs with `arguments`; kill this process if the fork was killed."""
    files = inherited_files()
    server = socket(AF_UNIX)
    server.connect(location)
    fork = b""
    while not fork.endswith(b"\n"):
        if not (more := server.recv(1)):
            os.kill(os.getpid(), KILLED)
        fork += more
    for passed_on in (INTERRUPTED, TERMINATED):
        signal(passed_on, lambda number, _: os.kill(int(fork), number))
    order = marshal.dumps((arguments, dict(os.environ), os.getcwd(), files, os.getppid()))  # noqa: PTH109  # pathlib takes longer to import than all the rest
    pipes = b"".join(file.to_bytes(4, sys.byteorder) for file in files)
    sent = server.sendmsg([order], [(SOL_SOCKET, SCM_RIGHTS, pipes)])
    server.sendall(order[sent:])
    server.shutdown(SHUT_WR)
    said = b""
    while more := server.recv(1 << 10):  # until the fork has ended
        said += more
    if not said:
        os.kill(os.getpid(), KILLED)
    return int(said)


def inherited_files() -> list[int]:
    """Return the descriptors of the files that this process was started with: the pipes, and what it was given."""
    files = [0, 1, 2]
    for number in map(int, os.listdir("/dev/fd")):  # noqa: PTH208
        try:
            os.fstat(number)
        except OSError:  # that of the list itself, which is closed by now
            continue
        if number > 2:
            files.append(number)
    return files


if __name__ == "__main__":
    sys.exit(ask(sys.argv[1], sys.argv[2:]))
