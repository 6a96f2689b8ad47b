# SPDX-License-Identifier: Apache-2.0
"""What cleave adds to the engines that it is a bridge to."""
import engines_kubelet

PARTS = (engines_kubelet,)


def run(context):
    for part in PARTS:
        part.run(context)
