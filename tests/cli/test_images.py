"""Images from the command line: tables, saved hashes, pages, bad files and hostile names."""

import csv
import json
import os
import shutil
import signal

import numpy as np
import pyarrow
import pyarrow.parquet as parquet
import pytest

from lshfast import HammingIndex
from lshfast.images import hash_files
from lshfast.images import page as page_module
from tests.cli.commands import ENDINGS, failing, read_jsonl, run, stopped
from tests.images.pictures import Image, picture, save
from tests.io.pages.pages import HOSTILE, read_page

COLUMNS = [
    "path",
    "kept_path",
    "distance",
    "orientation",
    "quality",
    "width",
    "height",
    "bytes",
]


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def album(tmp_path_factory):
    """Return a folder with three pictures, copies of two, one without content, a damaged one and a text."""
    folder = tmp_path_factory.mktemp("album")
    (folder / "more").mkdir()
    for seed in range(3):
        save(folder, f"{seed}.png", picture(seed))
    save(folder / "more", "0 small.jpg", picture(0, (160, 120)), quality=80)
    save(
        folder / "more",
        "0 turned.webp",
        picture(0).resize((200, 150)).rotate(-90, expand=True),
    )
    save(folder / "more", "1 again.jpg", picture(1), quality=70)
    save(folder, "sky.png", Image.new("RGB", (64, 64), "navy"))
    (folder / "cut.png").write_bytes((folder / "0.png").read_bytes()[:2000])
    (folder / "notes.txt").write_text("no image")
    return folder


def test_tables_and_the_account(album, tmp_path):
    out, blank = tmp_path / "out.csv", tmp_path / "blank.jsonl"
    result = run(
        "images", album, "-o", out, "--without-content", blank, "--orientations"
    )
    assert result.exit_code == 0
    rows = read_csv(out)
    assert list(rows[0]) == COLUMNS
    found = [
        (
            os.path.relpath(row["path"], album),
            os.path.basename(row["kept_path"]),
            row["orientation"],
        )
        for row in rows
    ]
    assert found == [
        ("more/0 small.jpg", "0.png", "same"),
        ("more/0 turned.webp", "0.png", "rotated_90"),
        ("more/1 again.jpg", "1.png", "same"),
    ]
    first = rows[0]
    assert (first["width"], first["height"]) == ("160", "120")
    assert first["bytes"] == str((album / "more" / "0 small.jpg").stat().st_size)
    assert int(first["distance"]) <= 31
    assert int(first["quality"]) >= 50
    assert read_jsonl(blank) == [
        {"path": str(album / "sky.png"), "quality": 0, "width": 64, "height": 64,
         "bytes": (album / "sky.png").stat().st_size}
    ]  # fmt: skip
    (rejected,) = read_jsonl(tmp_path / "out.csv.rejects.jsonl")
    assert (rejected["file"], rejected["line"]) == (str(album / "cut.png"), None)
    assert "cannot be decoded" in rejected["reason"]
    said = " ".join(result.stderr.split())
    for part in ("images 8 1 other file in folders", "4 kept + 3 removed + 1 rejected = 8 read",
                 "kept 4 1 of them not compared, with a quality below 50", "copies 3 pdq, distance at most 31",
                 "groups 2 the largest has 3 images"):  # fmt: skip
        assert part in said
    assert (
        "1 row rejected" in run("images", album, "-o", out, "--overwrite", "-q").stderr
    )


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "removed"), [("pdq", 2), ("phash", 2), ("dhash", 2)])
def test_without_orientations(album, tmp_path, kind, removed):
    assert (
        run(
            "images", album, "-o", tmp_path / "out.parquet", "--hash", kind, "-q"
        ).exit_code
        == 0
    )
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column_names == COLUMNS
    assert len(table) == removed
    assert [str(field.type) for field in table.schema][:5] == [
        "string",
        "string",
        "int64",
        "string",
        "int64",
    ]
    assert run("images", album, "-o", "-", "--hash", kind, "-q").stdout.startswith(
        "path,kept_path,distance"
    )


