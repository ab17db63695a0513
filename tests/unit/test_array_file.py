"""Files of arrays: what is written is read, damage is noticed, and a file is there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lycosa.backends.array_file import ArraysBroken, ArrayWriter, open_arrays


def write(path: Path, value: int = 1) -> None:
    with ArrayWriter(path, "numbers", {"made": "here"}) as out:
        out.add("keys", np.array([b"a" * 16, b"b" * 16], "S16"))
        out.add("pairs", np.full((3, 2), value, np.float64))
        out.add_parts("parts", np.int32, (np.arange(n) for n in (2, 0, 3)))
        out.add("none", np.zeros(0, np.uint8))


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    write(tmp_path / "folder" / "file")
    file = open_arrays(tmp_path / "folder" / "file", "numbers", ("keys", "none"))
    assert file.about == {"made": "here"}
    assert file["keys"].tolist() == [b"a" * 16, b"b" * 16]
    assert file["pairs"].tolist() == [[1.0, 1.0]] * 3
    assert file["parts"].tolist() == [0, 1, 0, 1, 2]
    assert len(file["none"]) == 0
    assert "other" not in file
    with pytest.raises(ValueError, match="read-only"):
        file["pairs"][0] = 2.0


def test_every_damaged_byte_and_every_cut_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path)
    whole = path.read_bytes()
    padding = 0
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        try:
            open_arrays(path, "numbers")
            padding += 1
        except ArraysBroken:
            pass
    assert padding < 200, "only the gaps between arrays"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ArraysBroken):
            open_arrays(path, "numbers")


def test_a_file_of_another_kind_or_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path)
    with pytest.raises(ArraysBroken, match="holds numbers, not letters"):
        open_arrays(path, "letters")
    with pytest.raises(ArraysBroken, match="has no index"):
        open_arrays(path, "numbers", ("index",))
    path.write_bytes(path.read_bytes().replace(b"arrays 1\n", b"arrays 2\n"))
    with pytest.raises(ArraysBroken, match="another version"):
        open_arrays(path, "numbers")
    path.write_bytes(b"something else entirely\n" * 10)
    with pytest.raises(ArraysBroken, match="no file of ours"):
        open_arrays(path, "numbers")


def test_what_fails_in_the_middle_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path, 1)
    with pytest.raises(RuntimeError), ArrayWriter(path, "numbers", {}) as out:  # noqa: PT012
        out.add("pairs", np.zeros(3))
        raise RuntimeError
    assert open_arrays(path, "numbers")["pairs"][0, 0] == 1.0
    assert list(tmp_path.iterdir()) == [path]


def test_who_has_an_old_file_open_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path, 1)
    old = open_arrays(path, "numbers")
    write(path, 2)
    assert (old["pairs"][0, 0], open_arrays(path, "numbers")["pairs"][0, 0]) == (1.0, 2.0)
