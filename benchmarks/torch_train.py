#!/usr/bin/env python3
"""`gradlab train --preset shakespeare-cpu` in PyTorch (1.13 or newer): wall time and loss, as JSON.

torch_train.py --data FILE [--threads N] [--iters 2000] [--seed 0] [--beside build/release/gradlab]

The same model, batches of the same size, schedule, clipping and evaluations; the losses are those of
the end, over all validation windows. With --beside PROGRAM that program trains on the same file
before and after, and `ratio` is PyTorch's time over the mean of its two, which hold its
checkpoints, its metrics and a sample of 500 characters besides.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional as F

from torch_reference import GPT

B, T = 12, 64
WARMUP, RATE, MIN_RATE = 100, 1e-3, 1e-4
EVAL_INTERVAL, EVAL_BATCHES = 250, 20


def rate_at(iteration, iters):
    if iteration < WARMUP:
        return RATE * (iteration + 1) / (WARMUP + 1)
    done = min(1.0, (iteration - WARMUP) / max(1, iters - WARMUP))
    return MIN_RATE + 0.5 * (1 + math.cos(math.pi * done)) * (RATE - MIN_RATE)


def read_splits(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    vocabulary = sorted(set(text))
    number = {c: i for i, c in enumerate(vocabulary)}
    tokens = torch.tensor([number[c] for c in text])
    cut = len(tokens) * 9 // 10
    return tokens[:cut], tokens[cut:], len(vocabulary)


def batch(split):
    starts = torch.randint(len(split) - T, (B,))
    windows = torch.stack([split[i:i + T + 1] for i in starts])
    return windows[:, :-1], windows[:, 1:]


def loss_of(model, x, y):
    logits = model(x)
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))


@torch.no_grad()
def evaluate(model, split):
    return sum(loss_of(model, *batch(split)).item() for _ in range(EVAL_BATCHES)) / EVAL_BATCHES


@torch.no_grad()
def evaluate_all(model, split):
    """Over windows of T side by side."""
    count = (len(split) - 1) // T
    x, y = (split[shift:shift + count * T].view(count, T) for shift in (0, 1))
    total = sum(loss_of(model, x[i:i + B], y[i:i + B]).item() * len(x[i:i + B])
                for i in range(0, count, B))
    return total / count


def train(path, iters):
    train_split, val_split, V = read_splits(path)
    model = GPT(V, T)
    matrices = [p for p in model.parameters() if p.dim() > 1]
    gains = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1},
                                   {"params": gains, "weight_decay": 0.0}],
                                  lr=RATE, betas=(0.9, 0.99))
    for iteration in range(iters):
        if iteration % EVAL_INTERVAL == 0:
            for split in (train_split, val_split):
                evaluate(model, split)
        for group in optimizer.param_groups:
            group["lr"] = rate_at(iteration, iters)
        optimizer.zero_grad(set_to_none=True)
        loss_of(model, *batch(train_split)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    evaluate(model, train_split)
    return evaluate_all(model, val_split)


def trained_beside(program, args):
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "--preset", "shakespeare-cpu", "--data", args.data,
                   "--max-iters", str(args.iters), "--seed", str(args.seed),
                   "--threads", str(args.threads), "--out-dir", os.path.join(folder, "run")]
        start = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            sys.exit(f"error: {' '.join(command)}: exit code {done.returncode}")
        seconds = time.perf_counter() - start
        with open(os.path.join(folder, "run", "metrics.jsonl"), encoding="utf-8") as file:
            losses = [json.loads(line) for line in file if "val_loss" in line]
        return seconds, losses[-1]["val_loss"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--iters", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--beside", metavar="PROGRAM")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    beside = [trained_beside(args.beside, args)] if args.beside else []
    start = time.perf_counter()
    loss = train(args.data, args.iters)
    seconds = time.perf_counter() - start
    result = {"torch": torch.__version__, "threads": args.threads, "iterations": args.iters,
              "seconds": seconds, "val_loss": loss}
    if args.beside:
        beside.append(trained_beside(args.beside, args))
        result["beside_seconds"] = [took for took, _ in beside]
        result["beside_val_loss"] = beside[0][1]
        result["ratio"] = seconds / (sum(result["beside_seconds"]) / 2)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
