"""What is written in several files agrees with pyproject.toml: versions, requirements, and Pythons.

The files are those by which others package lshfast: the recipe of conda-forge, the image, the citation, the workflows.
tests/packages.sh checks their form with the tools that are made for it.
"""

import re
from pathlib import Path

import pytest

import lshfast
from tests.build_kit import TREE, needs_the_tree

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
tomllib = pytest.importorskip("tomllib", reason="Python is older than 3.11")
pytestmark = needs_the_tree

WORKFLOWS = TREE / ".github" / "workflows"
NAMES_OF_CONDA = {
    "lmdb": "python-lmdb",
    "redis": "redis-py",
    "matplotlib": "matplotlib-base",
    "duckdb": "python-duckdb",
}
FOR_DEVELOPERS = {"light", "test", "bench", "docs", "dev"}


def read(name):
    return (TREE / name).read_text(encoding="utf-8")


def pyproject():
    return tomllib.loads(read("pyproject.toml"))


def split(requirement):
    """Return the name of a required package, without its extras, and the versions."""
    name, versions = re.fullmatch(
        r"([\w-]+)(?:\[[\w,]+\])?\s*([^;]*?)\s*(?:;.*)?", requirement
    ).groups()
    return name, versions


def required(requirements):
    """Return the versions of packages by their names on conda."""
    found = dict(map(split, requirements))
    return {
        NAMES_OF_CONDA.get(name, name.lower()): versions
        for name, versions in found.items()
        if name != "lshfast"
    }


def recipe():
    return yaml.safe_load(read("packaging/conda/recipe.yaml"))


def minor_versions():
    """Return the Pythons that are supported, as ["3.10", ...]."""
    found = [
        re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", name)
        for name in pyproject()["project"]["classifiers"]
    ]
    return [match[1] for match in found if match]


def jobs_of_the_weekly_run():
    return yaml.safe_load((WORKFLOWS / "weekly.yml").read_text("utf-8"))["jobs"]


def builds():
    return pyproject()["tool"]["cibuildwheel"]["build"].split()


def test_the_version_is_the_same_everywhere():
    version = pyproject()["project"]["version"]
    assert lshfast.__version__ == version
    assert str(yaml.safe_load(read("CITATION.cff"))["version"]) == version
    assert recipe()["context"]["version"] == version
    assert re.search(rf"^## {re.escape(version)}\b", read("CHANGELOG.md"), re.MULTILINE)


def test_texts_about_the_package_are_the_same():
    project = pyproject()["project"]
    citation = yaml.safe_load(read("CITATION.cff"))
    about = recipe()["about"]
    assert citation["keywords"] == project["keywords"]
    assert citation["license"] == about["license"] == project["license"]
    assert about["summary"] == project["description"]
    [entry] = recipe()["build"]["python"]["entry_points"]
    assert dict([entry.split(" = ")]) == project["scripts"]


def test_the_recipe_requires_the_same():
    project, requirements = pyproject()["project"], recipe()["requirements"]
    extras = project["optional-dependencies"]
    assert required(requirements["run"]) == {
        "python": "",
        **required([*project["dependencies"], *extras["cli"]]),
    }
    others = [
        line
        for name, lines in extras.items()
        if name not in {"cli", *FOR_DEVELOPERS}
        for line in lines
    ]
    constrained = {
        name: versions
        for name, versions in required(others).items()
        if name not in required(extras["cli"])
    }
    assert required(requirements["run_constraints"]) == constrained
    assert required(requirements["host"]) == {
        "python": "",
        "pip": "",
        **required(pyproject()["build-system"]["requires"]),
    }


def test_wheels_are_built_for_the_pythons_that_are_supported():
    versions = minor_versions()
    assert pyproject()["project"]["requires-python"] == f">={versions[0]}"
    assert versions == [f"3.{minor}" for minor in range(10, 10 + len(versions))]
    tags = [f"cp{version.replace('.', '')}" for version in versions]
    assert [build for build in builds() if not build.endswith("t-*")] == [
        f"{tag}-*" for tag in tags
    ]
    assert [build for build in builds() if build.endswith("t-*")] == [
        f"{tag}t-*" for tag in tags[-2:]
    ]
    ruff = pyproject()["tool"]["ruff"]["target-version"]
    assert ruff == f"py{versions[0].replace('.', '')}"


def test_the_pages_name_the_same_pythons():
    versions = minor_versions()
    page = read("docs/understand/versions.md")
    assert (
        f"{versions[0]} to {versions[-1]}, and free-threaded {versions[-2]} and {versions[-1]}"
        in page
    )
    [numpy] = (
        line
        for line in pyproject()["project"]["dependencies"]
        if line.startswith("numpy")
    )
    assert f"| numpy | from {numpy.removeprefix('numpy>=')};" in page
    assert f"numpy=={numpy.removeprefix('numpy>=')}" in read(
        "tests/oldest.txt"
    ).replace(".0\n", "\n")


