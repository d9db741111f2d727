"""Word lists for the generated tables of record linkage. Frequent words come first; tails are compounds."""

# ruff: noqa: SIM905
from __future__ import annotations

from itertools import product

MEN = (
    "john james william robert thomas george david michael charles richard joseph edward peter paul henry mark andrew "
    "daniel matthew samuel stephen anthony benjamin christopher alexander frederick francis patrick arthur albert "
    "walter harry ernest alfred philip simon martin nicholas jonathan timothy oliver jacob noah leo oscar theodore "
    "edmund hugh lawrence leonard ralph roger stanley victor vincent gregory kenneth ronald donald douglas gerald "
    "raymond eugene maurice dominic adrian ian neil colin graham trevor nigel stuart duncan malcolm gordon kevin brian "
    "sean liam finlay rhys owen evan dylan callum ibrahim mohammed ali omar hassan ahmed karl otto hans pierre jean "
    "luca marco antonio carlos diego"
).split()
WOMEN = (
    "mary elizabeth sarah margaret anne jane catherine susan helen emily alice charlotte emma lucy sophie victoria "
    "rebecca rachel hannah jessica laura louise caroline julia eleanor florence grace ruth rose edith ethel agnes "
    "beatrice clara dorothy frances harriet isabella josephine lillian martha matilda millicent nora olive patricia "
    "penelope philippa rosemary sylvia theresa ursula violet winifred yvonne abigail alexandra amanda angela barbara "
    "christine deborah diana fiona gillian heather jacqueline jennifer joanna judith karen linda maureen nicola pamela "
    "sandra sharon tracy valerie wendy zoe chloe ella freya imogen isla lily megan mia molly phoebe poppy ruby fatima "
    "aisha leila maria elena chiara ingrid"
).split()
NICKNAMES = {
    "john": "jack", "james": "jim", "william": "bill", "robert": "bob", "thomas": "tom", "david": "dave",
    "michael": "mike", "charles": "charlie", "richard": "dick", "joseph": "joe", "edward": "ted", "henry": "harry",
    "andrew": "andy", "daniel": "dan", "matthew": "matt", "samuel": "sam", "stephen": "steve", "anthony": "tony",
    "benjamin": "ben", "christopher": "chris", "alexander": "alex", "frederick": "fred", "francis": "frank",
    "patrick": "paddy", "nicholas": "nick", "jonathan": "jon", "timothy": "tim", "theodore": "theo", "edmund": "ned",
    "lawrence": "larry", "leonard": "len", "gregory": "greg", "kenneth": "ken", "ronald": "ron", "donald": "don",
    "gerald": "gerry", "raymond": "ray", "elizabeth": "beth", "margaret": "maggie", "catherine": "kate",
    "susan": "sue", "rebecca": "becky", "jessica": "jess", "victoria": "vicky", "eleanor": "nell", "alexandra": "alex",
    "amanda": "mandy", "barbara": "babs", "christine": "chris", "deborah": "debbie", "jacqueline": "jackie",
    "jennifer": "jenny", "pamela": "pam", "patricia": "pat", "penelope": "penny", "theresa": "tess",
    "winifred": "winnie", "josephine": "jo", "matilda": "tilly", "isabella": "bella", "harriet": "hattie",
    "dorothy": "dot", "frances": "fanny", "abigail": "abby", "sarah": "sally", "mary": "polly", "martha": "patty",
}  # fmt: skip
COMMON_SURNAMES = (
    "smith jones taylor brown williams wilson johnson davies patel robinson wright thompson evans walker white roberts "
    "green hall wood jackson clarke lewis harris turner cooper hill ward martin moore clark baker hughes edwards khan "
    "king morgan cox parker allen james scott young adams phillips mitchell watson lee carter bell richardson shaw "
    "murphy miller cook bailey marshall collins singh price bennett griffiths gray stewart anderson murray ali palmer "
    "stevens rogers campbell kelly simpson hunt ellis mason webb mills rose foster fox chapman russell knight barker "
    "butler harvey fisher dixon graham reynolds holmes hussain pearson armstrong gibson burton fletcher andrews lloyd "
    "kennedy grant owen hamilton gordon mcdonald ryan wallace cole west crawford burns hart o'brien o'connor macleod"
).split()
STARTS = (
    "ash beck birch black bloom brad bram brook burn chat clay cliff comb cran crom dal dray elm fair farn fen fern "
    "gar glen had hal ham hart hath hawk hazel heath hol horn hur kin lang leigh lin mar mel mid nor oak pen pres rad "
    "red rock rush sand shef sher stan stam thorn tilt upt wake wal war whit wing wood wor"
).split()
SURNAME_ENDS = "ley ton ford well field wood worth by man son land more den stone bury ridge".split()
TOWN_ENDS = "ham ton bridge bourne stead wick mouth combe hampton pool cester minster dale port hurst gate".split()
SURNAMES = COMMON_SURNAMES + [
    start + end for end, start in product(SURNAME_ENDS, STARTS)
]
CITIES = (
    "london;birmingham;leeds;manchester;liverpool;sheffield;bristol;glasgow;leicester;edinburgh;newcastle upon tyne;"
    "cardiff;coventry;bradford;nottingham;kingston upon hull;stoke-on-trent;wolverhampton;plymouth;derby;southampton;"
    "swansea;belfast;aberdeen;portsmouth;york;peterborough;dundee;oxford;brighton;norwich;luton;sunderland;bath;exeter;"
    "cambridge;gloucester;blackpool;bournemouth;middlesbrough;bolton;reading;preston;swindon;ipswich;huddersfield;"
    "st albans;milton keynes;king's lynn;stratford-upon-avon"
).split(";")
TOWNS = [start + end for end, start in product(TOWN_ENDS, STARTS)]
STREETS = "street road avenue lane close drive court place crescent gardens terrace way".split()
SHORT = {
    "street": "st", "road": "rd", "avenue": "ave", "lane": "ln", "drive": "dr", "court": "ct", "place": "pl",
    "crescent": "cres", "gardens": "gdns", "terrace": "ter", "company": "co", "limited": "ltd", "and": "&",
    "payment": "pymt", "account": "acct", "number": "no", "transfer": "trf", "invoice": "inv", "reference": "ref",
    "volume": "vol", "part": "pt", "saint": "st", "international": "intl", "department": "dept",
}  # fmt: skip
OCCUPATIONS = (
    "politician;writer;painter;clergyman;military officer;cricketer;lawyer;physician;actor;poet;engineer;botanist;"
    "architect;merchant;historian;photographer;sculptor;composer;naval officer;diplomat;explorer;mathematician;banker;"
    "journalist;geologist;footballer;bishop;astronomer;singer;judge;chemist;printer;engraver;publisher;surgeon"
).split(";")

