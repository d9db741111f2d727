"""Stop words of several languages: words of grammar, frequent in running text only.

Tokens of shingles depend on these lists, so a change to one is a change of format. An apostrophe
ends a word (docs/reference/definitions.md), so the lists hold the parts of contractions: "don't" is
"don" and "t".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lshfast.kernels.text import Texts

# By language: the code of ISO 639-1 that stands for it in the name of shingles, and the words.
_LISTS = {
    "danish": (
        "da",
        """
        ad af alle alt andet andre at blandt blev blive bliver da de dem den denne der deres det
        dette dig din dine dit dog du efter eller en end er et for fordi fra får før gennem ham han
        hans har havde have hende hendes her hos hun hvad hver hvilken hvis hvor hvordan hvorfor i
        ikke ind ingen jeg jer jeres kan kunne man mange med meget mellem men mens mig min mine mit
        mod må ned noget nogen nogle nu når og også om op os over på sammen selv sig sin sine sit
        skal skulle som sådan thi til ud uden under var ved vi vil ville vor vores være været
        """,
    ),
    "dutch": (
        "nl",
        """
        aan al alle alles als altijd andere ben bent bij bijna daar dan dat de der deze die dit doch
        door dus een eens elk en er ge geen had hadden heb hebben heeft hem hen het hier hij hoe hun
        iemand iets ik in is ja je jij jou jouw jullie kan kon konden kunnen maar me meer men met
        mij mijn moet moeten mocht na naar niet niets nog nu of om omdat ons onze ook op over reeds
        s t te tegen tot tussen u uit uw van veel voor waar waarom wanneer want waren was wat we wel
        werd werden wie wij wil wilde worden wordt zal ze zelf zich zij zijn zo zonder zou zouden
        """,
    ),
    "english": (
        "en",
        """
        a about above after again against all also although always am among an and any are aren as
        at be because been before being below between both but by can cannot could couldn d did didn
        do does doesn doing don down during each either else ever every few for from further had
        hadn has hasn have haven having he her here hers herself him himself his how however i if in
        into is isn it its itself just ll m may me might mine more most must my myself neither no
        nor not of off on once one only or other our ours ourselves out over own per re s same shall
        she should shouldn since so some such t than that the their theirs them themselves then
        there therefore these they this those though through thus to too under until up upon us ve
        very was wasn we were weren what when where whether which while who whom whose why will with
        within without won would wouldn yet you your yours yourself yourselves
        """,
    ),
    "french": (
        "fr",
        """
        a afin ai aie ainsi alors as au aucun aucune aura aussi autre autres aux avaient avais avait
        avant avec avez avoir avons c car ce ceci cela celle celles celui ces cet cette ceux chaque
        chez comme comment contre d dans de depuis des donc dont du elle elles en encore entre es
        est et était étaient étais été être eu eux fait furent fut ici il ils j je jusqu l la le les
        leur leurs lors lorsque lui m ma mais me même mes moi moins mon n ne ni non nos notre nous
        on ont ou où par parce pas pendant peu peut plus pour pourquoi puis qu quand que quel quelle
        quelles quels qui quoi s sa sans se selon sera ses si sien soi soit son sont sous suis sur t
        ta te tes toi ton tous tout toute toutes très tu un une vers voici voilà vos votre vous y à
        """,
    ),
    "german": (
        "de",
        """
        ab aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes
        auch auf aus bei beim bin bis bist da dabei dadurch dafür damit dann daran darauf darum das
        dass daß dein deine deinem deinen deiner dem den denn der deren des dessen dich die dies
        diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er
        es etwa etwas euch euer eure für gegen habe haben hat hatte hatten hier hin hinter ich ihm
        ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist ja jede jedem jeden jeder jedes
        jedoch jene jener jenes kann kein keine keinem keinen keiner können könnte man manche mehr
        mein meine meinem meinen meiner mich mir mit muss müssen nach nicht nichts noch nun nur ob
        oder ohne schon sehr sein seine seinem seinen seiner seit selbst sich sie sind so solche
        solchen soll sollen sollte sondern sonst über um und uns unser unsere unseren unter viel vom
        von vor während war waren warum was weder weil welche welchem welchen welcher welches wenn
        wer werde werden wie wieder will wir wird wo wollen worden wurde wurden würde würden zu zum
        zur zwar zwischen
        """,
    ),
    "italian": (
        "it",
        """
        a abbia abbiamo ad agli ai al all alla alle allo anche ancora avere aveva avevano avuto c
        che chi ci coi col come con contro cui d da dagli dai dal dall dalla dalle dallo degli dei
        del dell della delle dello dentro di dopo dove e ed egli era erano essere essi fa fino fra
        fu furono gli ha hai hanno ho i il in io l la le lei li lo loro lui ma mentre mi mia mie
        miei mio molto ne negli nei nel nell nella nelle nello noi non nostra nostre nostri nostro o
        ogni per perché però più poi prima qua quale quali quando quanto quegli quei quel quella
        quelle quelli quello questa queste questi questo qui sarà se sei sembra senza si sia siamo
        siano sono sopra sotto sta stata state stati stato su sua sue sugli sui sul sull sulla sulle
        sullo suo suoi tra tu tua tue tuo tuoi tutti tutto un una uno vi voi vostra vostre vostri
        vostro è
        """,
    ),
    "norwegian": (
        "no",
        """
        alle andre at av bare ble bli blir blitt da de deg dei dem den denne der dere deres dersom
        det dette din dine disse ditt du då eit ein eller en enn er et etter for fordi fra få før ha
        hadde han hans har henne hennes her hos hun hva hvem hver hvilken hvis hvor hvordan hvorfor
        i ikke ikkje ingen inn jeg kan kunne kva man mange med meg mellom men mens min mine mitt mot
        mye må ned noe noen når og også om opp oss over på samme seg selv sin sine sitt skal skulle
        slik som så til under ut uten var ved vi vil ville vår våre være vært
        """,
    ),
    "polish": (
        "pl",
        """
        a aby ale albo ani bardzo bez bo by być była były było był będzie będą ci co czy dla do gdy
        gdzie go i ich ile im ja jak jako je jednak jego jej jest jestem jeszcze jeśli jeżeli już
        każdy kiedy kto która które którego której który których którzy lecz lub ma mam mi mnie może
        można my na nad nam nas nasz nie niech nim niż no o od on ona one oni ono oraz po pod
        ponieważ poza przed przez przy są się sobie swoje ta tak taki tam te tego tej ten też to tu
        ty tych tylko tym u w we wam was wasz więc wszystko z za ze żadna żadne żaden że żeby
        """,
    ),
    "portuguese": (
        "pt",
        """
        a ainda algum alguma antes ao aos aquela aquelas aquele aqueles aquilo as assim até cada com
        como contra da das de dela delas dele deles depois desde dessa desse desta deste do dos e
        ela elas ele eles em enquanto entre era eram essa essas esse esses esta estas estava este
        estes está estão eu foi for foram há isso isto já lhe lhes lo mais mas me mesmo meu meus
        minha minhas muito muitos na nas nem no nos nossa nossas nosso nossos num numa não nós o
        onde os ou para pela pelas pelo pelos pois por porque porém qual quando quanto que quem se
        seja sem ser será seu seus sido sob sobre sua suas são só também te tem teu teus tinha toda
        todas todo todos tu tua tuas têm um uma umas uns você vocês vos à às é
        """,
    ),
    "russian": (
        "ru",
        """
        а без более больше будет будто бы был была были было быть в вам вас ваш весь во вот все
        всего всех всё вы где да даже для до его ее ей ему если есть еще ещё её же за здесь и из или
        им их к как какая какой ко когда которая которое которые который кто ли лишь между меня мне
        много может можно мой моя мы на над надо нам нас наш не него нее ней нет неё ни никогда ним
        них но ну о об однако он она они оно от перед по под после потому почему почти при про с сам
        свой себе себя со такой там тебя тем теперь то тогда того тоже только том тот тут ты у уже
        хотя чего чем через что чтоб чтобы эта эти этих это этого этой этом этот эту я
        """,
    ),
    "spanish": (
        "es",
        """
        a al algo alguna algunas alguno algunos ante antes aquel aquella aquellas aquello aquellos
        aquí así aún aunque bajo bien cada casi como con contra cual cuando cuya cuyo de del desde
        donde dos durante e el ella ellas ello ellos en entre era eran es esa esas ese eso esos esta
        estaba estaban estado estamos estar estas este esto estos está están fue fueron ha había
        habían han has hasta hay he la las le les lo los luego me mi mis mucho muchos muy más mí
        nada ni no nos nosotros nuestra nuestras nuestro nuestros o os otra otras otro otros para
        pero poco por porque pues que quien quienes qué se sea según ser será si sido siempre sin
        sino sobre son soy su sus suya suyo sí también tan tanto te tenía ti tiene tienen todo todos
        tu tus un una unas uno unos usted vosotros vuestra vuestro y ya yo él éste
        """,
    ),
    "swedish": (
        "sv",
        """
        alla allt andra att av bara blev bli blir blivit de dem den denna dess dessa det detta dig
        din dina ditt du där då efter ej eller en er era ert ett från för före genom ha hade han
        hans har henne hennes hon honom hos hur här i icke in ingen inget inom inte jag ju kan kunde
        man med medan mellan men mer mig min mina mitt mot mycket ni nu när någon något några och
        också om oss på samma sedan sig sin sina sitt själv ska skall skulle som så sådan till under
        upp ut utan var vara varför varit varje vars vem vi vid vilka vilken vilket vill våra vår
        vårt än är åt över
        """,
    ),
}

LANGUAGES = tuple(_LISTS)


@dataclass(frozen=True)
class StopWords:
    """Stop words of a language, or a list of one's own, whose `code` is "".

    `stop_words_of` creates it.
    """

    code: str
    words: tuple[str, ...]
    texts: Texts = field(repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return stop_words_of, (self.language or self.words,)

    @property
    def language(self) -> str | None:
        """The name of the language; None for a list of one's own."""
        return next(
            (name for name, (code, _) in _LISTS.items() if code == self.code), None
        )


