"""Normal forms, numbers and dates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast.records.tables.distinct_values import distinct_texts
from lshfast.records.tables.fields import Field
from lshfast.records.values.forms import readers_of
from lshfast.records.values.strings import normal_form, number_in


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("  Ann-Marie  O'NEILL ", "ann marie oneill"),
        ("Zoë Müller", "zoe muller"),
        ("ÆRØ Straße", "ærø strasse"),
        ("Ångström", "angstrom"),
        ("Йосиф", "иосиф"),
        ("李小龍", "李小龍"),
        ("हिन्दी", "हिन्दी"),
        ("한국어", "한국어"),
        ("ＡＢＣ１２", "abc12"),
        ("-- / --", ""),
        ("", ""),
        ("a’b", "ab"),
    ],
)
def test_normal_forms(text, form):
    assert normal_form(text) == form


@given(st.text(max_size=30))
def test_a_normal_form_is_its_own(text):
    form = normal_form(text)
    assert normal_form(form) == form
    assert form == form.strip()
    assert "  " not in form


def test_normal_forms_take_no_quadratic_time():
    marks = "\u05b0\u0591\u0f73" * 300_000
    assert len(normal_form("\u05d0" + marks)) < 100
    assert normal_form("\u05d0\u05b0" * 1000) == "\u05d0\u05b0" * 1000
    assert normal_form("é" * 10**5) == "e" * 10**5


def test_codes_of_many_zeros_take_no_quadratic_time():
    field = Field("value", kind="code")
    many = "0" * 10**6 + "x"
    codes = [many, "007", "000", "00a1", "0"]
    ((reader, _),) = readers_of(field, [codes])
    assert reader(codes) == [many, "7", "0", "00a1", "0"]


def test_values_of_many_blank_lines_take_no_quadratic_time():
    many = "\n" * 10**6
    _, texts = distinct_texts([[f"{many}x", " 5.0\t", "5"]])
    assert sorted(texts) == [f"{many}x", "5"]


@given(st.text(st.characters(codec="ascii"), max_size=30))
def test_ascii_has_one_path_with_other_characters(text):
    assert normal_form(text + "é").removesuffix("e").strip() == normal_form(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12.0), ("-3.5", -3.5), ("$1,234.50", 1234.5), ("€ 7", 7.0), ("1e3", 1000.0), (".5", 0.5), ("5 %", 5.0),
        ("", None), ("abc", None), ("1,23,4", None), ("nan", None), ("inf", None), ("1e999", None), ("--1", None),
        ("12 km", None), (".", None), ("e5", None), ("١٢", 12.0),
    ],
)  # fmt: skip
def test_numbers(text, number):
    assert number_in(text) == number
