"""What the defaults of other libraries find: the table, `lshfast tune --like`, and its plots."""

import inspect
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import lshfast
from lshfast._engine.libraries import LIBRARIES
from tests.cli.commands import failing, run

NAME = "{http://www.w3.org/2000/svg}"
PAGE = Path(__file__).parents[2] / "docs" / "coming-from" / "index.md"


def found(library, similarity):
    return round(float(lshfast.library_defaults(library).probability(similarity)), 3)


def test_the_figures_that_libraries_publish():
    """The comment beside datatrove's MinhashConfig has .72 and .924; Curator's signatures have 260 slots."""
    datatrove = lshfast.library_defaults("datatrove")
    assert (datatrove.bands, datatrove.rows_per_band, datatrove.size) == (14, 8, 5)
    assert found("datatrove", 0.8) == 0.924
    assert round(datatrove.banding.approximate_threshold, 2) == 0.72
    curator = lshfast.library_defaults("curator")
    assert curator.banding.slots == curator.num_perm == 260
    assert round(found("curator", 0.8), 2) == 0.68


@pytest.mark.parametrize("name", ["datasketch", "text-dedup", "data-juicer"])
def test_bands_that_are_chosen_as_datasketch_does(name):
    library = lshfast.library_defaults(name)
    chosen = lshfast.choose_bands(
        library.threshold, library.num_perm, weights=(0.5, 0.5)
    )
    assert chosen == library.banding
    theirs = pytest.importorskip("datasketch").MinHashLSH(
        threshold=library.threshold, num_perm=library.num_perm
    )
    assert (theirs.b, theirs.r) == (library.bands, library.rows_per_band)


def test_the_defaults_of_installed_libraries():
    lsh = pytest.importorskip("datasketch").MinHashLSH
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(lsh).parameters.items()
    }
    library = LIBRARIES["datasketch"]
    assert (defaults["threshold"], defaults["num_perm"]) == (
        library.threshold,
        library.num_perm,
    )
    spark = pytest.importorskip("pyspark.ml.feature").MinHashLSH
    assert (
        inspect.signature(spark).parameters["numHashTables"].default
        == LIBRARIES["spark"].bands
        == 1
    )


@pytest.mark.parametrize("library", LIBRARIES.values(), ids=list(LIBRARIES))
def test_settings_fit_together(library):
    assert 1 <= library.banding.slots <= library.num_perm
    assert (library.unit is None) == (library.size is None)
    assert library.decision != "estimate" or library.threshold is not None
    assert library.probability([0, 1]).tolist() == [0, 1]
    assert f'"{library.name}"' in lshfast.library_defaults.__doc__


def test_the_table_in_the_docs():
    page = PAGE.read_text("utf-8")
    for library in LIBRARIES.values():
        shares = " | ".join(
            f"{each:.3f}" for each in library.probability([0.7, 0.8, 0.9])
        )
        row = f"| {library.name} {library.version} | {library.bands} × {library.rows_per_band} | {shares} |"
        assert row in page, row


def test_an_unknown_library_is_an_error():
    with pytest.raises(
        ValueError, match=r"library must be one of datatrove, curator, .*, not 'lsh'"
    ):
        lshfast.library_defaults("lsh")
    assert "library must be one of datatrove" in failing(2, "tune", "--like", "lsh")


def test_tune_prints_libraries_beside_the_plan():
    lines = run(
        "tune", "--like", "datatrove", "--like", "curator", "--like", "curator"
    ).stdout.splitlines()
    head = next(
        number for number, line in enumerate(lines) if line.startswith("similarity")
    )
    assert lines[head].split() == ["similarity", "here", "datatrove", "curator"]
    [marked] = [line for line in lines if line.endswith("  <- threshold")]
    assert marked.split()[:4] == ["0.8", "0.985542", "0.923548", "0.677254"]
    assert "datatrove 0.10.1: 14 bands of 8 rows: 112 of 112 slots" in lines
    # Datatrove has the same shingles.
    assert sum("leave a similarity of" in line for line in lines) == 1
    assert (
        "    5 changed words in a text of 500 leave a similarity of 0.91, and 0.90 here"
        in lines
    )
    assert "#" not in "".join(lines)
    assert "#" in run("tune").stdout


def test_tune_names_the_jaccard_similarity_of_containment():
    said = run("tune", "--measure", "containment", "--like", "spark").stdout
    assert "   Jaccard      here     spark\n" in said
    assert "compared exactly" in said


def test_tune_of_sets_compares_no_shingles():
    assert "changed words" not in run("tune", "--as", "set", "--like", "curator").stdout


@pytest.mark.parametrize("memory", [(), ("--memory", "1G")])
def test_tune_of_sets_speaks_of_sets(tmp_path, memory):
    path = tmp_path / "sets.jsonl"
    path.write_text('{"tags": ["a", "b"]}\n{"tags": ["a", "c"]}\n')
    said = run("tune", path, "--column", "tags", *memory).stdout
    assert re.search(r"^ +sets +\d+ MB$", said, re.MULTILINE)
    assert "text" not in said


@pytest.mark.parametrize("kind", ["vector", "code", "weighted"])
def test_like_is_for_texts_and_sets(kind):
    options = ["--radius", 3] if kind == "code" else []
    assert "like is for texts and sets, not for" in failing(
        2, "tune", "--as", kind, *options, "--like", "datatrove"
    )


def test_libraries_are_drawn(tmp_path):
    run(
        "tune",
        "--like",
        "datatrove",
        "--like",
        "rensa",
        "--plot",
        tmp_path / "curve.svg",
    )
    drawn = ElementTree.parse(tmp_path / "curve.svg")
    lines = [
        line
        for line in drawn.iter(f"{NAME}polyline")
        if len(line.get("points").split()) > 2
    ]
    assert {line.get("class") for line in lines} == {"curve"}
    assert [line.get("stroke-dasharray") for line in lines] == [None, "2 3", "5 3"]
    assert {"datatrove", "rensa"} <= {text.text for text in drawn.iter(f"{NAME}text")}


@pytest.mark.slow
def test_libraries_are_drawn_by_matplotlib(tmp_path):
    pytest.importorskip("matplotlib")
    from lshfast.families import plot_curve

    ax = plot_curve(lshfast.Bands(18, 7), others={"other": lshfast.Bands(14, 8)})
    [line] = [
        line
        for line in ax.get_lines()
        if line.get_label() == "other: 14 bands of 8 rows"
    ]
    places, drawn = line.get_data()
    assert abs(drawn - lshfast.Bands(14, 8).probability(places)).max() < 1e-12
    distances = plot_curve(
        lshfast.Bands(18, 7), others={"other": lshfast.Bands(14, 8)}, over="distance"
    )
    [line] = [
        line
        for line in distances.get_lines()
        if line.get_label() == "other: 14 bands of 8 rows"
    ]
    assert line.get_data()[1][0] == 1
    with pytest.raises(TypeError, match="others must be Bands"):
        plot_curve(lshfast.Bands(18, 7), others={"other": 3})
    assert (
        run("tune", "--like", "gaoya", "--plot", tmp_path / "curve.png").exit_code == 0
    )
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