def test_the_first_is_kept_and_the_radius_is_chosen(album, tmp_path):
    inputs = album / "more", album / "1.png", album / "2.png"
    out = tmp_path / "out.csv"
    assert run("images", *inputs, "-o", out, "--keep", "first", "-q").exit_code == 0
    assert [
        (os.path.basename(row["path"]), os.path.basename(row["kept_path"]))
        for row in read_csv(out)
    ] == [("1.png", "1 again.jpg")]
    assert (
        run(
            "images", *inputs, "-o", out, "--radius", 256, "--overwrite", "-q"
        ).exit_code
        == 0
    )
    assert len(read_csv(out)) == 4


@pytest.mark.one_case
@pytest.mark.parametrize("name", ["hashes.parquet", "hashes.csv", "hashes.jsonl.gz"])
def test_saved_hashes_are_compared_with(album, tmp_path, name):
    saved, out = tmp_path / name, tmp_path / "out.csv"
    again, other = tmp_path / "again.csv", tmp_path / "other.csv"
    assert (
        run(
            "images", album / "more", album / "2.png", "--save-hashes", saved, "-q"
        ).exit_code
        == 0
    )
    result = run("images", album, "-o", out, "--against", saved, "--save-hashes", again)
    assert result.exit_code == 0
    rows = {
        os.path.relpath(row["path"], album): os.path.basename(row["kept_path"])
        for row in read_csv(out)
    }
    assert rows == {"0.png": "0 small.jpg", "1.png": "1 again.jpg", "2.png": "2.png", "more/0 small.jpg": "0 small.jpg",
                    "more/0 turned.webp": "0 turned.webp", "more/1 again.jpg": "1 again.jpg"}  # fmt: skip
    assert "known 4 6 copies of them" in " ".join(result.stderr.split())
    assert read_csv(again) == []  # what is known and what has no content is not saved
    assert (
        run(
            "images", album / "2.png", "--save-hashes", again, "-q", "--overwrite"
        ).exit_code
        == 0
    )
    (row,) = read_csv(again)
    assert list(row) == ["path", "hash", "kind", "version", *COLUMNS[4:]]
    assert (row["kind"], row["version"], row["hash"]) == (
        "pdq",
        "2",
        hash_files([album / "2.png"]).hex()[0],
    )
    assert run("images", album / "0.png", "--save-hashes", other, "-q").exit_code == 0
    assert (
        run(
            "images",
            album,
            "-o",
            out,
            "--against",
            again,
            "--against",
            other,
            "-q",
            "--overwrite",
        ).exit_code
        == 0
    )
    assert [os.path.basename(row["kept_path"]) for row in read_csv(out)] == [
        "0.png",
        "2.png",
        "0.png",
        "1.png",
    ]


def test_a_turned_copy_of_a_known_image(album, tmp_path):
    saved, out = tmp_path / "saved.csv", tmp_path / "out.csv"
    assert run("images", album / "0.png", "--save-hashes", saved, "-q").exit_code == 0
    turned = album / "more" / "0 turned.webp"
    assert run("images", turned, "-o", out, "--against", saved, "-q").exit_code == 0
    assert read_csv(out) == []
    assert (
        run(
            "images",
            turned,
            "-o",
            out,
            "--against",
            saved,
            "--orientations",
            "-q",
            "--overwrite",
        ).exit_code
        == 0
    )
    assert [(row["kept_path"], row["orientation"]) for row in read_csv(out)] == [
        (str(album / "0.png"), "rotated_90")
    ]


def test_all_different_hashes_are_saved_with_radius_0(album, tmp_path):
    saved = tmp_path / "saved.csv"
    inputs = album / "0.png", album / "more" / "0 small.jpg"
    assert run("images", *inputs, "--save-hashes", saved, "-q").exit_code == 0
    assert len(read_csv(saved)) == 1
    assert (
        run(
            "images",
            *inputs,
            "--save-hashes",
            saved,
            "--radius",
            0,
            "-q",
            "--overwrite",
        ).exit_code
        == 0
    )
    assert len(read_csv(saved)) == len(set(hash_files(inputs).hex()))


