"""What jobs over files have in common: checks of outputs, all or none of them, and accounts."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from lshfast._cli.console import account_table
from lshfast._common.display import Figure, figure
from lshfast._engine.account.display import Account
from lshfast._engine.clock import Stage
from lshfast._engine.frame import Job
from lshfast._engine.inputs import Inputs
from tests.cli.commands import read_jsonl

pytestmark = pytest.mark.usefixtures("little_work")


@dataclass(frozen=True, kw_only=True)
class Lengths(Account):
    PARTS = "texts", "rejected"

    texts: int

    def figures(self) -> Iterator[Figure]:
        yield figure("read", self.read, self.parts, "", "<all>")


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "a b"}\nbad\n{"text": "c"}\n')
    return path


def lengths(rows, out, on_error="skip", fails=False, **options):
    """Write the lengths of texts: the work of a job, and nothing else."""
    job = Job([str(out)], on_error, **({"overwrite": False} | options))
    corpus = job.open(Inputs([str(rows)], on_error=on_error))
    job.check()
    with job.reading(corpus):
        texts = [text for batch in corpus.batches() for text in batch.strings()]
    with job.writing():
        job.write(str(out), {"length": list(map(len, texts))})
        if fails:
            raise OSError("no space")
    return job.account(Lengths, texts=len(texts))


def test_a_job(rows, tmp_path):
    found = lengths(rows, tmp_path / "out.jsonl")
    assert (found.read, found.texts, found.rejected) == (3, 2, 1)
    assert read_jsonl(tmp_path / "out.jsonl") == [{"length": 3}, {"length": 1}]
    assert [
        row["line"] for row in read_jsonl(tmp_path / "out.jsonl.rejects.jsonl")
    ] == [2]


def test_one_function_shows_any_account_on_a_terminal_and_in_a_notebook(rows, tmp_path):
    found = lengths(rows, tmp_path / "out.jsonl")
    lines = account_table(found, 5_000_000).splitlines()
    assert lines[0] == "read                       3   2 texts + 1 rejected; <all>"
    assert [line.split()[:2] for line in lines[2:]] == [
        ["in", "all"],
        ["peak", "memory"],
    ]
    shown = found._repr_html_()
    assert shown.startswith("<p><b>Lengths</b></p><table><tr>")
    assert "2 texts + 1 rejected; &lt;all&gt;" in shown
    stages = Lengths(
        read=0,
        rejected=0,
        texts=0,
        seconds=0,
        stages={"sample": Stage(2.0, 10**8)},
        delimiters={"f": "\t"},
    )
    assert "separates the cells of f" in stages._repr_html_()
    assert account_table(stages, 2 * 10**8).splitlines() == [
        "read                       0   0 texts + 0 rejected; <all>",
        "delimiter                tab   separates the cells of f",
        "note: the inputs have no rows",
        "",
        "stage                seconds      MB/s",
        "sample                  2.00        50",
        "in all                  0.00         0",
        "peak memory           200 MB   2.00 x the text",
    ]


def test_accounts_are_equal_whatever_the_time_and_lost_rows_are_an_error():
    account = Lengths(read=2, rejected=1, texts=1, seconds=1.0)
    assert account == Lengths(
        read=2, rejected=1, texts=1, seconds=2.0, stages={"read": Stage(1.0, 1)}
    )
    with pytest.raises(
        RuntimeError, match=r"rows were lost: 1 texts \+ 1 rejected are not 3 read"
    ):
        Lengths(read=3, rejected=1, texts=1, seconds=1.0)


def test_outputs_are_checked_before_the_work_and_all_or_none_appear(rows, tmp_path):
    out = tmp_path / "out.jsonl"
    with pytest.raises(OSError, match="no space"):
        lengths(rows, out, fails=True)
    with pytest.raises(ValueError, match="the output is one of the inputs"):
        lengths(rows, rows, overwrite=True)
    with pytest.raises(ValueError, match="two outputs of one name"):
        Job([str(out), str(out)], "stop", True).check()
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
    (tmp_path / "out.jsonl.rejects.jsonl").touch()
    with pytest.raises(
        FileExistsError, match=r"rejects\.jsonl: the output exists already"
    ):
        lengths(rows, out)
    assert not out.exists()