ADJECTIVES = (
    "last dark little great black lost red secret blue white golden wild dead silent broken old long good lonely bad "
    "sweet strange big beautiful final cold midnight burning hidden crimson empty innocent deadly perfect american "
    "young happy green crazy forgotten dangerous mad blind crooked hollow bitter endless quiet distant savage fallen "
    "frozen electric velvet second stolen invisible sacred bright naked gentle royal iron silver wicked tender "
    "northern southern ancient modern scarlet hungry brave angry magic eternal private public foreign total"
).split()
NOUNS = (
    "man love night day house life girl world time death city heart king woman boy story dream game road river blood "
    "war moon fire star island sea mountain garden angel devil ghost shadow stranger mother father brother sister "
    "daughter son wife husband doctor soldier detective hunter killer thief prince queen knight witch dragon wolf dog "
    "cat horse bird snake tiger lion bear fox train ship car bus bridge tower castle church school hotel hospital "
    "prison bank station street door window mirror room letter book song dance music picture diary map key ring sword "
    "gun knife bullet bomb crown rose flower tree forest desert lake ocean storm rain snow wind thunder winter summer "
    "autumn spring morning evening sunday christmas holiday wedding funeral party dinner journey escape return "
    "revenge murder crime trial witness promise lie truth memory silence scream kiss tears smile eyes hands bones "
    "soul spirit paradise heaven hell kingdom empire army legion gang club family children people voice code signal "
    "machine robot alien planet space galaxy future past yesterday tomorrow hour minute end beginning edge line circle "
    "stone glass gold diamond money fortune treasure poison whiskey cigarette coffee bread sugar candy apple orange"
).split()
NUMBERS = "two three four five seven ten twelve hundred thousand".split()
VERBS = (
    "finds loses discovers meets follows fights saves hunts leaves joins betrays protects investigates escapes rescues "
    "remembers kills loves kidnaps avenges questions inherits travels returns struggles learns faces steals hides "
    "reveals"
).split()
FILM_GENRES = [
    *"Drama Comedy Thriller Action Romance Crime Horror Adventure Mystery Fantasy Family Animation".split(),
    *"Documentary Western War History Music Musical Sport Biography".split(),
    "Science Fiction",
]
OTHER_GENRES = {
    "Science Fiction": "Sci-Fi",
    "Musical": "Music",
    "Biography": "History",
    "Animation": "Cartoon",
}
EPISODES = (
    "Pilot;The Wedding;Homecoming;The Trial;Finale;The Visitor;Christmas Special;Blackout;Reunion;The Letter;Fallout;"
    "The Storm;Family Matters;The Hunt;Aftermath;The Choice;Ghosts;Judgment Day;The Party;Trust"
).split(";")

