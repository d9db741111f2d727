"""Inputs on S3, of a server on the loopback interface."""

import os

import pytest

from lshfast import DataError, stages
from tests.stages.runs import corpus, in_memory, in_stages, write_files

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server():
    """Start a server, which this process and those that it starts find by the environment."""
    pytest.importorskip("s3fs", reason="s3fs is missing: install lshfast[test]")
    moto = pytest.importorskip(
        "moto.server", reason="moto is missing: install lshfast[test]"
    )
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "FSSPEC_S3_ENDPOINT_URL": f"http://{host}:{port}",
        "FSSPEC_S3_KEY": "key",
        "FSSPEC_S3_SECRET": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        yield
    server.stop()


@pytest.fixture
def bucket(server, tmp_path):
    """A bucket with the files of the folder `in`."""
    import fsspec

    fsspec.config.set_conf_env(fsspec.config.conf)
    system = fsspec.filesystem("s3")
    system.mkdir("crawl")
    for path in write_files(tmp_path / "in", corpus(3, 400), 4).iterdir():
        system.put(str(path), f"crawl/d/{path.name}")
    yield system
    system.rm("crawl", recursive=True)


@pytest.mark.parametrize("given", ["s3://crawl/d", "s3://crawl/**/0*.jsonl"])
def test_equals_the_run_in_memory(tmp_path, bucket, given):
    assert in_stages(tmp_path, given, shards=3, tasks=2) == in_memory(tmp_path, given)


def test_tasks_in_other_processes(tmp_path, bucket):
    stages.plan("s3://crawl/d", tmp_path / "work", tmp_path / "kept", shards=2)
    summary = stages.run_all(tmp_path / "work", workers=2)
    assert summary.read == 400
    assert len(os.listdir(tmp_path / "kept")) == 2


def test_changed_inputs_are_named(tmp_path, bucket):
    stages.plan("s3://crawl/d", tmp_path / "work", tmp_path / "kept", shards=2)
    content = bucket.cat_file("crawl/d/03.jsonl")
    middle = len(content) // 2
    other = bytes([content[middle] ^ 1])
    bucket.pipe_file(
        "crawl/d/03.jsonl", content[:middle] + other + content[middle + 1 :]
    )
    with pytest.raises(DataError, match=r"d/03\.jsonl: has changed since the plan"):
        stages.run_all(tmp_path / "work", executor="inline")
