"""Every command that writes takes its destination as the last word, or behind --to."""

import os

import pytest

LINES = {
    "extract": ["extract", "a", "new", "--only", "model/layers/0"],
    "behind options": ["extract", "a", "--only", "model/layers/0", "new"],
    "rename": ["rename", "a", "--map", "net=model", "new"],
    "cast": ["cast", "a", "new", "--dtype", "bfloat16"],
    "convert": ["convert", "a", "new.npz"],
    "merge": ["merge", "a", "a", "new"],
    "average": ["average", "a", "b", "new"],
    "average behind options": ["average", "a", "b", "--only", "model/**", "new"],
}


@pytest.mark.parametrize("line", LINES)
def test_the_last_word(ckpt, line):
    code, _, err = ckpt(*LINES[line])
    assert (code, err) == (0, "")
    assert os.path.exists("new") or os.path.exists("new.npz")
    assert os.path.exists("b")


@pytest.mark.parametrize("words", [["--to", "new"], ["--to=new"]], ids=["two words", "one word"])
def test_save_and_restore_take_to(ckpt, tmp_path, words):
    (tmp_path / "program.py").write_text(
        "import graftax as gx\ndef build():\n    return {'w': gx.Variable([1.0, 2.0])}\n", encoding="utf-8"
    )
    assert ckpt("save", *words, "program.py:build")[0] == 0
    code, out, _ = ckpt("restore", "new", "--to", "program.py:build")
    assert code == 0
    assert "1 restored" in out
    assert ckpt("restore", "a", "--to=out.npz")[0] == 0
    assert os.path.exists("out.npz")


def test_none_or_two(ckpt):
    code, _, err = ckpt("extract", "a")
    assert code == 2
    assert "extract without a destination" in err
    assert "--to DEST" in err
    code, _, err = ckpt("extract", "a", "new", "--to", "other")
    assert code == 2
    assert "with 'new' and --to 'other'" in err
    assert ckpt("merge", "a")[0] == 2
    assert not os.path.exists("new")


def test_the_last_source_is_not_replaced_by_mistake(ckpt):
    code, _, err = ckpt("average", "a", "b", "--overwrite")
    assert code == 2
    assert "b would be replaced" in err
    code, _, err = ckpt("average", "a", "a", "b")
    assert code != 0
    assert "b exists" in err


def test_words_that_nothing_takes(ckpt, capsys):
    with pytest.raises(SystemExit):
        ckpt("extract", "a", "new", "more")
    assert "unrecognized arguments: more" in capsys.readouterr().err