def test_saved_hashes_are_checked(album, tmp_path):
    saved, out = tmp_path / "saved.csv", tmp_path / "out.csv"
    good = "path,hash,kind\na.png," + "0" * 64 + ",pdq\n"
    for text, said in (
        (good + "b.png,xyz,pdq\n", "saved.csv:3: not a hash of 64 hexadecimal digits"),
        (good + "b.png," + "0" * 63 + "g,pdq\n", "saved.csv:3: not a hash"),
        (
            good + "b.png," + "0" * 64 + ",\n",
            "saved.csv:3: the kind of the hash is (none), not pdq",
        ),
        (
            good.replace(",pdq", ",other"),
            "saved.csv:2: the kind of the hash is other, not pdq: --hash chooses it",
        ),
        ("name,hash,kind\na.png,00,pdq\n", "no column 'path'"),
        ("path,hash\na.png,00\n", "no column 'kind'"),
        ("path,kind\na.png,pdq\n", "no column 'hash'"),
    ):
        saved.write_text(text)
        assert said in failing(1, "images", album, "-o", out, "--against", saved)
        assert not out.exists()
    saved.write_text(good)
    assert "not a hash of 16" in failing(
        1, "images", album, "-o", out, "--against", saved, "--hash", "dhash"
    )
    assert run("images", album, "-o", out, "--against", saved, "-q").exit_code == 0
    saved.write_text("path,hash,kind\n")
    assert (
        run(
            "images", album, "-o", out, "--against", saved, "-q", "--overwrite"
        ).exit_code
        == 0
    )


def write_table(path, rows):
    """Write rows as a table, by the suffix of the path."""
    if path.suffix == ".parquet":
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(
                file, list(rows[0]), delimiter="," if path.suffix == ".csv" else "\t"
            )
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def lists(album, tmp_path_factory):
    """Return the rows that are saved for two images, by the kind of the hash."""
    saved = tmp_path_factory.mktemp("lists") / "saved.jsonl"
    rows = {}
    for kind in ("pdq", "phash", "dhash"):
        run(
            "images",
            album / "0.png",
            album / "1.png",
            "--save-hashes",
            saved,
            "--hash",
            kind,
            "-q",
            "--overwrite",
        )
        rows[kind] = read_jsonl(saved)
    return rows


def without(rows, *names):
    return [
        {name: value for name, value in row.items() if name not in names}
        for row in rows
    ]


