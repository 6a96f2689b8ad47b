# SPDX-License-Identifier: Apache-2.0
"""A program for python3-pyopencl: arithmetic on arrays, checked against numpy."""
import hashlib

import numpy
import pyopencl
import pyopencl.array

context = pyopencl.Context([pyopencl.get_platforms()[0].get_devices()[0]])
queue = pyopencl.CommandQueue(context)
host = numpy.random.default_rng(1).integers(0, 1 << 20, 1 << 20, dtype=numpy.int32)
a = pyopencl.array.to_device(queue, host)
b = pyopencl.array.to_device(queue, host[::-1].copy())
for _ in range(30):
    c = (a * 3 + b) - 7
    queue.finish()  # so that what it needs does not hang on how far it runs ahead
got = c.get()
assert (got == host * 3 + host[::-1] - 7).all(), "not what numpy has"
print(hashlib.sha256(got.tobytes()).hexdigest())
