"""A Ray cluster on this machine: a head without processors, and nodes that can be killed."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

SCRIPT = """
import sys
from ray.cluster_utils import Cluster
memory = 100 * 1024**2
head = {"num_cpus": 0, "object_store_memory": memory, "include_dashboard": False}
cluster = Cluster(initialize_head=True, head_node_args=head)
nodes = [cluster.add_node(object_store_memory=memory, **node) for node in NODES]
print(cluster.address, flush=True)
for line in sys.stdin:
    cluster.remove_node(nodes.pop(), allow_graceful=False)
    print("removed", flush=True)
cluster.shutdown()
"""
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


@dataclass
class RayCluster:
    """A cluster at an address, and the pipes to the process that holds it."""

    address: str
    orders: IO[str]
    replies: IO[str]

    def remove_node(self) -> None:
        """Kill the last node with its processes, for good."""
        self.orders.write("remove\n")
        self.orders.flush()
        assert self.replies.readline() == "removed\n"


@contextmanager
def start_cluster(*nodes: Mapping[str, int]) -> Iterator[RayCluster]:
    """Start a cluster of nodes with so many `num_cpus` and `num_gpus`; GPUs are numbers without a device."""
    gpus = ",".join(str(number) for node in nodes for number in range(node.get("num_gpus", 0)))
    environment = os.environ | QUIET | {"CUDA_VISIBLE_DEVICES": gpus, "PYTHONPATH": ""}
    command = [sys.executable, "-c", f"NODES = {[dict(node) for node in nodes]}\n{SCRIPT}"]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        yield RayCluster(process.stdout.readline().strip(), process.stdin, process.stdout)
        process.stdin.close()
        process.wait(60)