SUFFIXES = ["csv", "tsv", "jsonl", "parquet"]
CODES = ["--column", "hash", "--as", "code", "--id-column", "path", "-q"]
EARLIER = "hashes of an earlier version of lshfast, whose pdq was another hash: write them again from the images with"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_saved_hashes_of_an_earlier_version_are_refused(album, lists, tmp_path, suffix):
    """Its pdq was another hash; lists of others have no figures of images, and its other hashes have not changed."""
    old, out = tmp_path / f"old.{suffix}", tmp_path / "out.csv"
    first, second = lists["pdq"]
    for rows, said in (
        (without(lists["pdq"], "version"), EARLIER),
        ([first | {"version": 1}, second | {"version": 1}], EARLIER),
        ([first, second | {"version": 1}], EARLIER),
        (
            [first, second | {"version": 3}],
            "hashes of a later version of lshfast, pdq (version 3)",
        ),
    ):
        message = failing(
            1, "images", album, "-o", out, "--against", write_table(old, rows)
        )
        assert said in message
        assert f"{old}:" in message
    for kind, rows in (
        ("phash", without(lists["phash"], "version")),
        ("pdq", without(lists["pdq"], *COLUMNS[4:])),
    ):
        write_table(old, rows)
        assert (
            run(
                "images",
                album,
                "-o",
                out,
                "--against",
                old,
                "--hash",
                kind,
                "-q",
                "--overwrite",
            ).exit_code
            == 0
        )


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_lists_of_an_earlier_version_are_refused_as_codes_too(lists, tmp_path, suffix):
    old = write_table(tmp_path / f"old.{suffix}", without(lists["pdq"], "version"))
    new = write_table(tmp_path / f"new.{suffix}", lists["pdq"])
    index, out = tmp_path / "index.lsh", tmp_path / "out.csv"
    assert (
        run("index", "build", new, "-o", index, *CODES, "--radius", 31).exit_code == 0
    )
    for arguments in (
        ("index", "build", old, "-o", out),
        ("index", "add", index, old),
        ("index", "query", index, old),
        ("dedup", old, "-o", out, "--radius", 31),
        ("dedup", old, "-o", out, "--against", index, "--radius", 31),
        ("pairs", old, "-o", out, "--radius", 31),
    ):
        radius = ["--radius", 31] if arguments[1] == "build" else []
        assert EARLIER in failing(1, *arguments, *CODES, *radius), arguments
        assert not out.exists()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_an_index_of_a_list_knows_its_hash(lists, tmp_path, suffix):
    tables = {
        kind: write_table(tmp_path / f"{kind}.{suffix}", rows)
        for kind, rows in lists.items()
    }
    tables["others"] = write_table(
        tmp_path / f"others.{suffix}", without(lists["pdq"], "version", *COLUMNS[4:])
    )
    tables["plain"] = write_table(
        tmp_path / f"plain.{suffix}", without(lists["pdq"], "kind", "version")
    )
    built, out = {}, tmp_path / "out.csv"
    for name, table in tables.items():
        built[name] = tmp_path / f"{name}.lsh"
        radius = ["--radius", 31 if name in ("pdq", "others", "plain") else 5]
        assert (
            run("index", "build", table, "-o", built[name], *CODES, *radius).exit_code
            == 0
        )
    saved = tmp_path / "saved.lsh"
    arguments = (
        "dedup",
        tables["phash"],
        "-o",
        out,
        "--save-index",
        saved,
        *CODES,
        "--radius",
        5,
    )
    assert run(*arguments).exit_code == 0
    names = {name: HammingIndex.open(path).image_hash for name, path in built.items()}
    expected = {
        "pdq": "pdq 2",
        "phash": "phash 1",
        "dhash": "dhash 1",
        "others": "pdq 2",
        "plain": None,
    }
    assert (names, HammingIndex.open(saved).image_hash) == (expected, "phash 1")
    for name, rows in (
        ("pdq", "pdq"),
        ("pdq", "others"),
        ("others", "pdq"),
        ("pdq", "plain"),
        ("plain", "plain"),
    ):
        assert (
            run("index", "query", built[name], tables[rows], *CODES).stdout.count(
                "\t0.0\n"
            )
            == 2
        )
    other = "hashes of images, dhash (version 1), and the entries of the index are of phash (version 1)"
    nameless = "and the index does not say of which hash its entries are: make it again from the list of hashes"
    for index, rows, said in (
        (built["phash"], "dhash", other), (saved, "dhash", other), (built["plain"], "pdq", nameless),
    ):  # fmt: skip
        before = index.read_bytes()
        radius = "--radius", 31 if rows == "pdq" else 5
        for arguments in (
            ("index", "query", index, tables[rows]),
            ("index", "add", index, tables[rows]),
            (
                "dedup",
                tables[rows],
                "-o",
                out,
                "--overwrite",
                "--against",
                index,
                "--save-index",
                index,
                *radius,
            ),
        ):
            message = failing(2, *arguments, *CODES)
            assert said in message, arguments
            assert str(index) in message
            assert index.read_bytes() == before
    mixed = failing(
        1,
        "dedup",
        tables["phash"],
        tables["dhash"],
        "-o",
        out,
        "--overwrite",
        *CODES,
        "--radius",
        5,
    )
    assert (
        "the kind of the hash is dhash, and of those before phash: these cannot be compared"
        in mixed
    )
    assert "this is an index, and images are compared with lists" in failing(
        2, "images", tmp_path, "-o", out, "--overwrite", "--against", built["pdq"]
    )


