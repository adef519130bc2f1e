"""`ckpt rename --map` takes the globs that `map=` of a restore takes."""

import json

import numpy as np
import pytest

import graftax as gx


class Holder(gx.Module):
    def __init__(self, **held):
        for name, value in held.items():
            setattr(self, name, value)


def value(n):
    return gx.Variable(np.full(2, n, "float32"))


@pytest.fixture
def program(ckpt):
    parts = [Holder(w=value(10 * i), gain=value(10 * i + 1)) for i in range(3)]
    body = Holder(blocks=parts, table={1: value(5), 2: value(6)}, new=Holder(z=value(7)))
    gx.Checkpoint(net=body, other=Holder(x=value(8))).save("p")
    return ckpt


def arrays(path):
    with gx.checkpoint.read(path) as found:
        return {name: float(np.ravel(array)[0]) for name, array in found.items()}


CASES = {
    ("net/blocks/*/kernel=net/blocks/*/w",): {f"net/blocks/{i}/w": f"net/blocks/{i}/kernel" for i in range(3)},
    ("**/kernel=**/w",): {f"net/blocks/{i}/w": f"net/blocks/{i}/kernel" for i in range(3)},
    ("net/blocks/*/scale_*=net/blocks/*/g*",): {f"net/blocks/{i}/gain": f"net/blocks/{i}/scale_ain" for i in range(3)},
    ("net/layers=net/blocks", "net/layers/*/v=net/blocks/*/w"): {
        **{f"net/blocks/{i}/w": f"net/layers/{i}/v" for i in range(3)},
        **{f"net/blocks/{i}/gain": f"net/layers/{i}/gain" for i in range(3)},
    },
    ("body/**=net/**",): {
        **{f"net/blocks/{i}/{n}": f"body/blocks/{i}/{n}" for i in range(3) for n in ("w", "gain")},
        "net/table/1": "body/table/1",
        "net/table/2": "body/table/2",
        "net/new/z": "body/new/z",
    },
    ("other/**=net/new/**",): {"net/new/z": "other/z"},
    ("net/blocks/*/a=net/blocks/*/w", "net/blocks/0/b=net/blocks/0/w"): {
        "net/blocks/0/w": "net/blocks/0/b",
        "net/blocks/1/w": "net/blocks/1/a",
        "net/blocks/2/w": "net/blocks/2/a",
    },
    ("net/blocks/*/w=net/blocks/*/gain", "net/blocks/*/gain=net/blocks/*/w"): {
        f"net/blocks/{i}/{a}": f"net/blocks/{i}/{b}" for i in range(3) for a, b in (("w", "gain"), ("gain", "w"))
    },
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("maps", CASES)
def test_globs_stand_for_all_that_they_fit(program, maps):
    code, out, err = program("rename", "p", "--to", "r", "--json", *[f"--map={one}" for one in maps])
    assert code == 0, err
    assert arrays("r") == {CASES[maps].get(path, path): n for path, n in arrays("p").items()}
    assert not any("*" in word for pair in json.loads(out)["renamed"].items() for word in pair)
    assert program("verify", "r")[0] == 0


@pytest.mark.parametrize(
    ("maps", "code", "told"),
    [
        (["net/blocks/*/v=net/blocks/0/w"], 2, "as many stars, in their order"),
        (["net/blocks/0/v=net/blocks/*/w"], 2, "as many stars, in their order"),
        (["net/blocks/*/v=net/blocks/*/nothing"], 2, "the glob fits nothing"),
        (["net/blocks/*/w=net/blocks/*/gain"], 4, "there already"),
        (["net/blocks/*/a=net/blocks/*/w", "net/blocks/*/b=net/blocks/*/w"], 4, "tied from then on"),
        (["net/blocks/*/a=net/blocks/*/w", "net/blocks/*/a=net/blocks/*/gain"], 2, "has a value already"),
        (["net/blocks/*/a=net/blocks/*/w", "net/blocks/*/*a=net/blocks/*/*gain"], 4, "two would have one path"),
        (["nowhere/*=net/blocks/*"], 2, "no 'nowhere'"),
        (["net/**=other/**", "net/x=net/new"], 4, "two would have one path"),
    ],
)
def test_globs_that_cannot_be_followed(program, maps, code, told, tmp_path):
    found, _, err = program("rename", "p", "--to", "r", *[f"--map={one}" for one in maps])
    assert (found, told in err, (tmp_path / "r").exists()) == (code, True, False), err
    assert [line.split(":")[0].strip() for line in err.splitlines()][1:] == ["why", "instead"], err
    assert "map=" not in err


def test_slots_follow_their_variable(ckpt):
    w = value(1)
    optimizer = gx.optimizers.Adam(0.1)
    optimizer.apply([np.ones(2, "float32")], [w])
    gx.Checkpoint(net=Holder(w=w), optimizer=optimizer).save("o")
    assert ckpt("rename", "o", "--to", "r", "--map", "**/v=**/w")[0] == 0
    assert {"net/v", "optimizer/slots(momentum)/net/v"} < set(arrays("r"))
    code, _, err = ckpt("rename", "o", "--to", "s", "--map", "optimizer/m=optimizer/slots(momentum)/net/w")
    assert (code, "the path of the Variable" in err) == (2, True)


def test_keys_that_are_numbers_stay_so(program):
    assert program("rename", "p", "--to", "r", "--map", "net/table/7=net/table/1")[0] == 0
    table = {7: value(0), 2: value(0)}
    gx.Checkpoint(table=table).restore("r", map={"table": "net/table"}, mode="cover")
    assert {key: float(v.numpy()[0]) for key, v in table.items()} == {7: 5, 2: 6}


def test_names_with_a_slash_are_renamed(program):
    gx.Checkpoint(**{"a/b": value(1), "c": {"d/e": value(2)}}).save("s")
    assert arrays("s") == {"a%2Fb": 1, "c/d%2Fe": 2}
    maps = ("--map", "a%2Fx=a%2Fb", "--map", "c/d%2Fy=c/d%2Fe")
    assert program("rename", "s", "--to", "r", *maps)[0] == 0
    assert arrays("r") == {"a%2Fx": 1, "c/d%2Fy": 2}
