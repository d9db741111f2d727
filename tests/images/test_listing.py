"""The image files of paths and folders."""

import os

import pytest

from lshfast import DataError
from lshfast.images import list_images, listing


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")


def names(found, folder):
    return [os.path.relpath(path, folder) for path in found.paths]


def test_a_folder_is_listed_sorted_at_any_depth(tmp_path):
    touch(
        tmp_path,
        "b.JPG",
        "a/z.png",
        "a/a.webp",
        "c.txt",
        "d.HEIC",
        "e.raw",
        ".hidden.png",
        ".cache/e.png",
        "a.tiff",
    )
    found = list_images(tmp_path)
    assert names(found, tmp_path) == [
        "a.tiff",
        "a/a.webp",
        "a/z.png",
        "b.JPG",
        "d.HEIC",
    ]
    assert found.other == 2


def test_heic_is_listed_if_it_can_be_decoded(tmp_path, monkeypatch):
    touch(tmp_path, "a.heic", "b.png")
    assert names(list_images(tmp_path), tmp_path) == ["a.heic", "b.png"]
    monkeypatch.setattr(listing, "decodes_heic", lambda: False)
    found = list_images(tmp_path)
    assert names(found, tmp_path) == ["b.png"]
    assert found.left_out == {".heic": 1}


def test_inputs_keep_their_order_and_a_named_file_may_have_any_suffix(tmp_path):
    touch(tmp_path, "one/b.png", "one/a.png", "photo.dat")
    found = list_images([str(tmp_path / "photo.dat"), tmp_path / "one"])
    assert names(found, tmp_path) == ["photo.dat", "one/a.png", "one/b.png"]


def test_a_file_that_is_reached_twice_is_listed_once(tmp_path):
    touch(tmp_path, "one/a.png")
    found = list_images([tmp_path, tmp_path / "one", tmp_path / "one" / "a.png"])
    assert names(found, tmp_path) == ["one/a.png"]


@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
def test_links_do_not_make_copies(tmp_path):
    touch(tmp_path, "in/z.png", "out/y.png")
    os.symlink(tmp_path / "in" / "z.png", tmp_path / "in" / "a.png")
    os.symlink(tmp_path / "out" / "y.png", tmp_path / "in" / "b.png")
    os.symlink(tmp_path / "out" / "y.png", tmp_path / "in" / "c.png")
    os.symlink(tmp_path / "out", tmp_path / "in" / "folder")
    os.symlink(tmp_path / "nowhere.png", tmp_path / "in" / "broken.png")
    assert names(list_images(tmp_path / "in"), tmp_path / "in") == ["b.png", "z.png"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_pipes_are_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    touch(tmp_path, "a.png")
    assert names(list_images(tmp_path), tmp_path) == ["a.png"]
    with pytest.raises(DataError, match=r"pipe\.png: is neither a file nor a folder"):
        list_images(tmp_path / "pipe.png")


def test_what_cannot_be_listed(tmp_path):
    touch(tmp_path, "empty/notes.txt")
    with pytest.raises(DataError, match="empty: no image in this folder"):
        list_images(tmp_path / "empty")
    with pytest.raises(DataError, match=r"none\.png: cannot be read: No such file"):
        list_images([tmp_path / "none.png"])
    with pytest.raises(ValueError, match="no inputs"):
        list_images([])