def test_tables_that_are_no_lists_of_images_have_no_hash(tmp_path):
    """Nor has one whose column `kind` has no kinds of hashes of images."""
    rows = [
        {"path": f"{row}", "hash": f"{row:064x}", "kind": "sha256", "version": "x"}
        for row in range(3)
    ]
    index = tmp_path / "index.lsh"
    table = write_table(tmp_path / "rows.csv", rows)
    assert (
        run("index", "build", table, "-o", index, *CODES, "--radius", 3).exit_code == 0
    )
    assert HammingIndex.open(index).image_hash is None
    assert run("index", "query", index, table, *CODES).stdout.count("\t0.0\n") == 3


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="names that Windows forbids")
def test_hostile_names(tmp_path, monkeypatch):
    folder = tmp_path / "in"
    folder.mkdir()
    names = [
        name.replace("/", "|")
        for name in HOSTILE
        if "\0" not in name and "\ud800" not in name
    ]
    names += ["line\nbreak", "tab\there", "-o", "=1+1", "\udcff\udcfe"]
    save(folder, "kept.png", picture(1, (120, 90)))
    for name in names:
        shutil.copy(folder / "kept.png", folder / f"{name}.png")
        (folder / f"{name}.jpg").write_bytes(b"damaged")
        save(folder, f"{name}.bmp", Image.new("L", (9, 9)))
    outputs = {
        suffix: tmp_path / f"out.{suffix}" for suffix in ("csv", "jsonl", "parquet")
    }
    for path in outputs.values():
        html = tmp_path / f"{path.suffix}.html"
        result = run("images", folder, "-o", path, "--html", html, "--keep", "first")
        assert result.exit_code == 0
        assert not set(result.stderr) & {"\x1b", "\u202e", "\udcff"}
        read_page(html, pictures=True)
    paths = [row["path"] for row in read_csv(outputs["csv"])]
    assert paths == [
        json.loads(line)["path"] for line in outputs["jsonl"].read_bytes().splitlines()
    ]
    assert paths == parquet.read_table(outputs["parquet"])["path"].to_pylist()
    assert {os.path.exists(path) for path in paths if "xff" not in path} == {True}
    assert sum("\\xff\\xfe" in path for path in paths) == 1
    defused = tmp_path / "defused.csv"
    monkeypatch.chdir(folder)
    assert (
        run(
            "images", "=1+1.png", "kept.png", "-o", defused, "--defuse-formulas", "-q"
        ).exit_code
        == 0
    )
    assert read_csv(defused)[0]["kept_path"] == "'=1+1.png"


def test_the_page_shows_groups(album, tmp_path):
    html = tmp_path / "page.html"
    assert run("images", album, "--html", html, "--orientations", "-q").exit_code == 0
    text = read_page(html, pictures=True)
    for part in (
        "0.png: 2 copies",
        "1.png: 1 copy",
        "rotated by 90°",
        "Images that were not compared",
        "64 x 64 quality 0",
    ):
        assert part in text
    source = html.read_text()
    assert source.count("<img ") == 6 + 2 * source.count("<h3>distance ")
    assert 'alt="kept: ' in source
    assert (
        run(
            "images", album, "--html", html, "--overwrite", "--html-no-images", "-q"
        ).exit_code
        == 0
    )
    assert "Pictures are left out" in read_page(html, pictures=True)
    assert "<img " not in html.read_text()
    saved = tmp_path / "hashes.csv"
    assert run("images", album, "--save-hashes", saved, "-q").exit_code == 0
    assert (
        run(
            "images", album, "--against", saved, "--html", html, "--overwrite", "-q"
        ).exit_code
        == 0
    )
    assert "known image" in read_page(html, pictures=True)
    assert (
        run(
            "images",
            album / "2.png",
            album / "0.png",
            "--html",
            html,
            "--overwrite",
            "-q",
        ).exit_code
        == 0
    )
    assert "No image looks like another one." in read_page(html, pictures=True)


