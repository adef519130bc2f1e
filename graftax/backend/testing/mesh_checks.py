"""Checks of arrays over several devices; where there is one device, over a mesh of that."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.backend.testing.check import Kit, rows

X = np.arange(24.0, dtype="float32").reshape(8, 3)


def _check_meshes(kit: Kit) -> None:
    meshes = kit.backend.meshes
    devices = meshes.devices()
    mesh = meshes.mesh({"data": 1, "model": len(devices)}, devices)
    assert dict(mesh.shape) == {"data": 1, "model": len(devices)}, "a mesh has the axes that it was asked for"
    assert meshes.is_automatic(mesh), "the compiler spreads what it is not told about over a mesh"
    assert not meshes.is_automatic(X), "an array is no mesh"
    assert mesh == meshes.mesh({"data": 1, "model": len(devices)}, devices), "equal meshes are equal"


def _check_placing(kit: Kit) -> None:
    meshes = kit.backend.meshes
    mesh = meshes.mesh({"data": 1}, meshes.devices()[:1])
    split, whole = meshes.sharding(mesh, ("data", None)), meshes.sharding(mesh, ())
    assert split == meshes.sharding(mesh, ("data", None)), "equal places are equal"
    for given in (X, kit.array(X)):
        placed = meshes.place(given, split)
        kit.close(placed, X, "place")
        assert meshes.mesh_of(placed) == mesh, "what was placed lies over the mesh"
        kit.close(meshes.place(placed, whole), X, "place of what lies elsewhere")
        kit.close(meshes.constrain(placed, whole), X, "constrain")
        kit.close(meshes.gather(placed), X, "gather")
        back = meshes.place(placed, None)
        kit.close(back, X, "place on the default device")
        assert meshes.mesh_of(back) is None, "what lies on the default device lies over no mesh"
    host = X.copy()
    placed = meshes.place(host, split)
    host[:] = 0
    kit.close(placed, X, "the memory of the caller, written to after place")
    kit.close(meshes.make(lambda: kit.array(X) + 1, split), X + 1, "make")
    assert meshes.mesh_of(X) is None, "a NumPy array lies over no mesh"


def _check_shards(kit: Kit) -> None:
    meshes = kit.backend.meshes
    mesh = meshes.mesh({"data": 1}, meshes.devices()[:1])
    split = meshes.sharding(mesh, ("data", None))
    assert meshes.local_parts(split, 0) == 1, "one device of this process has one part"
    kit.close(meshes.join_rows(X, split), X, "join_rows of one process")

    def function(shares: list[Any]) -> list[Any]:
        (x,) = (meshes.varying(one, ("data",)) for one in shares)
        return [x * 2, meshes.mean_of_shards(x[0], ("data",))]

    double, mean = meshes.for_shards(function, mesh, [("data", None)], [("data", None), ()])([kit.array(X)])
    kit.close(double, 2 * X, "for_shards")
    kit.close(mean, X[0], "mean_of_shards")


CHECKS = rows("meshes", axes=_check_meshes, placing=_check_placing, shards=_check_shards)
