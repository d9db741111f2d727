"""Messages for packages of an extra that are not installed."""

from importlib import metadata

import pytest

from lshfast._common.extras import OptionalModule, optional

REQUIREMENTS = [
    "numpy>=1.26",
    'pillow>=10.4; extra == "photos"',
    "hashes[fast]>=0.2,<1; extra == 'photos'",
    'sizes>=3; extra == "photos"',
    'maps>=2; extra == "places"',
    'ray>=2.40; python_version < "3.14" and extra == "rays"',
]


@pytest.mark.parametrize(
    ("installed", "extra", "named"),
    [
        ([], "photos", "pillow, hashes, sizes are"),
        (["pillow", "sizes"], "photos", "hashes is"),
        (["pillow", "hashes", "sizes"], "photos", "absent_module is"),
        ([], "places", "maps is"),
        ([], "rays", "absent_module is"),
    ],
)
def test_all_missing_packages_of_an_extra_are_named_at_once(
    monkeypatch, installed, extra, named
):
    def version(package):
        if package not in installed:
            raise metadata.PackageNotFoundError(package)
        return "1"

    monkeypatch.setattr(metadata, "requires", lambda _: REQUIREMENTS)
    monkeypatch.setattr(metadata, "version", version)
    with pytest.raises(ImportError) as caught:
        optional("absent_module.inner", extra)
    assert str(caught.value) == f'{named} missing: pip install "lshfast[{extra}]"'


def test_sources_without_metadata_name_the_module(monkeypatch):
    def requires(package):
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "requires", requires)
    with pytest.raises(ImportError, match="absent_module is missing: pip install"):
        optional("absent_module")


def test_what_tools_ask_every_object_imports_nothing():
    """doctest asks for `__wrapped__`, also where the extra is not installed."""
    module = OptionalModule("no_such_package", "cli")
    assert not hasattr(module, "__wrapped__")
    with pytest.raises(ImportError, match="no_such_package"):
        module.name  # noqa: B018 # the access imports the package
