# SPDX-License-Identifier: Apache-2.0
"""A framework's basic work on the GPU: prints "WHAT ok" or "WHAT not: WHY", a line each.

usage: framework_work.py jax|cupy|triton
"""
import sys

N = 512


def jax_works():
    import jax
    import jax.numpy as jnp

    assert jax.devices()[0].platform == "gpu", f"it sees {jax.devices()}"
    ones = jnp.ones((N, N))
    yield "matmul", lambda: float((ones @ ones)[0, 0]) == N
    yield "jit", lambda: float(jax.jit(lambda x: (x * 2).sum())(ones)) == 2 * N * N
    yield "grad", lambda: float(jax.grad(lambda x: (x ** 2).sum())(ones)[0, 0]) == 2


def cupy_works():
    import cupy

    ones = cupy.ones((N, N))
    kernel = cupy.ElementwiseKernel("float64 x", "float64 y", "y = 2 * x", "twice")
    yield "matmul", lambda: float((ones @ ones)[0, 0]) == N
    yield "kernel", lambda: float(kernel(ones).sum()) == 2 * N * N

    def streams():
        found = []
        for stream in [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]:
            with stream:
                found.append((cupy.ones((N, N)) * 3).sum())
            stream.synchronize()
        return [float(each) for each in found] == [3 * N * N] * 2
    yield "streams", streams


def triton_works():
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n),
                 mask=at < n)

    def kernel():
        x = torch.ones(N * N, device="cuda")
        out = torch.empty_like(x)
        add[(triton.cdiv(x.numel(), 1024),)](x, x, out, x.numel(), BLOCK=1024)
        return bool((out == 2).all())
    yield "kernel", kernel


WORKS = {"jax": jax_works, "cupy": cupy_works, "triton": triton_works}


def main():
    try:
        for name, work in WORKS[sys.argv[1]]():
            try:
                print(name, "ok" if work() else "not: another result", flush=True)
            except Exception as error:  # features that a version lacks
                print(name, "not:", str(error).splitlines()[0][:150], flush=True)
    except Exception as error:
        print("begin not:", str(error).splitlines()[0][:150], flush=True)


if __name__ == "__main__":
    main()
