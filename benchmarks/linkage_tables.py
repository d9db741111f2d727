"""The generated data sets of benchmarks/linkage.py, by name: two tables or one, with the true matches."""

from __future__ import annotations

from collections.abc import Callable

from linkage_draws import Linked, Table
from linkage_people import (
    fake_people,
    historical_people,
    payments,
    people_with_derived_columns,
)
from linkage_works import (
    film_titles,
    one_disc_database,
    rewritten_sentences,
    two_film_databases,
    two_shops,
)

__all__ = ["GENERATED", "Linked", "Table"]

# Two tables come with the pairs of rows that match, one table with the entity of each row.
GENERATED: dict[str, Callable[[], Linked]] = {
    "films": two_film_databases,
    "film titles": film_titles,
    "discs": one_disc_database,
    "products": two_shops,
    "sentences": rewritten_sentences,
    "fake people": fake_people,
    "historical people": historical_people,
    "people": people_with_derived_columns,
    "payments": payments,
}
