#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pods of the bench `pods` in the whole cluster of tests/kubernetes, in a process of its own because
modules of benches and tests have the same names.

usage: pods_cluster.py BUILD PAIRS WAITS

Prints, in milliseconds, {"pairs": [[without a share, with one]], "waits": [behind another pod]}; or
{"why": ...} where this machine has no cluster."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/kubernetes"))
import whole_cluster  # noqa: E402 (found by the path above)
from whole_cluster import wait_until  # noqa: E402

SHARE, MOST = 30, 90


def delete(cluster, name):
    cluster.delete(name)
    wait_until(lambda: cluster.is_gone(name))


def first_kernel_ns(cluster, name):
    """When the first kernel of the pod had run, by the machine's clock."""
    cluster.wait_for_phase(name, "Succeeded")
    ended = json.loads(cluster.said(name))["ns"]
    delete(cluster, name)
    return ended


def start_ms(cluster, name, share):
    began = time.time_ns()
    cluster.run(name, share, "worker", "first")
    return (first_kernel_ns(cluster, name) - began) / 1e6


def wait_ms(cluster, i):
    before, behind = f"before-{i}", f"behind-{i}"
    cluster.run(before, MOST, "worker", "run", "100000")
    cluster.wait_for_phase(before, "Running")
    cluster.run(behind, MOST, "worker", "first")
    wait_until(lambda: any(what == "FailedScheduling" for what, _ in cluster.events(behind)))
    began = time.time_ns()
    delete(cluster, before)
    return (first_kernel_ns(cluster, behind) - began) / 1e6


def measure(cluster, n_pairs, n_waits):
    start_ms(cluster, "first", SHARE)
    return {"pairs": [[start_ms(cluster, f"bare-{i}", 0), start_ms(cluster, f"share-{i}", SHARE)]
                      for i in range(n_pairs)],
            "waits": [wait_ms(cluster, i) for i in range(n_waits)]}


def main(build, n_pairs, n_waits):
    why = whole_cluster.why_not()
    if why:
        return {"why": why}
    cluster = whole_cluster.WholeCluster(
        ("0.1.0",), build, os.path.join(build, "tests/kubernetes/worker"))
    try:
        cluster.deploy("0.1.0")
        return measure(cluster, int(n_pairs), int(n_waits))
    finally:
        cluster.close()


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