DISC_CATEGORIES = (
    "rock misc folk jazz classical blues newage reggae soundtrack country data".split()
)
DISC_GENRES = (
    "Rock;Pop;Folk;Jazz;Classical;Blues;Electronic;Hip-Hop;Soundtrack;Country;Metal;Punk;Indie;Alternative;Reggae;"
    "Schlager;Ambient;Techno;Trance;Soul"
).split(";")
COMPOSERS = "Bach;Mozart;Beethoven;Schubert;Brahms;Haydn;Vivaldi;Chopin;Dvorak;Tchaikovsky;Handel;Mahler".split(
    ";"
)
FORMS = "Symphony;Piano Concerto;String Quartet;Sonata;Violin Concerto;Mass;Suite;Trio".split(
    ";"
)
MOVEMENTS = (
    "Allegro;Adagio;Andante;Presto;Menuetto;Scherzo;Largo;Rondo;Allegretto;Finale;Vivace;"
    "Andante con moto"
).split(";")
SERIES = (
    "Bravo Hits;Now That's What I Call Music;Kuschelrock;The Best of the 80s;Greatest Hits;Club Sounds;Future Trance;"
    "Christmas Songs;Love Songs;The Dome;Cafe Lounge;Movie Themes;Rock Anthems;Summer Party"
).split(";")

BRANDS = (
    "Sony Panasonic Samsung Philips Canon Epson HP Lexmark Brother Belkin Logitech Netgear Linksys Sandisk Kingston "
    "Toshiba Garmin Nikon Olympus Kodak JVC Pioneer Kenwood Sharp Sanyo Targus Tripp-Lite StarTech Kensington Fellowes "
    "Vizio Polaroid Iogear Verizon Otterbox Griffin Duracell Energizer Maxell Memorex Seagate Buffalo Zagg Monster "
    "Bosch Whirlpool Braun Krups Cuisinart Dyson"
).split()
GOODS = {
    "ink cartridge": (
        "printers",
        ("black", "cyan", "magenta", "yellow", "tri-color", "photo black"),
    ),
    "toner cartridge": ("printers", ("black", "cyan", "magenta", "yellow")),
    "laser printer": ("printers", ("600 dpi", "1200 dpi", "2400 dpi")),
    "usb flash drive": ("storage", ("2gb", "4gb", "8gb", "16gb", "32gb", "64gb")),
    "memory card": ("storage", ("2gb", "4gb", "8gb", "16gb", "32gb")),
    "portable hard drive": ("storage", ("250gb", "320gb", "500gb", "750gb", "1tb")),
    "lcd monitor": ("monitors", ('19"', '20"', '22"', '24"', '27"')),
    "led hdtv": ("televisions", ('32"', '40"', '42"', '46"', '55"')),
    "digital camera": ("cameras", ("8 mp", "10 mp", "12 mp", "14 mp", "16 mp")),
    "camcorder": ("cameras", ("hd", "full hd", "4gb", "8gb")),
    "laptop case": ("bags", ('10"', '13"', '15.4"', '17"')),
    "phone case": ("phones", ("black", "white", "pink", "blue", "clear")),
    "headphones": ("audio", ("black", "white", "red", "blue")),
    "speaker system": ("audio", ("2.0", "2.1", "5.1")),
    "hdmi cable": ("cables", ("3 ft", "6 ft", "10 ft", "15 ft", "25 ft")),
    "network cable": ("cables", ("3 ft", "7 ft", "14 ft", "25 ft", "50 ft")),
    "wireless router": ("networking", ("n150", "n300", "n600", "ac1200")),
    "ethernet switch": ("networking", ("5-port", "8-port", "16-port", "24-port")),
    "screen protector": ("phones", ("2 pack", "3 pack", "6 pack")),
    "battery charger": ("power", ("aa", "aaa", "4-pack", "8-pack")),
}
SELLING = (
    "new;genuine;high-speed;refurbished;with remote;high yield;retail;professional;compact;series;ultra;slim;wireless;"
    "universal;premium;for mac and pc;portable;oem;bulk;energy star"
).split(";")
SHOPS = (
    "tesco;sainsburys;amazon;asda;shell;boots;argos;costa coffee;british gas;thames water;vodafone;sky digital;"
    "trainline;uber;netflix;paypal;waterstones;halfords;greggs;john lewis"
).split(";")
PAYMENTS = "payment;salary;rent;invoice;refund;card payment;standing order;transfer;direct debit;loan;fees".split(
    ";"
)

SYNONYMS = {
    "return": "give back", "returns": "gives", "create": "make", "method": "function", "given": "specified",
    "argument": "parameter", "arguments": "parameters", "object": "instance", "class": "type", "raise": "throw",
    "raised": "thrown", "used": "employed", "use": "employ", "called": "invoked", "call": "invoke", "string": "text",
    "value": "quantity", "values": "quantities", "list": "sequence", "default": "standard", "file": "document",
    "name": "label", "check": "test", "remove": "delete", "removes": "deletes", "set": "assign", "error": "failure",
    "get": "obtain", "number": "count", "must": "has to", "should": "ought to", "optional": "not required",
    "current": "present", "new": "fresh", "contains": "holds", "which": "that", "when": "if", "all": "every",
    "directory": "folder", "convert": "turn", "read": "load", "write": "store", "start": "begin", "end": "finish",
}  # fmt: skip