def stop_words_of(given: str | Iterable[str] | StopWords | None) -> StopWords:
    """Return the stop words of a language, or of a list of words.

    Parameters
    ----------
    given : str, iterable of str, StopWords or None
        The name or the code of a language; None is English. Or the words themselves. Text is
        compared with them in lower case, and an entry of several words, such as "don't", stands for
        each of them.

    Returns
    -------
    StopWords

    Raises
    ------
    TypeError
        If it is neither a str nor an iterable of str.
    ValueError
        If no list has that name, there are no words, an entry has no word, or an entry cannot be
        encoded as UTF-8.

    Examples
    --------
    >>> stop_words_of("german").code, len(stop_words_of(["the", "a"]).words)
    ('de', 2)
    """
    from lshfast._common.arrow_columns import checked_column

    # Which needs numpy, and the command line shows LANGUAGES.
    from lshfast.kernels.text import (
        Texts,
        word_shingles,
    )

    if isinstance(given, StopWords):
        return given
    if given is None:
        given = "english"
    if isinstance(given, str):
        for name, (code, words) in _LISTS.items():
            if given in (name, code):
                return StopWords(code, tuple(words.split()), Texts(words.split()))
        raise ValueError(
            f"stop_words must be one of {', '.join(LANGUAGES)}, or a list of words, not {given!r}"
        )
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise TypeError(
            f"stop_words must be the name of a language or a list of words, not {given!r}"
        )
    checked_column(given, "stop_words")
    own_words = tuple(given)
    wrong = next((word for word in own_words if not isinstance(word, str)), None)
    if wrong is not None:
        raise TypeError(f"stop_words must be str, not {wrong!r}")
    if not own_words:
        raise ValueError("stop_words must have at least one word")
    texts = Texts(own_words)
    counts = word_shingles(texts, 1, 1)[0]
    for row, word in enumerate(own_words):
        if counts[row] == counts[row + 1]:
            raise ValueError(f"stop_words must be words, not {word!r}")
    return StopWords("", own_words, texts)
