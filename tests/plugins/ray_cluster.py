"""A Ray cluster on this machine: a head, which drivers are connected to, and nodes that can be killed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

SCRIPT = """
import json
import os
import sys
import time
from ray.cluster_utils import Cluster
memory = 100 * 1024**2
unneeded = {"include_dashboard": False, "include_log_monitor": False, "no_monitor": True}  # processes of Ray
head = {**HEAD, **unneeded, "object_store_memory": memory}
cluster = Cluster(initialize_head=True, head_node_args=head)
nodes = []

def add(node):
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(node.get("num_gpus", 0))))
    nodes.append(cluster.add_node(object_store_memory=memory, **node))

for node in NODES:
    add(node)
print(cluster.address, flush=True)
for line in sys.stdin:
    if node := json.loads(line):
        add(node)
    else:
        cluster.remove_node(nodes.pop(), allow_graceful=False)
        while sum(node["Alive"] for node in cluster.global_state.node_table()) > len(nodes) + 1:
            time.sleep(0.1)  # or the next run waits for what the node had
    print("done", flush=True)
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
        self.do(None)

    def add_node(self, **resources: int) -> None:
        """Start one more node with `num_cpus` and `num_gpus`; GPUs are numbers without a device."""
        self.do(resources)

    def do(self, order: Mapping[str, int] | None) -> None:
        """Add a node with resources, or remove the last one."""
        self.orders.write(f"{json.dumps(order)}\n")
        self.orders.flush()
        assert self.replies.readline() == "done\n"


@contextmanager
def start_cluster(head: Mapping[str, int], *nodes: Mapping[str, int], warm: str = "") -> Iterator[RayCluster]:
    """Start a head and nodes with so many `num_cpus` and `num_gpus`; workers are forks of the interpreter `warm`."""
    environment = os.environ | QUIET | {"PYTHONPATH": ""}
    if warm:
        environment |= {"PYTHONPATH": str(Path(__file__).with_name("ray_site")), "WARM_RAY": warm}
    command = [sys.executable, "-c", f"HEAD, *NODES = {[dict(node) for node in (head, *nodes)]}\n{SCRIPT}"]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        yield RayCluster(process.stdout.readline().strip(), process.stdin, process.stdout)
        process.stdin.close()
        process.wait(60)
