"""Tells in which language a question is that is not in English, and what of it to search for.

The model was made for English: to it, a question in German is near to all that is in German. And
the memories that it asks for often share no more with it than a name or an identifier, beside which
its function words and all its words that no row holds weighed as much.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from memory_sidecar.index.keyword import Keywords, stems_of
from memory_sidecar.index.vectors import EmbedQuery, Vector
from memory_sidecar.index.words import STOPWORDS, folded

TAKEN = 0.3  # share of a question's part in the direction of its language that is taken away

_ENGLISH_TOO = frozenset(
    "ale alle als att aux bis che chi com come comment con dal dans dar das dat dei del den"
    " der des det die dit door dos dove era est far fra fur gli han har hat hay hoe jest kan"
    " las les los lui mag man mas med men mer mere mes met mit mon nad nas non nos over par"
    " para pas per pero pod por pour qual sans sem ser ses sin son sur sus tak ten til till"
    " toen una under uno vad van var vid von vor want war wat wer worden".split()
)
"""Words below that English, code or names have as well: no sign of a language."""

_WORDS = {
    "German": "als am an auf aus bei beim bis das dass dem den der des die diese diesem diesen"
    " dieser dieses durch ein eine einem einen einer eines er es für gegen habe haben hat ich"
    " ihr ihre im in ist kann kein keine können man mein mit muss müssen nach nicht noch nur ob"
    " oder sein sich sie sind so soll sollen um und uns unser unsere unserem unseren von vor"
    " wann war waren warum was welche welchem welchen welcher welches wenn wer werden wie wieso"
    " wir wird wo wofür wurde wurden über zu zum zur darf dürfen hier mehr denn dafür damit",
    "French": "a à au aux avec c ce ces cette comment combien d dans de des doit du elle en est"
    " et fait faut il ils j je l la le les leur lui ma mais mes mon n ne nos notre nous on ont"
    " ou où par pas peut pour pourquoi qu quand que quel quelle quelles quels qui s sa sans se"
    " ses son sont sur un une vos votre vous été être depuis",
    "Spanish": "a al como cómo con cual cuál cuáles cuando cuándo cuánto cuántos de del desde"
    " donde dónde el ella en es esta está este esto fue ha hay la las le lo los más me mi no nos"
    " nuestra nuestro o para pero por porque puedo que qué quién quien se ser si sin sobre son"
    " su sus un una y ya",
    "Italian": "a abbiamo ai al alla anche c che chi ci come con cosa cui d da dai dal dalla dei"
    " del della delle di dobbiamo dove e è ed gli ha ho i il in io l la le lo ma mi nei nel"
    " nella non o per perché più posso può quale quali quando quanti quanto se si sono su sul"
    " sulla un una uno",
    "Portuguese": "a à ao aos as às com como da das de do dos e é em era esta está foi há isso"
    " mais mas me na não nas no nos nossa nosso o onde os ou para pela pelo podemos por porque"
    " posso qual quais quando quantos que quem se sem ser sua seu são também um uma você",
    "Dutch": "aan als bij dat de deze die dit door een en er gebruiken geen had heb hebben heeft"
    " het hoe hoeveel ik in is kan kunnen maar mag met mijn moet moeten naar niet nog of om onze"
    " ons ook op over te toen tot uit van voor waar waarom wanneer want waren was wat we welk"
    " welke werd wie wij worden wordt ze zijn zonder zou",
    "Swedish": "alla att av blev blir de den det där efter ett eller en från för får hade han har"
    " hur i inte jag kan man med men mer nu när någon och om på ska skall som så till under upp"
    " ut var varför vad vem vi vid vilka vilken vilket vår våra är",
    "Danish and Norwegian": "af alle at av blev blir bliver de den der det eller en er et etter"
    " efter for fra få får ha har hva hvad hvem hvilke hvilken hvilket hvor hvordan hvorfor i"
    " ikke jeg kan man med mere må når og også om på som skal til ut vi vores vår være",
    "Polish": "a ale bez był być co czy czemu dla dlaczego do gdzie i ile jak jaka jaki jakie"
    " jest już kiedy kto które który którzy ma mamy mogę można my na nad nasz nasze nie o od"
    " oraz po pod przed przez przy są się ta tak tego ten to u w we z za że",
}


@dataclass(frozen=True, slots=True)
class Tongue:
    """A language other than English, by the words that sentences in it are built with."""

    function_words: frozenset[str]  # folded
    text: str  # these words as one text: to the model, the language without a subject


def _tongues() -> Iterator[Tongue]:
    for words in _WORDS.values():
        # In the alphabet's order, so that the text is no sentence.
        ordered = sorted(set(folded(words).split()))
        yield Tongue(frozenset(ordered), " ".join(ordered))


_SPOKEN = re.compile(r"(?<![\w./-])[^\W\d_]{3,}(?![\w./-]\w|_)")  # no part of an identifier
_TONGUES = tuple(_tongues())
_SIGNS = tuple(each.function_words - _ENGLISH_TOO - STOPWORDS for each in _TONGUES)


@lru_cache(maxsize=64)
def tongue_of(question: str) -> Tongue | None:
    """Return the language of `question` if its function words show one; `None` for English."""
    words = [word.lower() for word in _SPOKEN.findall(folded(question))]
    signs = [sum(word in each for word in words) for each in _SIGNS]
    best = max(signs)
    return _TONGUES[signs.index(best)] if best > sum(w in STOPWORDS for w in words) else None


def content_of(keywords: Keywords, question: str) -> Keywords:
    """Return the `keywords` of `question` that tell what it asks for; all if it is in English.

    Function words, and words that no row holds, do not. Where all are function words they stay.
    """
    tongue = tongue_of(question)
    content = [word for word in keywords.rows if tongue and word not in tongue.function_words]
    if not content:
        return keywords
    kept = {word: rows for word in content if (rows := keywords.rows[word])}
    stems = {stem for word in kept for stem in stems_of(word)[:1]}
    return replace(
        keywords,
        terms=tuple(t for t in keywords.terms if t in kept or t not in keywords.rows),
        idf={stem: idf for stem, idf in keywords.idf.items() if stem in stems},
        rows=kept,
    )


def embed_subject(embed_query: EmbedQuery, question: str) -> Vector:
    """Embed `question` nearer to what it asks than to its language, if it is not in English."""
    vector = embed_query(question)
    if tongue := tongue_of(question):
        language = embed_query(tongue.text)
        vector = vector - np.float32(TAKEN * (vector @ language)) * language
        vector = vector / np.float32(np.linalg.norm(vector))
    return vector
