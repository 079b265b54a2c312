#!/usr/bin/env python3
"""The workloads of `gradlab bench` in PyTorch (1.13 or newer), as JSON: median and minimum in ms.

torch_reference.py [--quick] [--only NAME,...] [--threads 1,2]
"""
import argparse
import json
import math
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width, bias=False)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2)
                   for t in self.qkv(x).split(C, dim=-1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(C // self.heads)
        if self.causal:
            future = torch.ones(T, T, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(future, -math.inf)
        y = F.softmax(scores, dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class Norm(nn.Module):
    """LayerNorm without a bias, which 1.13's own cannot do."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, None)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.ln_2 = Norm(width), Norm(width)
        self.attn = Attention(width, heads, causal=True)
        self.fc = nn.Linear(width, 4 * width, bias=False)
        self.proj = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.proj(F.gelu(self.fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self, V=65, T=64, C=128, layers=4, heads=4):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, C), nn.Embedding(T, C)
        self.h = nn.Sequential(*(Block(C, heads) for _ in range(layers)))
        self.ln_f = Norm(C)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                onto_residual = name.endswith("proj.weight")
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * layers) if onto_residual else 0.02)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        return F.linear(self.ln_f(self.h(x)), self.wte.weight)


def gpt_step(B=12, T=64, V=65):
    model = GPT(V, T)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    x, y = torch.randint(V, (B, T)), torch.randint(V, (B * T,))

    def call():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(x).view(-1, V), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return call


def attention(B, T, C=768, heads=12):
    layer = Attention(C, heads, causal=False)
    x, g = torch.randn(B, T, C, requires_grad=True), torch.randn(B, T, C)

    def call():
        layer.zero_grad(set_to_none=True)
        x.grad = None
        layer(x).backward(g)

    return call


def mlp():
    net = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    x = torch.randn(1, 16)

    def call():
        net.zero_grad(set_to_none=True)
        net(x).backward()

    return call


def scaling_pass(q, k, v, g, factor):
    """One scale of one batch of trials: forward, backward and what the rows are measured by."""
    q, k, v = (t.detach().requires_grad_() for t in (q, k, v))
    scores = q @ k.transpose(-2, -1) * factor
    weights = F.softmax(scores, dim=-1)
    scores.retain_grad()
    weights.retain_grad()
    (weights @ v * g).sum().backward()
    p, ds, dp = weights.detach(), scores.grad, weights.grad
    square = (p * p).sum(-1)
    return [
        -(p * torch.log(p.clamp_min(1e-38))).sum(-1),  # entropy
        p.amax(-1),
        1 - square,  # trace of the Jacobian
        (square - 2 * (p ** 3).sum(-1) + square ** 2).clamp_min(0).sqrt(),  # its norm
        ds.norm(dim=-1) / (dp - dp.mean(-1, keepdim=True)).norm(dim=-1),  # gain
        ds.norm(dim=-1), q.grad.norm(dim=-1), k.grad.norm(dim=-1), v.grad.norm(dim=-1),
        (q.grad @ k.detach().transpose(-2, -1)).norm(dim=-1),  # step
    ]


def scaling(rows=1600, T=16, sizes=(4, 8, 16, 32, 64, 128, 256, 512, 1024)):
    def call():
        for d in sizes:
            q, k, v, g = (torch.randn(rows // T, T, d) for _ in range(4))
            for factor in (1.0, d ** -0.5):
                scaling_pass(q, k, v, g / math.sqrt(d), factor)

    return call


WORKLOADS = {
    "attention": lambda: attention(2, 128),
    "attention_long": lambda: attention(1, 1024),
    "gpt_step": gpt_step,
    "mlp": mlp,
    "scaling": scaling,
}


def timed(call, seconds, least):
    """Medians of samples of at least half a millisecond, after a warm-up."""
    def sample(times):
        start = time.perf_counter()
        for _ in range(times):
            call()
        return time.perf_counter() - start

    call()
    times = 1
    while sample(times) < 5e-4:
        times *= 2
    samples, spent = [], 0.0
    while len(samples) < least or spent < seconds:
        took = sample(times)
        spent += took
        samples.append(took / times * 1e3)
    return statistics.median(samples), min(samples), len(samples)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(WORKLOADS))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    names = args.only.split(",")
    for name in names:
        if name not in WORKLOADS:
            parser.error(f"--only: expected some of {', '.join(WORKLOADS)}, got {name!r}")
    torch.manual_seed(1)
    rows = []
    for threads in map(int, args.threads.split(",")):
        torch.set_num_threads(threads)
        for name in names:
            median, least, n = timed(WORKLOADS[name](), *((0.1, 3) if args.quick else (2.0, 11)))
            rows.append({"name": name, "threads": threads, "median_ms": median, "min_ms": least,
                         "samples": n})
    print(json.dumps({"torch": torch.__version__, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
