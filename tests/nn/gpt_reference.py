#!/usr/bin/python3
"""Reference values and gradients of a small GPT; writes gpt_reference.csv beside this script.

    /usr/bin/python3 gpt_reference.py          write the file
    /usr/bin/python3 gpt_reference.py --check  compare it with what this script computes

Independent of the engine: NumPy in complex arithmetic. The loss is a plain forward pass; its
gradient in each element p comes from the complex step, loss(p + ih).imag / h, which is exact to
rounding and needs no rule for any layer. One line a tensor: case, name, shape as "2x5", values in
row-major order. Parameters are multiples of 1/1024, the same numbers in f32.
"""

import math
import os
import sys

import numpy as np

V, T_MAX, C, H, LAYERS = 7, 5, 6, 2, 2
D = C // H
STEP = 1e-30
EPS = 1e-5
TOKENS = np.array([[1, 4, 0, 6], [2, 2, 5, 3]])
TARGETS = np.array([[4, 0, 6, -1], [2, 5, 3, 0]])  # -1 is ignored

CASES = {  # name: (tied, pre-LN, gelu by erf, qk-norm)
    "gpt2": (True, True, True, False),
    "other": (False, False, False, True),
}


def erf(z):
    """Of z = x + ih, to first order in h: the complex step looks no further."""
    slope = 2 / math.sqrt(math.pi) * np.exp(-z.real**2)
    return np.vectorize(math.erf)(z.real) + 1j * slope * z.imag


def gelu(z, by_erf):
    if by_erf:
        return 0.5 * z * (1 + erf(z / math.sqrt(2)))
    return 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))


def norm(x, weight, bias=0.0):
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + EPS) * weight + bias


def softmax(s):
    e = np.exp(s - s.real.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(p, at, x, qk_norm):
    y = np.empty_like(x)
    qkv = x @ p[at + "qkv.weight"].T + p[at + "qkv.bias"]
    for b in range(x.shape[0]):
        for h in range(H):
            q, k, v = (qkv[b, :, i * C + h * D : i * C + (h + 1) * D] for i in range(3))
            if qk_norm:
                q, k = norm(q, p[at + "q_norm.weight"]), norm(k, p[at + "k_norm.weight"])
            for t in range(x.shape[1]):
                w = softmax(k[: t + 1] @ q[t] / math.sqrt(D))
                y[b, t, h * D : (h + 1) * D] = w @ v[: t + 1]
    return y @ p[at + "proj.weight"].T + p[at + "proj.bias"]


def mlp(p, at, x, by_erf):
    h = gelu(x @ p[at + "fc.weight"].T + p[at + "fc.bias"], by_erf)
    return h @ p[at + "proj.weight"].T + p[at + "proj.bias"]


def logits(p, tied, pre, by_erf, qk_norm):
    x = p["wte.weight"][TOKENS] + p["wpe.weight"][: TOKENS.shape[1]]
    for i in range(LAYERS):
        at = f"h.{i}."
        n1 = lambda z: norm(z, p[at + "ln_1.weight"], p[at + "ln_1.bias"])
        n2 = lambda z: norm(z, p[at + "ln_2.weight"], p[at + "ln_2.bias"])
        if pre:
            x = x + attention(p, at + "attn.", n1(x), qk_norm)
            x = x + mlp(p, at + "mlp.", n2(x), by_erf)
        else:
            x = n1(x + attention(p, at + "attn.", x, qk_norm))
            x = n2(x + mlp(p, at + "mlp.", x, by_erf))
    x = norm(x, p["ln_f.weight"], p["ln_f.bias"])
    return x @ p["wte.weight" if tied else "lm_head.weight"].T


def loss(p, config):
    z = logits(p, *config)
    total, count = 0.0, 0
    for row, target in zip(z.reshape(-1, V), TARGETS.reshape(-1)):
        if target >= 0:
            top = row.real.max()
            total += top + np.log(np.exp(row - top).sum()) - row[target]
            count += 1
    return total / count


def make_parameters(tied, pre, by_erf, qk_norm):
    rng = np.random.default_rng(20190214)

    def draw(*shape, around=0.0, scale=0.5):
        return np.round(1024 * (around + scale * rng.standard_normal(shape))) / 1024 + 0j

    p = {"wte.weight": draw(V, C), "wpe.weight": draw(T_MAX, C)}
    for i in range(LAYERS):
        at = f"h.{i}."
        for ln in ("ln_1", "ln_2"):
            p[at + ln + ".weight"] = draw(C, around=1.0, scale=0.25)
            p[at + ln + ".bias"] = draw(C, scale=0.25)
        p[at + "attn.qkv.weight"], p[at + "attn.qkv.bias"] = draw(3 * C, C), draw(3 * C)
        p[at + "attn.proj.weight"], p[at + "attn.proj.bias"] = draw(C, C), draw(C)
        if qk_norm:
            p[at + "attn.q_norm.weight"] = draw(D, around=1.0, scale=0.25)
            p[at + "attn.k_norm.weight"] = draw(D, around=1.0, scale=0.25)
        p[at + "mlp.fc.weight"], p[at + "mlp.fc.bias"] = draw(4 * C, C), draw(4 * C)
        p[at + "mlp.proj.weight"], p[at + "mlp.proj.bias"] = draw(C, 4 * C), draw(C)
    p["ln_f.weight"], p["ln_f.bias"] = draw(C, around=1.0, scale=0.25), draw(C, scale=0.25)
    if not tied:
        p["lm_head.weight"] = draw(V, C)
    return p


def gradient(p, name, config):
    g = np.empty(p[name].shape)
    for index in np.ndindex(*p[name].shape):
        p[name][index] += 1j * STEP
        g[index] = loss(p, config).imag / STEP
        p[name][index] -= 1j * STEP
    return g


def lines():
    yield "case,name,shape,values"
    for case, config in CASES.items():
        p = make_parameters(*config)
        tensors = {name: value.real for name, value in p.items()}
        tensors["logits"] = logits(p, *config).real
        tensors["loss"] = np.array([loss(p, config).real])
        tensors |= {"grad " + name: gradient(p, name, config) for name in p}
        for name, value in tensors.items():
            shape = "x".join(map(str, value.shape))
            yield ",".join([case, name, shape] + [repr(float(v)) for v in value.reshape(-1)])


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpt_reference.csv")
    text = "\n".join(lines()) + "\n"
    if sys.argv[1:] != ["--check"]:
        with open(path, "w", encoding="ascii") as out:
            out.write(text)
        return 0
    with open(path, encoding="ascii") as stored:
        old, new = stored.read().split("\n"), text.split("\n")
    for a, b in zip(old[1:-1], new[1:-1]):
        a, b = a.split(","), b.split(",")
        same = a[:3] == b[:3] and np.allclose(
            np.array(a[3:], float), np.array(b[3:], float), rtol=1e-12, atol=1e-14)
        if not same:
            print(f"{b[0]} {b[1]} differs")
            return 1
    return 0 if len(old) == len(new) else 1


if __name__ == "__main__":
    sys.exit(main())
