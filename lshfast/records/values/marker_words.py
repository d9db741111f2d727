"""Words that tables write instead of nothing, such as "unknown", in normal form."""

from __future__ import annotations

from lshfast.records.values.strings import normal_form

# Words that say that there is no value, in the languages of the stop words, in normal form.
_SURE = """
not available; not applicable; not known; not specified; not provided; not given; not stated;
not reported; no data; no value; no name; no email; no phone; no number; no information; unknown;
unkown; unspecified; undefined; undisclosed; unavailable; missing value; to be determined;
to be confirmed; tbd; tba; tbc; null null; noemail; nomail; noreply; unbekannt; keine angabe;
keine angaben; ohne angabe; nicht bekannt; nicht angegeben; nicht vorhanden; inconnu; inconnue;
non renseigné; non renseignée; non disponible; sans objet; non communiqué; desconocido; desconocida;
no disponible; sin datos; no aplica; sin especificar; desconhecido; desconhecida; não informado;
não disponível; sem informação; sem dados; não se aplica; sconosciuto; sconosciuta; non disponibile;
non specificato; non applicabile; dato mancante; onbekend; niet bekend; niet beschikbaar; nvt;
geen gegevens; ukendt; ikke oplyst; ukjent; ikke oppgitt; okänd; okänt; uppgift saknas; ej angivet;
nieznany; nieznana; nieznane; brak danych; nie dotyczy; неизвестно; неизвестен; неизвестна;
не указано; не указан; нет данных
"""
# Words that may be names or values as well.
_DOUBTFUL = """
null; none; nan; nil; na; nd; missing; undefined; empty; blank; void; test; tester; testing; dummy;
anonymous; anonym; x; xx; xxx; xxxx; xxxxx; asdf; qwerty; fehlt; aucun; aucune; néant; ninguno;
ninguna; nenhum; nenhuma; nessuno; nessuna; brak; saknas; отсутствует
"""
# Letters that say the same if there is a slash, or if the first one is small; otherwise they may be
# initials.
LETTERS = frozenset(("n a", "n d", "k a", "s d", "s n", "n v t", "н д"))
# Words that stand beside others of these, as in "test user".
USUAL_WORDS = frozenset(
    (
        "account",
        "com",
        "customer",
        "email",
        "example",
        "mail",
        "name",
        "net",
        "org",
        "person",
        "user",
        "value",
    )
)
SURE_WORDS = frozenset(normal_form(word) for word in _SURE.split(";"))
DOUBTFUL_WORDS = frozenset(normal_form(word) for word in _DOUBTFUL.split(";"))
MARKER_WORDS = SURE_WORDS | DOUBTFUL_WORDS | LETTERS


def _normal_forms_of_first_words() -> dict[str, str]:
    """Return the first words of all markers, with and without accents, and their normal forms."""
    forms = {}
    for marker in (*_SURE.split(";"), *_DOUBTFUL.split(";"), *LETTERS):
        word = marker.split()[0]
        form = normal_form(word)
        forms[word] = form
        forms[form] = form
    return forms


FIRST_WORDS = _normal_forms_of_first_words()
