# SPDX-License-Identifier: Apache-2.0
"""What cleave adds to the engines that it is a bridge to."""
import engines_kubelet
import engines_slurm

PARTS = (engines_kubelet, engines_slurm)


def run(context):
    for part in PARTS:
        part.run(context)
