"""Finds what looks like a key, a token or a password, so that it is neither stored nor shown. Pure.

Known forms are found anywhere; anything else only where it is assigned to something called a
password, a token or the like, and looks random. Prose and placeholders are left alone. The forms
are those that their issuers document, as gitleaks and GitHub's secret scanning collect them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import log2

from memory_sidecar.errors import SecretRefused


@dataclass(frozen=True, slots=True)
class Credential:
    """Where one stands in a text, and what it seems to be."""

    kind: str
    start: int
    end: int


def find_credentials(text: str) -> list[Credential]:
    """Every one in `text`, in order; they do not overlap."""
    found = sorted(_candidates(text), key=lambda each: (each.start, -each.end))
    apart: list[Credential] = []
    for each in found:
        if not apart or each.start >= apart[-1].end:
            apart.append(each)
    return apart


def mask_credentials(text: str) -> tuple[str, int]:
    """`text` with every credential masked, and how many there were. Lines keep their numbers."""
    found = find_credentials(text)
    parts, at = [], 0
    for each in found:
        breaks = "\n" * text.count("\n", each.start, each.end)
        parts += [text[at : each.start], f"«masked: {each.kind}»", breaks]
        at = each.end
    return "".join([*parts, text[at:]]), len(found)


def refuse_credentials(*texts: str) -> None:
    """Raises SecretRefused, which does not repeat what it found."""
    for text in texts:
        if found := find_credentials(text):
            line = text.count("\n", 0, found[0].start) + 1
            raise SecretRefused(
                f"line {line} seems to hold a secret ({found[0].kind}), so nothing was stored",
                hint="leave it out, or store it on purpose with --allow-secrets",
            )


# Each begins with one of its marks. To look for those costs next to nothing.
_FORMS: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (kind, tuple(marks.split()), re.compile(pattern))
    for kind, marks, pattern in (
        (
            "private key",
            "-----BEGIN",
            r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[rn]|[\"',+])*"
            r"(?:[A-Za-z-]+: [^\n]*\s+)*"
            r"(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[rn]|[\"',+])*)+"
            r"(?:[A-Za-z0-9+/=]+\s*)?(?:-----END [A-Z0-9 ]{0,40}-----)?",
        ),
        ("age key", "AGE-SECRET-KEY-1", r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
        ("AWS key", "AKIA ASIA", r"\bA[KS]IA[A-Z2-7]{16}\b(?<!EXAMPLE)"),
        ("GitHub token", "gh", r"\bgh[pousr]_[A-Za-z0-9]{36,251}\b"),
        ("GitHub token", "github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{60,250}\b"),
        ("GitLab token", "glpat-", r"\bglpat-[A-Za-z0-9_-]{20,64}"),
        ("Slack token", "xox", r"\bxox[abeprs]-[A-Za-z0-9-]{10,250}"),
        (
            "Slack webhook",
            "hooks.slack.com",
            r"hooks\.slack\.com/services/T[A-Za-z0-9]+/B[A-Za-z0-9]+/[A-Za-z0-9]{16,}",
        ),
        ("API key", "sk-", r"\bsk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,250}"),
        (
            "Stripe key",
            "sk_live_ sk_test_ rk_live_ rk_test_",
            r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,250}\b",
        ),
        ("Google key", "AIza", r"\bAIza[A-Za-z0-9_-]{35}"),
        ("Google secret", "GOCSPX-", r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
        ("npm token", "npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
        ("PyPI token", "pypi-", r"\bpypi-[A-Za-z0-9_-]{60,}"),
        ("Hugging Face token", "hf_", r"\bhf_[A-Za-z0-9]{34}\b"),
        ("DigitalOcean token", "dop_v1_ doo_v1_", r"\bdo[op]_v1_[a-f0-9]{64}\b"),
        ("SendGrid key", "SG.", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
        ("Telegram token", ":AA", r"(?<=[0-9]{8}):AA[A-Za-z0-9_-]{33}"),
        ("Shopify token", "shp", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
        ("Databricks token", "dapi", r"\bdapi[a-f0-9]{32}\b"),
        ("Azure key", "Key=", r"(?:(?<=Account)|(?<=Access))Key=[A-Za-z0-9+/]{40,}={0,2}"),
        (
            "JSON Web Token",
            "eyJ",
            r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        ),
    )
)

_NAMES = tuple(
    "secret token passw pwd api_key api-key apikey access_key accesskey private_key privatekey"
    " authorization credential".split()
)
_ASSIGNED = re.compile(
    r"[\w-]{0,24}[\"'\])]{0,2}\s{0,4}(?:=>|:=|[:=])\s{0,4}(?:[\"'](?:Bearer |Basic |token )?|"
    r"(?:Bearer |Basic |token ))?([^\s\"'`,;<>(){}\[\]]{8,200})",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?=[^\s\"']*[0-9])(?=[^\s\"']*[A-Z])[A-Za-z0-9+/=_~.-]{16,}")
_IN_URL = re.compile(r"[^\s:/@\"'<>]{0,64}:([^\s/@\"'<>]{3,128})@[\w\[]")

_PLACEHOLDER = re.compile(
    r"\$|\{|%|\*\*|\.\.\.|…|xxx|example|sample|placeholder|change.?me|your|dummy|fake|test|secret|"
    r"^pass$|passw|^pwd$|^repo$|token|redacted|masked|not.?a|foo|hunter|://|^env[.:]|^process\.",
    re.IGNORECASE,
)
_ALTERNATING = re.compile(r"[0-9]+[A-Za-z]+")
_CODE = re.compile(r"[A-Za-z_][\w]*(?:[.:/-]+[A-Za-z_]\w*)*(?:\(.*)?")  # a name, a path, a call


def _candidates(text: str) -> Iterator[Credential]:
    yield from _known_forms(text)
    for at in _places(text, "://"):
        match = _IN_URL.match(text, at)
        if match and not _PLACEHOLDER.search(match[1]):
            yield Credential("password in a URL", *match.span(1))
    lower = text.lower()
    if len(lower) == len(text):  # else places in the one are not those in the other
        yield from _given_values(text, lower)


def _known_forms(text: str) -> Iterator[Credential]:
    for kind, marks, pattern in _FORMS:
        for mark in marks:
            for at in _places(text, mark):
                if match := pattern.match(text, at - len(mark)):
                    yield Credential(kind, *match.span())


def _given_values(text: str, lower: str) -> Iterator[Credential]:
    """What `text` gives as somebody's password or token, whatever its form."""
    for scheme in ("bearer ", "basic "):
        for at in _places(lower, scheme):
            match = _BEARER.match(text, at)
            if match and not _PLACEHOLDER.search(match[0]):
                yield Credential("token", *match.span())
    for name in _NAMES:
        for at in _places(lower, name):
            match = _ASSIGNED.match(text, at)
            if match and _looks_random(match[1]):
                yield Credential("value of a secret", *match.span(1))


def _places(text: str, mark: str) -> Iterator[int]:
    """Where `mark` ends, for every time that it occurs."""
    at = text.find(mark)
    while at >= 0:
        at += len(mark)
        yield at
        at = text.find(mark, at)


def _looks_random(value: str) -> bool:
    """Whether nobody would choose `value` as a name: by its kinds of characters and its entropy."""
    if _PLACEHOLDER.search(value):
        return False
    kinds = [
        any(map(str.islower, value)),
        any(map(str.isupper, value)),
        any(map(str.isdigit, value)),
        not value.isalnum(),
    ]
    is_name = _CODE.fullmatch(value) is not None
    if len(value) < 16 or not kinds[2]:
        return sum(kinds) >= 3 and not is_name
    shares = [count / len(value) for count in Counter(value).values()]
    entropy_bits = -sum(share * log2(share) for share in shares)
    if is_name and len(_ALTERNATING.findall(value)) < 3:
        return entropy_bits > 4.3 and all(kinds[:3]) and "." not in value and "_" not in value
    return entropy_bits > 3.0