def test_the_page_shows_the_copies_that_are_least_alike(tmp_path):
    kept = picture(1)
    save(tmp_path, "a kept.png", kept)
    save(tmp_path, "b equal.png", kept)
    save(tmp_path, "c cropped.png", kept.crop((2, 2, 318, 238)))
    html = tmp_path / "page.html"
    assert run("images", tmp_path, "--html", html, "-q").exit_code == 0
    part = (
        read_page(html, pictures=True)
        .partition("The copies that are least alike")[2]
        .partition("Images that look alike")[0]
    )
    assert ("a kept.png" in part, "b equal.png" in part, "c cropped.png" in part) == (
        True,
        False,
        True,
    )
    assert "a smaller radius is better; it is 31" in part


def test_a_page_is_bounded(tmp_path, monkeypatch):
    for seed in range(4):
        for copy in range(5):
            save(tmp_path, f"{seed} {copy}.jpg", picture(seed, (160, 120)))
    monkeypatch.setattr(page_module, "MOST_LEAST_ALIKE", 0)
    monkeypatch.setattr(page_module, "MOST_GROUPS", 3)
    monkeypatch.setattr(page_module, "MOST_OF_GROUP", 4)
    html = tmp_path / "page.html"
    assert run("images", tmp_path, "--html", html, "-q").exit_code == 0
    text, source = read_page(html, pictures=True), html.read_text()
    assert source.count("<img ") == 12
    assert "1 more are not shown" in text
    one = source.partition("base64,")[2].partition('"')[0]
    monkeypatch.setattr(page_module, "MOST_THUMBNAILS", 3 * len(one))
    assert run("images", tmp_path, "--html", html, "--overwrite", "-q").exit_code == 0
    assert 1 <= html.read_text().count("<img ") <= 4
    assert "not shown" in read_page(html, pictures=True)


@pytest.mark.slow
def test_all_outputs_are_written_or_none(album, tmp_path):
    out, copy = tmp_path / "out.csv", tmp_path / "copy.png"
    shutil.copy(album / "0.png", copy)
    line = failing(1, "images", album, "-o", out, "--on-error", "stop")
    assert "cut.png: cannot be decoded" in line
    assert "cut.png: has 320 x 240 pixels" in failing(
        1,
        "images",
        album / "cut.png",
        "-o",
        out,
        "--on-error",
        "stop",
        "--max-pixels",
        9,
    )
    for status, options, said in (
        (2, (), "an output is needed: -o FILE, --save-hashes FILE or --html FILE"),
        (2, ("-o", tmp_path / "out.xyz"), "unknown kind of output"),
        (
            2,
            ("-o", out, "--html", tmp_path / "page.pdf"),
            "a page (html) must be named .html",
        ),
        (
            1,
            ("-o", out, "--save-hashes", tmp_path / "none" / "h.csv"),
            "the folder of the output does not exist",
        ),
        (2, ("-o", out, "--save-hashes", out), "two outputs of one name"),
        (2, ("-o", out, "--radius", 257), "radius must be"),
        (2, ("-o", out, "--max-pixels", 0), "max_pixels must be"),
        (2, ("-o", out, "--threads", 0), "threads must be"),
        (
            1,
            ("-o", out, "--against", tmp_path / "none.csv"),
            "none.csv: cannot be read",
        ),
    ):
        assert said in failing(status, "images", album, *options)
    assert "none: cannot be read" in failing(1, "images", tmp_path / "none", "-o", out)
    named = tmp_path / "table.csv"
    shutil.copy(album / "0.png", named)
    assert "the output is one of the inputs" in failing(
        2, "images", named, "-o", named, "--overwrite"
    )
    assert named.read_bytes() == (album / "0.png").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["copy.png", "table.csv"]
    out.write_text("old")
    assert "exists already" in failing(2, "images", album, "-o", out)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(tmp_path, number):
    folder, out = tmp_path / "in", tmp_path / "out.csv"
    folder.mkdir()
    noise = Image.fromarray(
        np.random.default_rng(1).integers(0, 256, (1000, 1500, 3), dtype=np.uint8)
    )
    save(folder, "0.png", noise, compress_level=1)
    for copy in range(1, 240):
        os.link(folder / "0.png", folder / f"{copy}.png")
    assert (
        stopped(number, folder / "0.png", "images", folder, "-o", out)
        == ENDINGS[number]
    )
    assert not list(tmp_path.glob("*.csv*"))