def test_the_weekly_run_has_the_oldest_and_the_newest_python():
    job = jobs_of_the_weekly_run()["newest"]
    tested = job["strategy"]["matrix"]["python"]
    versions = minor_versions()
    assert set(tested) <= set(versions)
    assert versions[0] in tested
    assert versions[-1] in tested
    newest = next(
        step["run"] for step in job["steps"] if "test_golden" in step.get("run", "")
    )
    wheels = pyproject()["tool"]["cibuildwheel"]["test-command"]
    assert newest == wheels


def test_the_weekly_run_has_the_kernels_with_sanitizers_on_a_python_that_is_supported():
    steps = jobs_of_the_weekly_run()["sanitized"]["steps"]
    [version] = [
        step["with"]["python-version"]
        for step in steps
        if "python-version" in step.get("with", {})
    ]
    assert version in minor_versions()
    scripts = [
        name
        for step in steps
        for name in re.findall(r"[\w/.-]+\.sh\b", step.get("run", ""))
    ]
    assert scripts == ["tests/sanitize/modules.sh"]
    assert (TREE / scripts[0]).is_file()


def test_the_weekly_run_has_the_cases_that_slow_tests_leave_out():
    steps = jobs_of_the_weekly_run()["every-case"]["steps"]
    assert steps[-1]["run"] == 'EXAMPLES=fixed pytest -q -m "slow or weekly"'
    [version] = [
        step["with"]["python-version"]
        for step in steps
        if "python-version" in step.get("with", {})
    ]
    assert version in minor_versions()


@pytest.mark.parametrize("name", ["weekly.yml", "wheels.yml"])
def test_actions_are_pinned_by_commit_and_get_few_rights(name):
    text = (WORKFLOWS / name).read_text("utf-8")
    workflow = yaml.safe_load(text)
    actions = re.findall(r"uses: (.*)", text)
    assert len(actions) > 1
    assert [
        action
        for action in actions
        if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", action)
    ] == []
    assert workflow["permissions"] == {}
    rights = {job: given["permissions"] for job, given in workflow["jobs"].items()}
    expected = {job: {"contents": "read"} for job in rights}
    if name == "wheels.yml":
        expected["publish"] = {"id-token": "write"}
    assert rights == expected


def test_an_action_has_one_commit():
    pins = {}
    for path in WORKFLOWS.glob("*.yml"):
        for action, commit in re.findall(
            r"uses: ([\w/-]+)@(\w+)", path.read_text("utf-8")
        ):
            pins.setdefault(action, set()).add(commit)
    assert {
        action: commits for action, commits in pins.items() if len(commits) > 1
    } == {}


def test_the_image_has_a_python_and_extras_that_exist():
    text = read("Containerfile")
    [version] = re.findall(
        r"^ARG BASE=docker\.io/library/python:(3\.\d+)-slim$", text, re.MULTILINE
    )
    assert version in minor_versions()
    named = {
        extra
        for given in re.findall(r"EXTRAS=([\w,]+)", text)
        for extra in given.split(",")
    }
    assert named <= {*pyproject()["project"]["optional-dependencies"]}
    users = re.findall(r"^USER (\d+):(\d+)$", text, re.MULTILINE)
    assert users
    assert "0" not in users[-1]
    copied = {
        line[1:]
        for line in read(".containerignore").splitlines()
        if line.startswith("!")
    }
    assert {Path(name).name for name in copied} == {
        "LICENSE",
        "MANIFEST.in",
        "README.md",
        "lshfast",
        "pyproject.toml",
        "setup.py",
        "src",
    }


def test_every_file_that_the_security_page_names_exists():
    names = re.findall(r"\]\(([\w./-]+)\)|`(\.github/[\w./-]+)`", read("SECURITY.md"))
    assert [
        name for pair in names for name in pair if name and not (TREE / name).exists()
    ] == []


def test_every_test_and_benchmark_that_contributors_are_told_to_run_exists():
    table = read("CONTRIBUTING.md").partition("## Change this, run that")[2]
    missing_names = []
    for line in re.findall("(?m)^[|] .*[|]$", table)[1:]:
        _, _, *columns, _ = line.split("|")
        for folder, column in zip(("tests", "benchmarks"), columns, strict=True):
            for words in re.findall("`([^`]+)`", column.replace("NAME", "bands")):
                if re.match("(pip|make|pytest|-m) ", words):
                    continue
                missing_names += [
                    name
                    for name in words.split()
                    if not any((TREE / place / name).exists() for place in (folder, ""))
                ]
    assert missing_names == []


def test_locked_versions_have_hashes():
    """Each is one version, and names all files that may be installed for it."""
    lines = read("packaging/locked.txt").replace("\\\n", " ").splitlines()
    requirements = [
        line for line in lines if line and not line.lstrip().startswith("#")
    ]
    assert len(requirements) > 5
    for requirement in requirements:
        assert re.fullmatch(
            r"[\w.-]+==[\w.]+( ;[^-]*)?(\s+--hash=sha256:[0-9a-f]{64})+\s*", requirement
        ), requirement
    locked = {requirement.split("==")[0] for requirement in requirements}
    project = pyproject()["project"]
    needed = project["dependencies"] + project["optional-dependencies"]["cli"]
    assert {split(one)[0] for one in needed} - {"lshfast"} <= locked
