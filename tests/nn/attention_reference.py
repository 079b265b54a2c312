#!/usr/bin/python3
"""Reference values and gradients of multi-head self-attention; writes attention_reference.csv.

    /usr/bin/python3 attention_reference.py          write the file beside this script
    /usr/bin/python3 attention_reference.py --check  compare it with what this script computes

Independent of the engine: NumPy in float64, one head and one query at a time, gradients derived by
hand and held to complex-step differentiation (f(x + ih).imag / h, exact to rounding). One line a
tensor: case, name, shape as "2x5x12", values in row-major order. Inputs are multiples of 1/1024, so
they are the same numbers in f32; those of the case "all" are shared by all cases.
"""

import os
import sys

import numpy as np

B, T, C, H = 2, 5, 12, 3
D = C // H
STEP = 1e-30  # of the complex step; nothing cancels, so it can be this small

CASES = {  # name: (factor on the scores, with biases)
    "sqrt_dk": (1 / np.sqrt(D), False),
    "none": (1.0, False),
    "sqrt_dk_bias": (1 / np.sqrt(D), True),
    "none_bias": (1.0, True),
}
PARAMETERS = ["qkv.weight", "proj.weight", "qkv.bias", "proj.bias"]
TRACED = "sqrt_dk"  # the case whose intermediates are written too


def make_inputs():
    rng = np.random.default_rng(20170612)

    def draw(*shape, scale=1.0):
        return np.round(1024 * scale * rng.standard_normal(shape)) / 1024

    return {
        "x": draw(B, T, C),
        "qkv.weight": draw(3 * C, C, scale=0.35),
        "proj.weight": draw(C, C, scale=0.3),
        "qkv.bias": draw(3 * C, scale=0.5),
        "proj.bias": draw(C, scale=0.5),
        "cotangent": draw(B, T, C),
    }


def rows(which, head):
    """The rows of qkv.weight that make q (0), k (1) or v (2) of one head."""
    start = which * C + head * D
    return slice(start, start + D)


def forward(p, scale, bias):
    x = p["x"]
    t = {name: np.zeros((B, H, T, D), x.dtype) for name in "qkv"}
    t["scores"] = np.zeros((B, H, T, T), x.dtype)
    t["weights"] = np.zeros((B, H, T, T), x.dtype)
    merged = np.zeros((B, T, C), x.dtype)
    y = np.zeros((B, T, C), x.dtype)
    for b in range(B):
        for h in range(H):
            for which, name in enumerate("qkv"):
                t[name][b, h] = x[b] @ p["qkv.weight"][rows(which, h)].T
                if bias:
                    t[name][b, h] += p["qkv.bias"][rows(which, h)]
            for i in range(T):
                s = np.array([scale * np.sum(t["q"][b, h, i] * t["k"][b, h, j]) for j in range(T)])
                e = np.exp(s - s.real.max())
                t["scores"][b, h, i] = s
                t["weights"][b, h, i] = e / e.sum()
                for j in range(T):
                    merged[b, i, h * D:(h + 1) * D] += t["weights"][b, h, i, j] * t["v"][b, h, j]
        y[b] = merged[b] @ p["proj.weight"].T + (p["proj.bias"] if bias else 0)
    return y, t, merged


def backward(p, scale, bias):
    """Gradients of sum(y * cotangent), by hand."""
    _, t, merged = forward(p, scale, bias)
    g = p["cotangent"]
    d = {name: np.zeros_like(p[name]) for name in ["x"] + PARAMETERS}
    dt = {name: np.zeros_like(value) for name, value in t.items()}
    for b in range(B):
        d["proj.weight"] += g[b].T @ merged[b]
        d["proj.bias"] += g[b].sum(0)
        dmerged = g[b] @ p["proj.weight"]
        for h in range(H):
            do = dmerged[:, h * D:(h + 1) * D]
            q, k, v, w = (t[name][b, h] for name in ["q", "k", "v", "weights"])
            dw = do @ v.T
            ds = np.array([(np.diag(w[i]) - np.outer(w[i], w[i])) @ dw[i] for i in range(T)])
            grads = {"q": scale * ds @ k, "k": scale * ds.T @ q, "v": w.T @ do}
            dt["scores"][b, h], dt["weights"][b, h] = ds, dw
            for which, name in enumerate("qkv"):
                dt[name][b, h] = grads[name]
                d["x"][b] += grads[name] @ p["qkv.weight"][rows(which, h)]
                d["qkv.weight"][rows(which, h)] += grads[name].T @ p["x"][b]
                d["qkv.bias"][rows(which, h)] += grads[name].sum(0)
    return d, dt


def check_gradients(p, d, scale, bias):
    """Every element of every gradient against a complex step."""
    worst = 0.0
    for name in ["x"] + (PARAMETERS if bias else PARAMETERS[:2]):
        for index in np.ndindex(p[name].shape):
            moved = {key: value.astype(complex) for key, value in p.items()}
            moved[name][index] += 1j * STEP
            numeric = np.sum(forward(moved, scale, bias)[0].imag * p["cotangent"]) / STEP
            worst = max(worst, abs(numeric - d[name][index]))
    assert worst < 1e-13, worst
    return worst


def line(case, name, array):
    shape = "x".join(map(str, array.shape))
    return ",".join([case, name, shape] + [repr(float(v)) for v in array.ravel()])


def make_lines():
    p = make_inputs()
    lines = ["case,name,shape,values"] + [line("all", name, p[name]) for name in p]
    for case, (scale, bias) in CASES.items():
        y, t, _ = forward(p, scale, bias)
        d, dt = backward(p, scale, bias)
        print(f"{case}: hand-made gradients off by {check_gradients(p, d, scale, bias):.1e} at most")
        lines.append(line(case, "y", y))
        for name in ["x"] + (PARAMETERS if bias else PARAMETERS[:2]):
            lines.append(line(case, "grad " + name, d[name]))
        if case == TRACED:
            lines += [line(case, name, t[name]) for name in t]
            lines += [line(case, "grad " + name, dt[name]) for name in dt]
    return lines


def close(a, b):
    """Whether two lines agree: names exactly, numbers to rounding, which differs between BLASes."""
    a, b = a.split(","), b.split(",")
    return a[:3] == b[:3] and len(a) == len(b) and (
        a[0] == "case" or np.allclose(np.array(a[3:], float), np.array(b[3:], float), 0, 1e-14))


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "attention_reference.csv")
    lines = make_lines()
    if "--check" in sys.argv[1:]:
        with open(path, encoding="ascii") as file:
            stored = file.read().splitlines()
        assert len(stored) == len(lines) and all(map(close, stored, lines)), path + " is stale"
        return
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


main()
