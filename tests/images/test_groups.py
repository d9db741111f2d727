"""Groups of images, beside a plain comparison of all pairs of hashes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import HammingIndex, TanimotoIndex
from lshfast.images import ImageHashes, ImageRemoval, KnownHashes, dedup, hash_files
from lshfast.images import groups as module
from lshfast.images.hashing import ORIENTATIONS, TURNS_BACK
from lshfast.images.page import gallery
from tests.images.pictures import Image, picture, save


def made(codes, quality=None, pixels=None, nbytes=None, kind="dhash"):
    """Return hashes of images without files; `codes` are ints, one or eight for each image."""
    n = len(codes)
    words = np.array(codes, np.uint64).reshape(n, np.size(codes) // max(n, 1) or 1, 1)
    ones = np.ones(n, np.int64)
    quality = 100 * ones if quality is None else np.array(quality, np.int64)
    width = ones if pixels is None else np.array(pixels, np.int64)
    size = ones if nbytes is None else np.array(nbytes, np.int64)
    return ImageHashes(
        [f"{i}.png" for i in range(n)], words, quality, width, ones, size, kind, []
    )


def bits(first, second):
    return bin(int(first) ^ int(second)).count("1")


def expected(hashes, radius, known, order):
    """Return keeper, known row, distance and orientation of each image, by comparing all."""
    codes, found = hashes.codes[:, :, 0].tolist(), {}
    kept = []
    for row in order:
        if hashes.quality[row] < 50:
            found[row] = row, -1, 0, 0
            continue
        near = [(bits(code, other), turned, place) for turned, code in enumerate(codes[row])
                for place, other in enumerate(known)]  # fmt: skip
        least = min((distance for distance, _, _ in near), default=65)
        if least <= radius:
            turned = min(turned for distance, turned, _ in near if distance == least)
            place = min(
                place for distance, t, place in near if (distance, t) == (least, turned)
            )
            found[row] = -1, place, least, turned
            continue
        for other in kept:
            near = [
                (bits(code, codes[other][0]), turned)
                for turned, code in enumerate(codes[row])
            ]
            if min(near)[0] <= radius:
                found[row] = other, -1, *min(near)
                break
        else:
            kept.append(row)
            found[row] = row, -1, 0, 0
    return [found[row] for row in range(len(codes))]


CODES = st.integers(0, 15) | st.integers(0, 2**64 - 1)


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("batch", [2, 3, 512])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_groups_are_those_of_all_pairs(batch, data):
    k = data.draw(st.sampled_from([1, 8]))
    images = data.draw(st.lists(st.tuples(
        st.lists(CODES, min_size=k, max_size=k), st.sampled_from([0, 49, 50, 100, 100, 100]), st.integers(1, 3),
        st.integers(1, 3)), max_size=12))  # fmt: skip
    hashes = made(
        [codes for codes, *_ in images],
        *([column[place] for column in images] for place in (1, 2, 3)),
    )
    known = data.draw(st.lists(CODES, max_size=4))
    radius = data.draw(st.integers(0, 4))
    keep = data.draw(st.sampled_from(["largest", "first"]))
    against = KnownHashes(
        [f"known{i}" for i in range(len(known))],
        np.array(known, np.uint64).reshape(-1, 1),
        "dhash",
    )
    order = sorted(
        range(len(images)),
        key=lambda row: (
            (-images[row][2], -images[row][3]) if keep == "largest" else row
        ),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH", batch)
        patch.setattr(module, "LEAST_ROWS", 1)
        patch.setattr(module, "MOST_ANSWERS", 64)
        result = dedup(
            hashes,
            radius,
            keep=keep,
            against=against,
            threads=data.draw(st.sampled_from([1, 3])),
        )
    columns = result.keeper, result.known, result.distance, result.orientation
    assert [*zip(*(column.tolist() for column in columns), strict=True)] == expected(
        hashes, radius, known, order
    )
    assert result.keep.tolist() == [
        row == keeper for row, keeper in enumerate(result.keeper.tolist())
    ]
    assert result.compared.tolist() == [quality >= 50 for _, quality, _, _ in images]
    rows = [row for group in result.groups for row in group.tolist()]
    assert len(set(rows)) == len(rows)
    assert set(np.flatnonzero(~result.keep).tolist()) <= set(rows)


@pytest.mark.slow
def test_a_crowd_of_equal_images_is_one_group():
    result = dedup(made([7] * 3000))
    assert result.keep.tolist() == [True] + [False] * 2999
    eight = dedup(made([[7, 1 << 63, *range(100, 106)]] * 3000))
    assert eight.keep.tolist() == [True] + [False] * 2999
    assert [len(group) for group in eight.groups] == [3000]


def test_the_largest_image_is_kept_or_the_first():
    hashes = made([0, 1, 3, 2**64 - 1], pixels=[5, 9, 9, 1], nbytes=[1, 1, 2, 1])
    assert dedup(hashes).keeper.tolist() == [2, 2, 2, 3]
    assert dedup(hashes, keep="first").keeper.tolist() == [0, 0, 0, 3]
    assert dedup(hashes, 1).removed == [ImageRemoval("1.png", "2.png", 1, "same")]


def test_an_image_in_colour_is_kept_before_a_grey_one_of_its_size(tmp_path):
    colour = picture(1).convert("RGB")
    colour.save(tmp_path / "c.jpg", quality=30)
    colour.convert("L").save(tmp_path / "a.png")
    colour.convert("L").convert("RGB").save(tmp_path / "b.png")
    colour.resize((150, 100)).save(tmp_path / "d.png")
    assert (tmp_path / "a.png").stat().st_size > (tmp_path / "c.jpg").stat().st_size
    hashes = hash_files(
        [tmp_path / name for name in ("a.png", "b.png", "c.jpg", "d.png")]
    )
    assert hashes.in_colour.tolist() == [False, False, True, True]
    assert dedup(hashes).keeper.tolist() == [2, 2, 2, 2]
    assert dedup(hashes, keep="first").keeper.tolist() == [0, 0, 0, 0]
    page = gallery(dedup(hashes), title="Pictures", account=[])
    assert "of one size, a file in colour before a grey one" in page


@pytest.mark.one_case
@pytest.mark.parametrize("kind", ["pdq", "dhash"])
@pytest.mark.parametrize("side", [200, 400])
@pytest.mark.parametrize("mode", ["P", "RGB", "RGBA"])
def test_a_grey_picture_is_grey_in_each_mode(tmp_path, mode, side, kind):
    colour = picture(1, (side, side))
    grey = colour.convert("L")
    paths = [
        save(tmp_path, f"{number}.{suffix}", image.convert(mode))
        for number, image in enumerate([grey, colour])
        for suffix in ("png", "webp")
    ]
    in_colour = hash_files(paths, hash=kind).in_colour
    assert in_colour.tolist() == [False, False, True, True]


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("kind", ["pdq", "phash", "dhash"])
def test_turned_copies_are_found_with_their_orientation(tmp_path, kind):
    from PIL import ImageOps

    image = picture(1)
    small = image.resize((200, 150))
    copies = {
        "same": small,
        "rotated_90": small.rotate(-90, expand=True),
        "rotated_180": small.rotate(180),
        "rotated_270": small.rotate(90, expand=True),
        "flipped": ImageOps.flip(small),
        "mirrored": ImageOps.mirror(small),
        "transposed": small.transpose(Image.Transpose.TRANSPOSE),
        "transverse": small.transpose(Image.Transpose.TRANSVERSE),
    }
    assert tuple(copies) == ORIENTATIONS
    assert len(TURNS_BACK) == 8
    paths = [
        save(tmp_path, "kept.png", image),
        *(save(tmp_path, f"{n}.jpg", copy) for n, copy in copies.items()),
    ]
    paths.append(save(tmp_path, "other.png", picture(2)))
    found = dedup(hash_files(paths, hash=kind, orientations=True)).removed
    assert [(removal.kept_path, removal.orientation) for removal in found] == [
        (paths[0], name) for name in copies
    ]
    assert [
        removal.orientation for removal in dedup(hash_files(paths, hash=kind)).removed
    ] == ["same"]


def test_images_without_content_are_kept(tmp_path):
    paths = [
        save(tmp_path, f"{colour}.png", Image.new("RGB", (64, 64), colour))
        for colour in ("red", "blue", "black")
    ]
    for kind in ("pdq", "phash", "dhash"):
        result = dedup(hash_files(paths, hash=kind))
        assert result.keep.all()
        assert not result.compared.any()
    assert "3 not compared" in repr(result)


def test_known_images_come_first():
    known = KnownHashes(["known"], np.array([[1]], np.uint64), "dhash")
    result = dedup(made([0, 3, 1 << 30, 1 << 30]), 1, against=known)
    assert result.removed == [
        ImageRemoval("0.png", "known", 1, "same"),
        ImageRemoval("1.png", "known", 1, "same"),
        ImageRemoval("3.png", "2.png", 0, "same"),
    ]
    assert [group.tolist() for group in result.groups] == [[2, 3], [0, 1]]


@pytest.mark.one_case
@pytest.mark.parametrize("kind", ["pdq", "phash", "dhash"])
@pytest.mark.parametrize("make", [HammingIndex, TanimotoIndex])
def test_an_index_of_hashes_knows_their_kind(tmp_path, make, kind):
    """It refuses those of another kind or version; what is not known to be a hash of images is accepted."""
    names = [save(tmp_path, f"{seed}.png", picture(seed)) for seed in range(2)]
    hashes = {each: hash_files(names, hash=each) for each in ("pdq", "phash", "dhash")}
    codes, (other,) = (
        hashes[kind].codes[:, 0],
        {"pdq", "phash", "dhash"} - {kind, "pdq" if kind != "pdq" else "phash"},
    )
    bits = 64 * codes.shape[1]
    index, path = make(bits), tmp_path / "index"
    index.insert(hashes[kind].paths, codes)
    index.save(path)
    index = make.open(path)
    assert (
        index.image_hash
        == {"pdq": "pdq 2", "phash": "phash 1", "dhash": "dhash 1"}[kind]
    )
    for accepted in (codes, codes[1], np.asarray(codes)):
        assert index.query(accepted, 1)[0] is not None
    assert index.insert(["more"], np.asarray(codes[:1])) == 1
    for call in (
        index.query,
        index.within,
        lambda codes: index.insert(["x"], codes[:1]),
    ):
        with pytest.raises(
            ValueError,
            match=f"hashes of images, {other} .*entries of the index are of {kind} ",
        ):
            call(hashes[other].codes[:, 0])
    assert len(index) == 3
    plain = make(bits)
    plain.insert(hashes[kind].paths, np.asarray(codes))
    with pytest.raises(
        ValueError, match="does not say of which hash its entries are: make it again"
    ):
        plain.query(codes)
    plain.image_hash = index.image_hash
    assert len(plain.query(codes)) == 2
    plain.image_hash = f"{kind} 9"
    with pytest.raises(ValueError, match="version 9"):
        plain.query(codes)
    if kind == "pdq":
        plain.image_hash = "pdq 1"
        with pytest.raises(
            ValueError,
            match="an earlier version of lshfast, whose pdq was another hash: write them",
        ):
            plain.query(codes)


def test_known_hashes_of_another_hash_are_refused(tmp_path):
    names = [save(tmp_path, f"{seed}.png", picture(seed)) for seed in range(2)]
    pdq, phash, dhash = (
        hash_files(names, hash=kind) for kind in ("pdq", "phash", "dhash")
    )
    for version in (None, 2):
        known = KnownHashes(names, pdq.codes[:, 0], "pdq", version)
        assert dedup(pdq, against=known).known.tolist() == [0, 1]
    for known, said in (
        (
            KnownHashes(names, pdq.codes[:, 0], "pdq", 1),
            "against: hashes of an earlier version of lshfast, whose pdq",
        ),
        (
            KnownHashes(names, pdq.codes[:, 0], "pdq", 3),
            "against: hashes of a later version of lshfast",
        ),
    ):
        with pytest.raises(ValueError, match=said):
            dedup(pdq, against=known)
    with pytest.raises(
        ValueError,
        match=r"against must have codes of phash \(version 1\), not of dhash",
    ):
        dedup(phash, against=KnownHashes(names, dhash.codes[:, 0], "phash"))
    with pytest.raises(ValueError, match="hashes must have codes of phash"):
        dedup(replace(dhash, hash="phash"))


def test_progress_and_arguments():
    for hashes in (made(range(10)), made(np.arange(80).reshape(10, 8))):
        seen = []
        dedup(hashes, progress=lambda *given, seen=seen: seen.append(given))
        assert seen[-1] == ("dedup", 10, 10)
    for error, options, said in (
        (ValueError, {"radius": 65}, "radius must be"),
        (ValueError, {"radius": -1}, "radius must be"),
        (TypeError, {"radius": "3"}, "radius must be"),
        (ValueError, {"keep": "last"}, "keep must be 'largest' or 'first', not 'last'"),
        (ValueError, {"threads": 0}, "threads must be at least 1"),
        (
            ValueError,
            {"against": KnownHashes([], np.zeros((0, 1), np.uint64), "phash")},
            "must have hashes of the kind dhash",
        ),
    ):
        with pytest.raises(error, match=said):
            dedup(made([1]), **options)
