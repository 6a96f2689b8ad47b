# SPDX-License-Identifier: Apache-2.0
"""The cost of cleave's bridges to Kubernetes and Slurm."""
import engines_kubelet
import engines_slurm

PARTS = (engines_kubelet, engines_slurm)


def run(context):
    for part in PARTS:
        part.run(context)
