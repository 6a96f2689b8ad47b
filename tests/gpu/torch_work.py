# SPDX-License-Identifier: Apache-2.0
"""Common work with PyTorch: prints "WORK STEPS-A-SECOND", or the reason why not, a line each.

usage: torch_work.py SECONDS [DEVICE]
"""
import multiprocessing
import sys
import time

import torch
from torch import nn

BATCH, WIDTH = 256, 1024
IMAGES, CHANNELS, SIDE = 64, 64, 32
WARM_UP = 5


def mlp():
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(),
                         nn.Linear(WIDTH, 10))


def convolution():
    return nn.Sequential(nn.Conv2d(3, CHANNELS, 3, padding=1), nn.ReLU(),
                         nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(CHANNELS, 10))


def inputs(model, device):
    if isinstance(model[0], nn.Linear):
        return torch.randn(BATCH, WIDTH, device=device)
    return torch.randn(IMAGES, 3, SIDE, SIDE, device=device)


def training(model, device):
    """A function that does one step."""
    model = model.to(device)
    data = inputs(model, device)
    labels = torch.zeros(len(data), dtype=torch.long, device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(data), labels).backward()
        optimizer.step()

    return step


def inference(model, device, wrap=lambda model: model):
    model = model.to(device).eval()
    data, run = inputs(model, device), wrap(model)

    def step():
        with torch.no_grad():
            run(data)

    return step


def graph_training(device):
    step = training(mlp(), device)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


WORKS = {
    "mlp-training": lambda device: training(mlp(), device),
    "mlp-inference": lambda device: inference(mlp(), device),
    "convolution-training": lambda device: training(convolution(), device),
    "convolution-inference": lambda device: inference(convolution(), device),
    "graph-training": graph_training,
    "compiled-inference": lambda device: inference(mlp(), device, torch.compile),
}


def wait_for(device):
    if device == "cuda":
        torch.cuda.synchronize()


def rate(step, device, seconds):
    for _ in range(WARM_UP):
        step()
    wait_for(device)
    begin, n = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        for _ in range(10):
            step()
        wait_for(device)
        n += 10
    return n / (time.perf_counter() - begin)


def one_of_two(device, seconds, line):
    step = training(mlp(), device)
    step()
    wait_for(device)
    line.send("ready")
    line.recv()
    line.send(rate(step, device, seconds))


def two_processes(device, seconds):
    """Both are ready before either begins."""
    context = multiprocessing.get_context("spawn")
    pairs = [context.Pipe() for _ in range(2)]
    processes = [context.Process(target=one_of_two, args=(device, seconds, theirs))
                 for _, theirs in pairs]
    for process in processes:
        process.start()
    for ours, _ in pairs:
        if not ours.poll(90):
            raise TimeoutError("a process did not come to its first step")
        ours.recv()
    for ours, _ in pairs:
        ours.send("go")
    total = sum(ours.recv() for ours, _ in pairs)
    for process in processes:
        process.join()
    return total


def main():
    seconds = float(sys.argv[1])
    device = sys.argv[2] if len(sys.argv) > 2 else "cuda"
    torch.manual_seed(1)
    for name, make in WORKS.items():
        try:
            print(name, f"{rate(make(device), device, seconds):.3f}", flush=True)
        except Exception as error:  # features that a version of PyTorch or its compiler lacks
            print(name, "cannot:", str(error).splitlines()[0][:150], flush=True)
    print("two-processes", f"{two_processes(device, seconds):.3f}", flush=True)


if __name__ == "__main__":
    main()
