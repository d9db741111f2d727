"""Telephones, addresses, nicknames, and letters of other scripts: normal forms from the libraries of an extra."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast._common.extras import optional
from lshfast.records import (
    Field,
    LinkOptions,
    RecordTable,
    Synonyms,
    dedup_records,
    match_records,
)
from lshfast.records.tables.fields import guess_kind
from lshfast.records.values.addresses import PARTS, STATES, address_parts
from lshfast.records.values.forms import latin_texts
from lshfast.records.values.phones import phone_form, regions_of

US = [f"(212) 736-{number:04}" for number in range(1000, 1100)]
PEOPLE = {
    "name": ["William Jones", "Ann Lee", "Eve Stone", "Иван Орлов"],
    "home": [
        "4 Elm Court Apt 3, Springfield, IL 62701", "1 High Street, Dover DE",
        "9 Oak Avenue, Salem, OR 97301", "3 Sea View Rd #12, Bath, ME 04530-1234",
    ],
    "phone": ["(212) 736-5000", "646-736-0199", "+1 212 736 5001", "212.867.5309 x12"],
}  # fmt: skip
OTHERS = {
    "name": ["Anne Lee", "Bill Jones", "Vera Blum", "Ivan Orlov"],
    "home": [
        "1 High St., Dover, Delaware",
        "4 Elm Ct #3, Springfield, Illinois",
        None,
        "3 Sea View Road, Bath ME",
    ],
    "phone": ["+16467360199", "212 736 5000", "", "1-212-867-5309"],
}
FIELDS = ["name:name:latin=yes", "home:address", "phone:phone:region=US"]


def test_all_of_it_together():
    found = match_records(PEOPLE, OTHERS, fields=FIELDS, scoring="points")
    assert found.pairs() == [(0, 1), (1, 0), (3, 3)]
    assert found.names == ["name", *(f"home.{part}" for part in PARTS), "phone"]
    assert [coded.field.points for coded in found.fields] == [
        100,
        *[pytest.approx(100 / 6)] * 6,
        100,
    ]
    shown = found.explain_pair(0, 1)
    assert "home.state" in shown
    assert "equal: 'IL' | 'IL'" in shown
    assert "equal: '(212) 736-5000' | '212 736 5000'" in shown
    assert found.columns()["score_phone"].tolist() == [100, 100, 100]
    page = found.page()
    assert "name:name:latin=yes, phone:phone:region=US, home:address" in page
    assert "phone in a: region US" in page


def test_fields_are_found_by_rules_and_reviews():
    rules = ["key:home.number+home.state", "key:phone"]
    found = match_records(PEOPLE, OTHERS, fields=FIELDS, scoring="points", rules=rules)
    assert [(rule.pairs, rule.links) for rule in found.summary.rules] == [
        (3, 3),
        (3, 3),
    ]
    assert sorted(found.review()["b.home.state"]) == ["DE", "IL", "ME"]
    assert found.tables[0].ids == range(4)


# ---- telephones ----


def region_of(texts, region=None):
    (found,) = regions_of([texts], region)
    return found


@pytest.mark.parametrize(
    ("text", "region", "form"),
    [
        ("(212) 736-5000", "US", "+12127365000"), ("+44 20 7946 0018", "US", "+442079460018"),
        ("020 7946 0018", "GB", "+442079460018"), ("0044 20 7946 0018", "GB", "+442079460018"),
        ("212-736-5000 ext. 7", "US", "+12127365000"), ("212736500", "US", "+1212736500"),
        ("(212) 736-5000", None, "2127365000"), ("+1 212 736 5000", None, "+12127365000"),
        ("n/a", "US", "na"), ("", "US", ""), ("--", "US", ""), ("1" * 251, "US", "1" * 251),
    ],
)  # fmt: skip
def test_telephones(text, region, form):
    assert phone_form(text, region) == form


@pytest.mark.slow
def test_regions_are_guessed():
    assert region_of(US).region == "US"
    assert (
        region_of(US).note
        == "region US: 100% of numbers without a country code are valid there"
    )
    assert (
        region_of([f"04 72 40 {number:02} 17" for number in range(60)]).region == "FR"
    )
    assert (
        region_of([f"01 42 68 {number:02} 00" for number in range(60)]).region is None
    )  # also of Ivory Coast
    digits = [text.translate({ord(c): None for c in " ()-"}) for text in US]
    assert region_of(digits).region is None  # they would be valid in several regions
    assert "region=XX gives one" in region_of(digits).note
    abroad = [f"+1 646 736 {number}" for number in range(1000, 1100)]
    assert region_of([*digits, *abroad]).region == "US"
    assert region_of(abroad) == region_of([]) == (None, "")
    assert region_of(digits, "CA").region == "CA"


@pytest.mark.weekly
def test_a_table_whose_numbers_do_not_tell_the_region_takes_that_of_the_other():
    digits = [text.translate({ord(c): None for c in " ()-"}) for text in US]
    abroad = [f"+1{text}" for text in digits]
    assert [own.region for own in regions_of([digits, US])] == ["US", "US"]
    assert regions_of([US, digits])[1].note == "region US, as in the other table"
    assert [own.region for own in regions_of([digits, abroad])] == ["US", None]
    assert regions_of([digits, abroad])[1].note == ""
    assert [own.region for own in regions_of([US, ["call me 7", "0"]])] == ["US", None]
    found = match_records(
        {"phone": digits},
        {"phone": US},
        fields=["phone:phone"],
        scoring="points",
        rules=["key:phone"],
    )
    assert found.pairs() == [(row, row) for row in range(100)]


def test_telephones_are_compared_by_edits():
    table = {"phone": ["+1 212 736 5000", "212-736-5001", "212-867-5309", "nothing"]}
    found = dedup_records(
        table, fields=["phone:phone:region=US"], scoring="points", threshold=90
    )
    assert found.fields[0].values == [
        "+12127365000",
        "+12127365001",
        "+12128675309",
        "nothing",
    ]
    assert (found.pairs(), found.scores.tolist()) == ([(0, 1)], [99.0])


@pytest.mark.slow
def test_telephones_weigh_as_codes_do():
    rng = np.random.default_rng(3)
    numbers = rng.choice(9000, 300, replace=False) + 1000
    a = {
        "name": [f"p{n % 90}" for n in numbers],
        "phone": [f"(212) 736-{n}" for n in numbers],
    }
    b = {"name": a["name"], "phone": [f"+1212736{n}" for n in numbers]}
    found = match_records(a, b, fields=["name", "phone:phone"])
    assert found.pairs() == [(row, row) for row in range(300)]
    assert found.fields[1].notes == (
        "region US: 100% of numbers without a country code are valid there",
        "",
    )


def test_telephones_are_checked():
    with pytest.raises(
        ValueError, match="region must be two capital letters such as 'US', not 'usa'"
    ):
        Field("phone", kind="phone", region="usa")
    with pytest.raises(
        TypeError, match="region must be two letters such as 'US', not 1"
    ):
        Field("phone", kind="phone", region=1)
    with pytest.raises(
        ValueError, match="region belongs to the kind phone, not to code"
    ):
        Field("phone", kind="code", region="US")
    with pytest.raises(
        ValueError,
        match="region must be a country that has telephone numbers, not 'XX'",
    ):
        match_records(PEOPLE, OTHERS, fields=["phone:phone:region=XX"])


# ---- addresses ----


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "12 W. Elm St., Apt. 3, Springfield, Illinois 62701-1234",
            {"number": "12", "street": "W. Elm St.", "unit": "3", "city": "Springfield", "state": "IL", "zip": "62701"},
        ),
        ("1 High Street", {"number": "1", "street": "High Street"}),
        ("P.O. Box 17, Dover, DE", {"street": "P.O. Box 17", "city": "Dover", "state": "DE"}),
        ("", {}), (" ,;# ", {}), ("x" * 1001, {"street": "x" * 1001}),
    ],
)  # fmt: skip
def test_parts_of_addresses(text, parts):
    assert address_parts(text) == parts


def test_states_have_two_letters():
    assert (
        len(STATES) == len(set(STATES.values())) == 52
    )  # with the District of Columbia and Puerto Rico
    assert all(len(short) == 2 and short.isupper() for short in STATES.values())


@settings(max_examples=200, deadline=None)
@given(
    st.text(st.characters(), max_size=60)
    | st.text("12 ,.#&()-/NESWAptPOBox", max_size=60)
)
def test_no_text_stops_the_libraries(text):
    assert set(address_parts(text)) <= set(PARTS)
    assert isinstance(phone_form(text, "US"), str)
    assert latin_texts([text])[0].isascii() or any(
        "\ud800" <= letter <= "\udfff" for letter in text
    )
    region_of([text])


def test_addresses_are_columns_of_their_own():
    taken = {**PEOPLE, "home.city": ["x"] * 4}
    with pytest.raises(ValueError, match=r"a: there is a column 'home\.city' already"):
        match_records(taken, OTHERS, fields=FIELDS)
    with pytest.raises(
        ValueError,
        match="an address is compared by its parts, so it cannot be held out",
    ):
        match_records(PEOPLE, OTHERS, fields=["name"], held_out="home:address")
    empty = dedup_records(
        {"home": [None, ""], "n": ["a", "b"]},
        fields=["home:address", "n"],
        scoring="points",
    )
    assert empty.names == ["home.street", "n"]
    other = {"place": OTHERS["home"], "id": list("abcd")}
    own = match_records(
        RecordTable({**PEOPLE, "id": list("wxyz")}, "id"), RecordTable(other, "id"),
        fields=["home=place:address"], scoring="points",
    )  # fmt: skip
    assert ("w", "b") in own.pairs()


# ---- other scripts, nicknames ----


def test_other_scripts_are_written_in_latin():
    assert latin_texts(["Иван", "ivan", "Ωμέγα", "王"]) == [
        "Ivan",
        "ivan",
        "Omega",
        "Wang",
    ]
    a, b = {"name": ["Иван Орлов"]}, {"name": ["Ivan Orlov"]}
    assert len(match_records(a, b, fields=["name"], scoring="points")) == 0
    assert match_records(
        a, b, fields=["name:latin=yes"], scoring="points"
    ).scores.tolist() == [100]
    with pytest.raises(
        ValueError, match="field 'name:latin=1': latin must be yes or no, not '1'"
    ):
        Field.parse("name:latin=1")
    with pytest.raises(TypeError, match="latin must be"):
        Field("name", latin="yes")


def test_nicknames_of_the_package():
    found, own = Synonyms.nicknames([("cat", "tom")]), Synonyms.english()
    assert found.related("aaron", "ronnie")
    assert not own.related("aaron", "ronnie")
    assert found.related("cat", "tom")
    assert found.related("William", "Bill")
    assert len(found) > 1.5 * len(own)
    assert found.canonical("3rd st") == "third street"


# ---- without the extra ----


@pytest.fixture
def without_contacts(monkeypatch):
    for name in ("phonenumbers", "usaddress", "anyascii", "nicknames"):
        monkeypatch.setitem(sys.modules, name, None)
    optional.cache_clear()
    yield
    optional.cache_clear()


@pytest.mark.parametrize(
    ("field", "package"),
    [
        ("phone:phone", "phonenumbers"),
        ("home:address", "usaddress"),
        ("name:latin=yes", "anyascii"),
    ],
)
@pytest.mark.usefixtures("without_contacts")
def test_what_is_named_says_what_to_install(field, package):
    with pytest.raises(
        ImportError, match=rf"{package} is missing: pip install .lshfast\[contacts\]"
    ):
        match_records(PEOPLE, OTHERS, fields=[field])


@pytest.mark.usefixtures("without_contacts")
def test_nothing_else_needs_the_extra():
    with pytest.raises(
        ImportError, match=r"nicknames is missing: pip install .lshfast\[contacts\]"
    ):
        Synonyms.nicknames()
    found = match_records(PEOPLE, OTHERS, scoring="points")
    assert found.names == ["name", "home", "phone"]
    assert {coded.kind for coded in found.fields} <= {"text", "code", "name"}
    assert LinkOptions(fields=FIELDS).fields == FIELDS


def test_kinds_of_the_extra_are_never_guessed():
    """So results do not depend on what is installed."""
    assert guess_kind(US, np.ones(len(US), np.int64)) == "code"
    assert guess_kind(PEOPLE["home"], np.ones(4, np.int64)) == "text"
