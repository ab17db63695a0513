"""The commonest words of languages: left out of scoring, and the marks by which a language is known.

Lists are short on purpose: a word that is missing costs a little time, a word too many can no longer be searched for.
"""

from __future__ import annotations

_LISTS = {
    "en": """a about above after again all also am an and any are as at be because been before being below between
        both but by can could did do does doing down during each few for from further had has have having he her
        here hers him himself his how i if in into is it its itself just me more most my no nor not now of off
        on once only or other our out over own same she should so some such than that the their theirs them then
        there these they this those through to too under until up us very was we were what when where which
        while who whom why will with would you your""",
    "de": """der die das und in zu den von mit sich des auf für ist im dem nicht ein eine als auch es an werden aus
        er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber
        vor zur bis mehr durch man sein wurde wenn können ihre kann ich wir diese dieser dies keine unter""",
    "fr": """le la les de des du et à un une en que qui dans pour pas sur est au aux avec par ce il elle ne se sont
        plus son sa ses ou mais nous vous ils cette ces leur être avoir été comme fait peut si tout dont on
        était même ainsi aussi entre sans je votre vos notre""",
    "es": """el la los las de del y a en que un una por con no para es se su al lo como más pero sus le ha o este
        esta si porque entre cuando muy sin sobre también me hasta hay donde quien desde todo nos durante son
        está puede ser fue eso estos estas""",
    "it": """il lo la i gli le di del della dei delle e a in che un una per con non è si da al alla sono come più ma
        anche su nel nella ha o se questo questa dal dalla essere può cui loro tra quando sua suo ed ai alle
        degli""",
    "pt": """o a os as de do da dos das e em um uma que para com não é por no na se mais como ao aos mas foi ou seu
        sua são pelo pela também quando muito já nos está você isso este esta entre ser pode depois sem mesmo
        até""",
    "ca": """el la els les de del dels i a en que un una per amb no és es al com més però seu seva o aquest aquesta
        si quan molt sense sobre també fins hi ha on des tot són pot ser va aquests aquestes això perquè nos""",
    "nl": """de het een en van in is dat op te voor met zijn die niet aan er als ook om bij dan worden naar uit door
        over wordt kan maar nog deze zo of we je u hebben heeft meer wat moet dit geen kunnen""",
    "sv": """och i att det som en på är av för med den till inte har de ett om var men sig så från kan när eller vi
        man ska då nu du också efter alla mer dessa denna detta vid över hur andra""",
    "no": """og i det er på som en å for med av til at ikke har de den et om var men seg så fra kan når eller vi man
        skal da du også etter alle mer disse denne dette ved hvor bare noe være""",
    "da": """og i det er på som en at for med af til ikke har de den et om var men sig så fra kan når eller vi man
        skal da du også efter alle mere disse denne dette ved hvor kun noget være blive""",
    "fi": """ja on ei se että oli hän ovat mutta joka myös kun niin voi ole tai kuin sen mitä jos vain ollut sekä
        tämä olla vielä nyt jotka kanssa mukaan jälkeen ne""",
    "hu": """a az és hogy nem is egy ez meg van csak de mint már még ha volt azt vagy el lehet ezt minden kell ki
        után amely mert nagyon által""",
    "ro": """și de în a la cu că nu pe se este o un din pentru sunt mai ca să care au fost sau prin după dar dacă
        între aceste acest această fi poate""",
    "tr": """ve bir bu için ile de da olarak gibi daha çok en ne olan var ancak veya her sonra kadar değil ise ama
        olduğu tarafından üzerinde""",
    "pl": """i w na z się że do nie to jest o jak po od za przez dla ale są tak co lub może tym oraz być które który
        jego ich przed""",
    "cs": """a v se na je že s z do o i to k ve pro za by ale si po jako od jsou nebo jeho může být když tak které
        který pouze""",
    "id": """yang dan di untuk dengan dari pada ini itu dalam tidak adalah akan ke atau juga anda oleh dapat bisa
        sebagai lebih sudah ada""",
    "vi": """và của là các có được trong cho không một với để những này khi người từ đã như bạn trên""",
    "hr": """i u je na se da za su od s kao koji ne ili biti može ali što kako nije će iz bi""",
    "ru": """и в не на что я с он как это по но из за у от же для так то все или его если может при также бы до мы вы
        они было быть которые только после через""",
    "uk": """і в не на що з та як це до але за у від для так то все або його якщо може при також ви вони було бути
        які тільки після через є цей""",
    "bg": """и в не на че с като това по но от за у се да са ще или може при също до ние вие те само след през е този
        което""",
    "el": """και το να του η της με που για από τα τον την στο στη οι ο είναι σε δεν θα τους των μια ένα ως ή αν αυτό
        μπορεί στην στον""",
    "ar": """في من على إلى أن هذا هذه التي الذي عن ما لا مع كان أو كل هو هي بعد قد ذلك بين إذا يمكن""",
    "fa": """و در به از که این را با است برای آن یک تا می شود بر خود ها هم شما کنید""",
    "ta": """ஒரு என்று மற்றும் இந்த இது என்ற கொண்டு என்பது பல உள்ளது""",
    "hi": """के में है की और से को का एक यह पर कि इस नहीं हैं लिए भी कर था""",
}  # fmt: skip

STOP_WORDS: dict[str, frozenset[str]] = {language: frozenset(words.split()) for language, words in _LISTS.items()}
