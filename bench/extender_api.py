#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The double of the API server for the bench of the extender, as a process of its own, with nodes
whose announcements follow the bindings as cleave-kubelet's would, some time later.

usage: extender_api.py KUBECONFIG SEED NODES MOST-DELAY-SECONDS
Prints a line when it is ready; at the end of its input it prints what is given of each device, as
JSON: {node: {device: milli}}.
"""
import json
import random
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/kubernetes"))
import scheduler  # noqa: E402
from api_server import ApiServer  # noqa: E402

PLACED = "cleave.dev/placed"
MEMORY_MIB = 81559
COUNTS = (1, 2, 4, 8)  # devices of a node
USED = (0, 0, 0, 100, 250, 300, 500, 500, 700, 900)  # thousandths at the start


class Cluster:
    def __init__(self, config, seed, n_nodes, most_delay):
        self.chance, self.most_delay = random.Random(seed), most_delay
        self.api = ApiServer()
        self.api.kubeconfig(config)
        self.given, self.told, self.due, self.lock = {}, {}, [], threading.Lock()
        for i in range(n_nodes):
            name = f"node-{i:04}.example.internal"
            self.given[name] = {f"gpu{k}": self.chance.choice(USED)
                                for k in range(self.chance.choice(COUNTS))}
            self.api.nodes[name] = scheduler.node(name, self.devices(name))
        self.api.on_bind = self.bind
        threading.Thread(target=self.announce, daemon=True).start()

    def devices(self, name):
        return [{"name": device, "model": "H100-80GB", "memory_mib": MEMORY_MIB,
                 "free_milli": max(0, 1000 - milli),
                 "free_mib": max(0, MEMORY_MIB * (1000 - milli) // 1000)}
                for device, milli in self.given[name].items()]

    def bind(self, body):
        with self.lock:
            node = body["target"]["name"]
            for row in json.loads(body["metadata"]["annotations"][PLACED]):
                self.given[node][row["device"]] += row["milli"]
            self.due.append((time.monotonic() + self.chance.uniform(0, self.most_delay), node))

    def announce(self):
        """What cleave-kubelet does, which looks every two seconds."""
        while True:
            time.sleep(.05)
            with self.lock:
                now = time.monotonic()
                names = {node for at, node in self.due if at <= now}
                self.due = [each for each in self.due if each[0] > now]
                made = {name: json.dumps(self.devices(name)) for name in names}
            for name, text in made.items():
                node = self.api.nodes[name]
                before = dict(node, metadata=dict(node["metadata"]))
                node["metadata"]["annotations"] = {scheduler.ANNOTATION: text}
                self.api.nodes.changed(name, before)


def main():
    config, seed, n_nodes, most_delay = sys.argv[1:]
    cluster = Cluster(config, int(seed), int(n_nodes), float(most_delay))
    print(json.dumps({name: len(devices) for name, devices in cluster.given.items()}), flush=True)
    sys.stdin.read()
    with cluster.lock:
        print(json.dumps(cluster.given), flush=True)


if __name__ == "__main__":
    main()
