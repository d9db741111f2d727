"""Tables of synonyms, such as nicknames: two words that a table relates count as nearly equal.

The built-in table holds common English given names and abbreviations. The first word of a line is
related to the others: Alex is related to Alexander and to Alexandra, which are not related to each
other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from lshfast._common.extras import optional
from lshfast._common.types import BoolArray
from lshfast.kernels.pairs import codes_of_keys
from lshfast.records.values.strings import normal_form
from lshfast.shingling import shingle
from lshfast.tokens import TokenSets

NO_WORD = 2**64 - 1  # the hash of no word

# A given name, then its short forms. This table and the next one belong to this project, and have
# its licence (MIT).
NICKNAMES = """
abigail abby gail; abraham abe; adam ade; agnes aggie; albert al bert bertie;
alexander alex alec al sandy xander; alexandra alex sandra sandy lexie; alfred al alf alfie fred;
alice allie ally; allan al; alison ali allie; amanda mandy; andrew andy drew; angela angie;
ann annie nan nancy; anne annie nan nancy; anthony tony ant; antonia toni; archibald archie;
arnold arnie; arthur art artie; augustus gus; barbara barb barbie babs; barnaby barney;
bartholomew bart; beatrice bea trixie; benjamin ben benny benji; bernard bernie; bradley brad;
caroline carol carrie; catherine cath cathy cate kate kathy katie kitty; cecilia celia cissy;
charles charlie chuck chas; charlotte charlie lottie; christina chris chrissie tina;
christine chris chrissie tina; christopher chris kit topher; clarence clare; clifford cliff;
constance connie; cornelius neil; curtis curt; cynthia cindy; daniel dan danny; david dave davey;
deborah deb debbie; denis denny; dennis denny; dominic dom nick; donald don donnie;
dorothy dot dottie dolly; douglas doug; edgar ed; edmund ed eddie ned;
edward ed eddie ned ted teddy; edwin ed eddie; eleanor ellie nell nora;
elizabeth beth bess bessie betsy betty eliza ella libby lisa liz lizzie; ellen ellie nell;
emily em emmy; emma em emmy; ernest ernie; eugene gene; evelyn evie eve; ezekiel zeke; florence flo;
frances fran frankie; francis frank frankie; franklin frank; frederick fred freddie freddy rick;
gabriel gabe; geoffrey geoff jeff; george georgie; gerald gerry jerry; gerard gerry;
gilbert gil bert; gordon gord; gregory greg; gwendolyn gwen; harold hal harry; harriet hattie;
helen nell nellie; henry hal hank harry; herbert herb bert; howard howie; hubert bert; ian iain;
isaac ike; isabel belle izzy; isabella bella izzy; jacob jake; jacqueline jackie;
james jim jimmy jamie; jane janie jenny; janet jan; jeffrey jeff; jennifer jen jenny;
jeremiah jerry; jeremy jerry; jerome jerry; jessica jess jessie; joan joanie; joanna jo joanne;
john jack johnny jon; jonathan jon jonny nathan; joseph joe joey; josephine jo josie; joshua josh;
judith judy; julia julie; julian jules; justin jus; katherine kate kathy katie kay kitty;
kathleen kath kathy katie kay; kathryn kate kathy katie; kenneth ken kenny; kevin kev; kimberly kim;
lawrence larry laurie; leonard len lenny leo; leonardo leo; leopold leo; leslie les; lewis lew;
lillian lil lily; louis lou louie; louise lou; lucille lucy; madeline maddie; magdalena lena;
malcolm mal; marcus marc mark; margaret maggie marge margie meg megan peg peggy rita; martha marty;
martin marty; mary molly polly; matilda tilly; matthew matt; maureen mo; maurice morris;
maximilian max; maxwell max; melissa mel missy; michael mick mickey mike mikey; michelle shelly;
mitchell mitch; nathan nate; nathaniel nat nate; nicholas nick nicky; nicole nicky; norman norm;
oliver ollie; olivia liv livvy; oscar ossie; pamela pam; patricia pat patty trish tricia;
patrick pat paddy; penelope penny; peter pete; philip phil pip; phillip phil; phyllis phil;
priscilla cilla; rachel rae; ralph rafe; randall randy; raymond ray; rebecca becky becca;
reginald reg reggie; richard dick rich richie rick ricky; robert bob bobby rob robbie bert;
roberta bobbie; roderick rod; rodney rod; roger rodge; roland roly; ronald ron ronnie;
rosemary rose rosie; roxanne roxy; rudolph rudy; russell russ rusty; samantha sam sammy; samson sam;
samuel sam sammy; sandra sandy; sarah sadie sally; sebastian seb; sidney sid; simon si; solomon sol;
sophia sophie; stanley stan; stephanie steph; stephen steve; steven steve; stewart stew stu;
stuart stu; susan sue susie suzy; susanna sue susie; suzanne sue suzy; sylvester sly; sylvia syl;
terence terry; teresa terry tess; theodore ted teddy theo; theresa terry tess; thomas tom tommy;
timothy tim timmy; tobias toby; valerie val; vanessa nessa; veronica ronnie; vernon vern;
victor vic; victoria vicky tori; vincent vin vince; violet vi; virginia ginny; vivian viv;
walter wally walt; warren woz; wendell del; wilbur will; wilfred wilf fred; wilhelmina mina willa;
william bill billy liam will willie; winifred winnie; winston win; zachary zac zach zack
"""

# Words of addresses and organisations, then their abbreviations; and numbers, then other ways to
# write them.
ABBREVIATIONS = """
street st str; avenue ave av; boulevard blvd; road rd; drive dr; lane ln; place pl; court ct;
square sq;
terrace tce ter; crescent cres cr; circuit cct; close cl; highway hwy; parkway pkwy pky;
expressway expy;
freeway fwy; turnpike tpke;
suite ste; apartment apt; building bldg; floor fl; centre ctr center; mount mt; fort ft;
heights hts; junction jct;
north n; south s; east e; west w; northeast ne; northwest nw; southeast se; southwest sw;
and n; company co; corporation corp; incorporated inc; limited ltd; brothers bros; department dept;
university univ;
international intl; national natl; association assn assoc; manufacturing mfg; laboratory lab;
conference conf;
proceedings proc; journal j; transactions trans; volume vol; number no;
first 1st; second 2nd; third 3rd; fourth 4th; fifth 5th; sixth 6th; seventh 7th; eighth 8th;
ninth 9th; tenth 10th;
eleventh 11th; twelfth 12th; thirteenth 13th; fourteenth 14th; fifteenth 15th; twentieth 20th;
one 1; two 2; three 3; four 4; five 5; six 6; seven 7; eight 8; nine 9; ten 10; eleven 11; twelve 12
"""


def words_of(values: Iterable[str]) -> TokenSets:
    """Return the hashes of the words of each value in normal form."""
    return shingle(list(values), "word", 1)


def rows_with_words(values: TokenSets, words: Iterable[str]) -> BoolArray:
    """Return which values have one of some words, by the hashes of their words; bool (values,).

    In scripts without spaces, each character is a word: values that have the first one of such a
    word are among them.

    Examples
    --------
    >>> rows_with_words(words_of(["8638 w 3rd st", "elm court"]), ["rd", "st"]).tolist()
    [True, False]
    """
    has_word = np.zeros(len(values), bool)
    sought = words_of(words)
    first = sought.tokens[sought.offsets[:-1][sought.counts > 0]]
    has = codes_of_keys(first, values.tokens, NO_WORD)[1] >= 0
    has_word[np.repeat(np.arange(len(values), dtype=np.int64), values.counts)[has]] = (
        True
    )
    return has_word


class Synonyms:
    """Words that count as nearly equal: two words of one line differ by one edit.

    Parameters
    ----------
    lines : iterable of sequences of str, or mapping of str to sequences of str
        The first word of a line is related to each of the others. Words are compared by their
        normal forms.

    Raises
    ------
    TypeError
        If a line is a string or holds something else than strings.

    See Also
    --------
    lshfast.records.Field : A field of the records, and how it is compared.

    Examples
    --------
    >>> from lshfast.records import Synonyms
    >>> table = Synonyms([("william", "bill")])
    >>> table.related("Bill", "William"), table.related("Bill", "Bob")
    (True, False)
    """

    def __init__(
        self, lines: Iterable[Sequence[str]] | Mapping[str, Sequence[str]]
    ) -> None:
        if isinstance(lines, Mapping):
            lines = [(word, *words) for word, words in lines.items()]
        self._others: dict[str, set[str]] = {}
        self._heads: dict[str, set[str]] = {}
        for line in lines:
            is_list = isinstance(line, Sequence) and not isinstance(line, str)
            if not is_list or not all(isinstance(word, str) for word in line):
                raise TypeError(
                    f"a line of synonyms must be a sequence of words, not {line!r}"
                )
            first, *other_words = (
                (normal_form(word) for word in line) if line else ("",)
            )
            for other in other_words:
                if first and other:
                    self._others.setdefault(first, set()).add(other)
                    self._others.setdefault(other, set()).add(first)
                    self._heads.setdefault(other, set()).add(first)

    @classmethod
    def english(cls, more: Iterable[Sequence[str]] = ()) -> Synonyms:
        """Return the built-in short forms of names and abbreviations; `more` are further lines."""
        lines = [line.split() for line in f"{NICKNAMES};{ABBREVIATIONS}".split(";")]
        return cls([*lines, *more])

    @classmethod
    def nicknames(cls, more: Iterable[Sequence[str]] = ()) -> Synonyms:
        """Return the built-in table and the English nicknames of the package nicknames.

        The package has about 2,700 pairs of a given name and a nickname, under the Apache Licence
        2.0: https://github.com/carltonnorthern/nicknames.

        Raises
        ------
        ImportError
            If nicknames is not installed.

        Examples
        --------
        >>> from lshfast.records import Synonyms
        >>> (
        ...     Synonyms.nicknames().related("Aaron", "Ronnie"),
        ...     Synonyms.english().related("Aaron", "Ronnie"),
        ... )
        (True, False)
        """
        nicknames = optional("nicknames", "contacts").NickNamer.default_lookup()
        lines = [[name, *sorted(nicknames[name])] for name in sorted(nicknames)]
        return cls.english([*lines, *more])

    def __len__(self) -> int:
        return len(self._others)

    def __contains__(self, word: object) -> bool:
        return word in self._others

    def related(self, a: str, b: str) -> bool:
        """Return whether one line relates two different words."""
        return normal_form(b) in self._others.get(normal_form(a), ())

    def known(self, value: str) -> bool:
        """Return whether a value in normal form has a word of the table."""
        return not self._others.keys().isdisjoint(value.split())

    def known_among(self, words: TokenSets) -> BoolArray:
        """Return which values may have a word of the table, by the hashes of their words.


        These are all values that have one, and few others.
        """
        return rows_with_words(words, self._others)

    def canonical(self, value: str) -> str:
        """Return a normal form with each word of one line replaced by the first of its line.

        Examples
        --------
        >>> from lshfast.records import Synonyms
        >>> Synonyms.english().canonical("8638 w 3rd st")
        '8638 west third street'
        """
        words = []
        for word in value.split():
            heads = self._heads.get(word, ())
            words.append(min(heads) if len(heads) == 1 else word)
        return " ".join(words)

    def canonical_forms(self, values: Sequence[str], words: TokenSets) -> list[str]:
        """Return the same for each of some values, from the hashes of their words."""
        forms = [*values]
        for place in np.flatnonzero(rows_with_words(words, self._heads)).tolist():
            forms[place] = self.canonical(forms[place])
        return forms

    def rewritten(self, a: str, b: str) -> tuple[str, int]:
        """Return `a` with words replaced by related words of `b`, and the number of them.

        Both are normal forms. A word that both have is not replaced, and a word of `b` replaces one
        word only.

        Examples
        --------
        >>> from lshfast.records import Synonyms
        >>> Synonyms([("william", "bill")]).rewritten("bill smith", "william smyth")
        ('william smith', 1)
        """
        words = a.split()
        count = 0
        # The places in b of each word that replaces none yet.
        unused: dict[str, deque[int]] = {}
        for place, word in enumerate(b.split()):
            unused.setdefault(word, deque()).append(place)
        both = unused.keys() & set(words)
        for word in words:
            if unused.get(word):
                unused[word].popleft()
        for at, word in enumerate(words):
            if word in both:
                continue
            related = self._others.get(word, ())
            places = {unused[other][0]: other for other in related if unused.get(other)}
            if places:
                words[at] = places[min(places)]
                count += 1
                unused[words[at]].popleft()
        return " ".join(words), count
