#!/usr/bin/python3
"""Ten steps of each optimizer; writes optim_reference.csv.

    /usr/bin/python3 optim_reference.py          write the file beside this script
    /usr/bin/python3 optim_reference.py --check  compare it with what this script computes

Independent of the engine: NumPy in float64, the formulas as the papers print them, with averages
that are written out as sums over all past gradients instead of being carried along. One line a
tensor: case, name, shape as "10x3x4" (step first), values in row-major order. Starting points and
gradients are multiples of 1/1024, so they are the same numbers in f32. At step 4 (counted from 1)
"b" has no gradient: it stays where it is, and the step counts all the same.
"""

import os
import sys

import numpy as np

STEPS, MISSING = 10, 4
SHAPES = {"w": (3, 4), "b": (5,)}

SGD = {"lr": 0.1, "momentum": 0.0, "weight_decay": 0.0, "nesterov": False}
ADAM = {"lr": 0.05, "betas": (0.9, 0.99), "eps": 1e-6, "l2": 0.0, "decay": 0.0}
CASES = {  # name: settings; those of "b" where they differ
    "sgd": ({**SGD, "weight_decay": 0.05}, {}),
    "momentum": ({**SGD, "momentum": 0.8, "weight_decay": 0.05}, {}),
    "nesterov": ({**SGD, "momentum": 0.8, "weight_decay": 0.05, "nesterov": True}, {}),
    "adam": (ADAM, {}),
    "adam_l2": ({**ADAM, "l2": 0.3}, {}),
    "adamw": ({**ADAM, "decay": 0.3}, {}),
    "groups": ({**ADAM, "decay": 0.3}, {"lr": 0.1, "decay": 0.0, "eps": 0.5}),
}


def make_inputs():
    rng = np.random.default_rng(20141222)

    def draw(*shape):
        return np.round(1024 * rng.standard_normal(shape)) / 1024

    start = {name: draw(*shape) for name, shape in SHAPES.items()}
    grads = {name: draw(STEPS, *shape) for name, shape in SHAPES.items()}
    grads["w"] *= 2.0 ** -np.arange(STEPS)[:, None, None]  # not all of one size
    return start, grads


def sgd(p, past, s):
    """past: (step, gradient with decay) of all steps so far, the last one this one's."""
    mu, g = s["momentum"], past[-1][1]
    b = sum(mu ** (len(past) - 1 - i) * d for i, (_, d) in enumerate(past))
    return p - s["lr"] * (g + mu * b if s["nesterov"] else b)


def adam(p, past, s):
    (beta1, beta2), t = s["betas"], past[-1][0]
    age = [len(past) - 1 - i for i in range(len(past))]
    m = sum((1 - beta1) * beta1 ** k * g for k, (_, g) in zip(age, past))
    v = sum((1 - beta2) * beta2 ** k * g * g for k, (_, g) in zip(age, past))
    m_hat, v_hat = m / (1 - beta1 ** t), v / (1 - beta2 ** t)
    p = p - s["lr"] * s["decay"] * p
    return p - s["lr"] * m_hat / (np.sqrt(v_hat) + s["eps"])


def path(start, grads, s, missing):
    p, past, points = start, [], []
    for t in range(1, STEPS + 1):
        if t != missing:
            l2 = s["l2"] if "l2" in s else s["weight_decay"]
            past.append((t, grads[t - 1] + l2 * p))
            p = (adam if "betas" in s else sgd)(p, past, s)
        points.append(p)
    return np.array(points)


def line(case, name, a):
    return ",".join([case, name, "x".join(map(str, a.shape))] + [repr(float(v)) for v in a.flat])


def make_lines():
    start, grads = make_inputs()
    lines = ["case,name,shape,values"]
    for name in SHAPES:
        lines += [line("all", name, start[name]), line("all", "grad " + name, grads[name])]
    for case, (settings, of_b) in CASES.items():
        lines.append(line(case, "w", path(start["w"], grads["w"], settings, None)))
        lines.append(line(case, "b", path(start["b"], grads["b"], {**settings, **of_b}, MISSING)))
    return lines


def close(a, b):
    """Whether two lines agree: names exactly, numbers to rounding."""
    a, b = a.split(","), b.split(",")
    return a[:3] == b[:3] and len(a) == len(b) and (
        a[0] == "case" or np.allclose(np.array(a[3:], float), np.array(b[3:], float), 0, 1e-14))


def main():
    path_out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "optim_reference.csv")
    lines = make_lines()
    if "--check" in sys.argv[1:]:
        with open(path_out, encoding="ascii") as file:
            stored = file.read().splitlines()
        assert len(stored) == len(lines) and all(map(close, stored, lines)), path_out + " is stale"
        return
    with open(path_out, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


main()
