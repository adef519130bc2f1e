"""A small transformer with Adam, written by hand in JAX with NamedSharding: what a step should need of the devices."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

SIZE, INNER, HEADS, BLOCKS, VOCABULARY, LENGTH, ROWS = 64, 256, 4, 2, 128, 16, 16
COLUMNS, LINES = ("query", "key", "value", "up", "head"), ("output", "down", "embed")


def weights() -> dict[str, Any]:
    """Random weights."""
    draw = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return draw.normal(size=shape).astype("float32") * shape[0] ** -0.5

    def block() -> dict[str, Any]:
        square = {name: normal(SIZE, SIZE) for name in ("query", "key", "value", "output")}
        scales = {name: np.ones(SIZE, "float32") for name in ("norm1", "norm2")}
        return {**square, "up": normal(SIZE, INNER), "down": normal(INNER, SIZE), **scales}

    ends = {"embed": normal(VOCABULARY, SIZE), "head": normal(SIZE, VOCABULARY)}
    return {**ends, **{f"block{i}": block() for i in range(BLOCKS)}}


def norm(x: Any, scale: Any) -> Any:
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def matmul(x: Any, kernel: Any) -> Any:
    return (x.reshape(-1, x.shape[-1]) @ kernel).reshape(*x.shape[:-1], -1)


def block(h: Any, kept: dict[str, Any], gathered: Any) -> Any:
    w = {name: gathered(name, value) for name, value in kept.items()}
    n = norm(h, w["norm1"])
    q, k, v = (
        matmul(n, w[name]).reshape(ROWS, LENGTH, HEADS, SIZE // HEADS).swapaxes(1, 2)
        for name in ("query", "key", "value")
    )
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    scores = jnp.where(mask, q @ k.swapaxes(-1, -2) * (SIZE // HEADS) ** -0.5, -1e30)
    h = h + matmul((jax.nn.softmax(scores) @ v).swapaxes(1, 2).reshape(ROWS, LENGTH, SIZE), w["output"])
    return h + matmul(jax.nn.gelu(matmul(norm(h, w["norm2"]), w["up"])), w["down"])


def logits(p: Any, x: Any, gathered: Any, stacked: Any = None) -> Any:
    """Return the logits; with ``stacked``, which joins weights of all blocks, the blocks are one, in a loop."""
    h = jnp.take(gathered("embed", p["embed"]), x, axis=0)
    blocks = [p[f"block{i}"] for i in range(BLOCKS)]
    if stacked is None:
        for kept in blocks:
            h = block(h, kept, gathered)
    else:
        rows = {name: stacked(name, [kept[name] for kept in blocks]) for name in blocks[0]}
        h, _ = jax.lax.scan(jax.checkpoint(lambda h, kept: (block(h, kept, gathered), None)), h, rows)
    return matmul(h, gathered("head", p["head"]))


def axes(kind: str, name: str, shape: tuple[int, ...]) -> P:
    """Where a weight lies: split by the tensor's way, fully, or both."""
    found: list[str | None] = [None] * len(shape)
    if kind in ("tensor", "both") and name in COLUMNS + LINES:
        found[1 if name in COLUMNS else 0] = "model"
    if kind in ("sharded", "both") and len(shape) == 2:
        free = [i for i in range(2) if found[i] is None]
        found[max(free, key=lambda i: shape[i])] = "data"
    return P(*found)


def compiled_step(kind: str, looped: bool = False) -> Any:
    """Compile a step of Adam, the weights gathered where they are used; ``looped`` says that the blocks are a scan."""
    sizes = (4, 2) if kind in ("tensor", "both") else (8,)
    mesh = jax.make_mesh(sizes, ("data", "model")[: len(sizes)], axis_types=(AxisType.Auto,) * len(sizes))

    def placed(way: Any, value: Any) -> Any:
        return NamedSharding(mesh, axes(kind, way[-1].key, value.shape))

    p = weights()
    homes = jax.tree_util.tree_map_with_path(placed, p)
    p = jax.device_put(p, homes)
    zeros = jax.device_put(jax.tree.map(jnp.zeros_like, p), homes)
    computed = "tensor" if kind in ("tensor", "both") else "data"

    def gathered(name: str, value: Any) -> Any:
        return jax.lax.with_sharding_constraint(value, NamedSharding(mesh, axes(computed, name, value.shape)))

    def stacked(name: str, values: Any) -> Any:
        return jax.lax.with_sharding_constraint(
            jnp.stack(values), NamedSharding(mesh, P(None, *axes(kind, name, values[0].shape)))
        )

    def loss(p: Any, x: Any, y: Any) -> Any:
        found = jax.nn.log_softmax(logits(p, x, gathered, stacked if looped else None))
        return -jnp.mean(jnp.take_along_axis(found, y[..., None], -1))

    def step(p: Any, m: Any, v: Any, x: Any, y: Any) -> Any:
        value, g = jax.value_and_grad(loss)(p, x, y)
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b * b, v, g)
        return jax.tree.map(lambda p, a, b: p - 1e-3 * a / (jnp.sqrt(b) + 1e-8), p, m, v), m, v, value

    x = jax.device_put(np.zeros((ROWS, LENGTH), "int32"), NamedSharding(mesh, P("data")))
    out = (homes, homes, homes, NamedSharding(mesh, P()))
    return jax.jit(step, donate_argnums=(0, 1, 2), out_shardings=out).lower(p, zeros, zeros, x, x).compile()
