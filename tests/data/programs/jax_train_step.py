"""Writes stablehlo/jax_train_step.mlir: one step of gradient descent of a decoder block, lowered by JAX.

usage: python3 jax_train_step.py > stablehlo/jax_train_step.mlir       (pip install jax; written with jax 0.10.2)
"""

import jax
import jax.numpy as jnp

BATCH, TOKENS, WIDTH, HEADS, VOCAB = 8, 128, 256, 4, 1024


def block(p, x):
    b, t, d = x.shape
    h = x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * p["norm"]
    q, k, v = jnp.split(h @ p["qkv"], 3, axis=-1)
    q, k, v = (y.reshape(b, t, HEADS, d // HEADS).transpose(0, 2, 1, 3) for y in (q, k, v))
    s = q @ k.transpose(0, 1, 3, 2) * (d // HEADS) ** -0.5
    s = jnp.where(jnp.tril(jnp.ones((t, t), bool)), s, -1e9)
    y = (jax.nn.softmax(s, axis=-1) @ v).transpose(0, 2, 1, 3).reshape(b, t, d)
    x = x + y @ p["out"]
    return x + jax.nn.silu(x @ p["up"]) @ p["down"]


def loss(p, tokens, wanted):
    x = block(p, p["embedding"][tokens])
    logits = x @ p["embedding"].T
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), wanted[..., None], axis=-1))


def step(p, tokens, wanted):
    value, slopes = jax.value_and_grad(loss)(p, tokens, wanted)
    return value, jax.tree_util.tree_map(lambda w, g: w - 0.01 * g, p, slopes)


def main():
    shape = lambda *s: jax.ShapeDtypeStruct(s, jnp.float32)  # noqa: E731
    p = {"embedding": shape(VOCAB, WIDTH), "norm": shape(WIDTH), "qkv": shape(WIDTH, 3 * WIDTH),
         "out": shape(WIDTH, WIDTH), "up": shape(WIDTH, 4 * WIDTH), "down": shape(4 * WIDTH, WIDTH)}
    tokens = jax.ShapeDtypeStruct((BATCH, TOKENS), jnp.int32)
    print(jax.jit(step).lower(p, tokens, tokens).as_text(), end="")


if __name__ == "__main__":
    main()
