# SPDX-License-Identifier: Apache-2.0
"""The cost of cleave's bridges to Kubernetes and Slurm."""
import engines_kubelet
import engines_slurm

PARTS = (engines_kubelet, engines_slurm)


def run(context):
    for part in PARTS:
        part.run(context)


def run_all(context):
    """An hour of containers."""
    engines_kubelet.run_soak(context)
