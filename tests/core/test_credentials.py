"""Keys, tokens and passwords are found; what merely looks like one is left alone.

The examples are put together here, so that nobody who looks for leaked keys finds this file.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from time import thread_time

import pytest

from memory_sidecar.core import credentials
from memory_sidecar.core.credential_candidates import _RUN, _runs
from memory_sidecar.core.credentials import (
    count_masks,
    find_credentials,
    first_words,
    mask_credentials,
    mask_document,
    may_be_cut,
    refuse_credentials,
)
from memory_sidecar.core.errors import SecretRefused
from tests.judged_credentials import FORMS, HARMLESS, filled

RANDOM = "k3J9xQ2mZ7vB1nL5pR8tW4yC6dF0gH"
HEX = "a8f5f167f44f4964e6c998dee827110c"
BASE64_LINE = "MIIEowIBAAKCAQEA0123456789abcdefghijklmnopqrstuvwxyz0123456789AB"

KEYS = [
    "AKIA" + "QZ7XPLN3VTRWMK5D",
    "ghp_" + "x7" * 18,
    "github_pat_" + "Ab1_" * 16,
    "glpat-" + RANDOM,
    "xoxb-" + "1234567890-" + RANDOM,
    "sk-" + "ant-api03-" + RANDOM,
    "sk_live_" + RANDOM,
    "AIza" + "Sy" + RANDOM + "abc",
    "npm_" + "a1B2c3" * 6,
    "hf_" + RANDOM + "abcd",
    "SG." + "a" * 22 + "." + "b" * 43,
    "eyJhbGciOiJIUzI" + ".eyJzdWIiOiIxMjM0NTY3." + RANDOM,
]

GIVEN = [
    ('password = "{}"', "Tr0ub4dor&3xyz"),
    ("AWS_SECRET_ACCESS_KEY={}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz99aaQQ"),
    ('{{"api_key": "{}"}}', HEX),
    ("client-secret: {}", RANDOM),
    ("Authorization: Bearer {}", RANDOM),
    ("postgres://shop:{}@db.example/orders", "s3cr3tPw"),
    (r"{{\"password\": \"{}\"}}", "Tr0ub4dor&3xyz"),
    (r'"API_KEY={}\nDEBUG=true\n"', HEX),
    ("api_key: |\n  {}\n", HEX),
    ("password: >-\n        {}\n", "Tr0ub4dor&3xyz"),
    ("password: !!str {}", "Tr0ub4dor&3xyz"),
    ("client_secret:              {}", RANDOM),
    ('api_key: str = "{}"', HEX),
    ('const apiKey: string = "{}"', HEX),
    ('let api_key: &str = "{}";', HEX),
    ("<password>{}</password>", "Tr0ub4dor&3xyz"),
    ('<add key="ApiKey" value="{}"/>', HEX),
    ('setProperty("password", "{}")', "Tr0ub4dor&3xyz"),
    ('#define API_KEY "{}"', HEX),
    ("sync --password {} --all", "Tr0ub4dor&3xyz"),
    ("sync --api-key {}", HEX),
    ("The password is {}", "Tr0ub4dor&3xyz"),
    ("| password | {} |", "Tr0ub4dor&3xyz"),
    ("**Password:** {}", "Tr0ub4dor&3xyz"),
    ("password\uff1a{}", "Tr0ub4dor&3xyz"),
    ('user.set_password("{}")', "Tr0ub4dor&3xyz"),
    ("client.setApiKey(\n    '{}'\n)", HEX),
    ("mysql -u root -p{} shop", "Tr0ub4dor"),
    ("password = '{}'", "Hunter2Hunter2x"),
    ('DbPassword: "{}",', "Winter2024Rome"),
    ('{{"pwd":"{}"}}', "Winter2024Rome"),
    ("passphrase := `{}`", "Winter2024Rome"),
    ("DB_PASSWORD={}", "Winter2024Rome"),
    ('mysqldump -h db -p"{}" shop > a.sql', "Tr0ub4dor&3xyz"),
    ("docker login -u shop -p {} r.shop.io", "Tr0ub4dor&3xyz"),
    ("CREATE USER shop IDENTIFIED BY '{}';", "Winter2024Rome"),
    ("requirepass {}", "Winter2024Rome"),
    ("ENV API_KEY {}", HEX),
    ("setx API_SECRET {}", RANDOM),
]

LEFT_ALONE = [
    "max_tokens = 6000",
    "password = get_password(user)",
    "token = config.tokens.first2",
    "PASSWORD=${DB_PASSWORD}",
    'api_key = "your-api-key-1234567890"',
    "the token bucket: 12 requests a second",
    "https://user:password@example.com",
    '"tokenizer_config.json": "' + HEX * 2 + '"',
    "private_key = Ed25519PrivateKey.from_private_bytes(data)",
    "privKey := ed25519.NewKeyFromSeed(seed)",
    'Include="Newtonsoft.Json, Version=9.0.0.0, PublicKeyToken=30ad4fe6b2a6aeed"',
    "public_key_token: b03f5f7f11d50a3a",
    'if line.startswith("-----BEGIN PRIVATE KEY-----"): return parse(line)',
    "sha256 = " + HEX * 2,
    "password: Argon2Hash\npasswordHash = 'Argon2Hash'\nsign_in(password=Base64Utf8, more)",
    "lookup('password', 'Form2Field'); pwd = Form2Field; passphrase = f'{Form2Field}'",
    ".sk-folding-cube-of-many-words { }",
    "/src/secret/Token1/PasswordReset2.cs",
    "write-a-changes-md-entry-for-user-visible-changes-v2",
    "why-pypi-publishing-is-set-up-in-actions-and-needs-no-token-of-any-kind-at-all",
    "if token is Name.Variable: pass",
    "pass `verbosity=1` to tell more",
    "def of(self, token: moto.Token):\n\n        Returns: one",
    "get-object --key my-dir/big-video-file-2.mp4",
    "--auth-context Message='$text2'",
    "GraphqlAPIKey | EventsAPIKey2: x",
    "live_query_orders_2026_by_id_4_eu_west_1_a1b2",
    "finalKey = '__Secure-' + key",
    '"/properties/ApiKey",\n  "/properties/Arn2"',
]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[:6])
def test_known_form_is_found_anywhere(key):
    text = f"it is\n  {key}, says he"
    assert [text[found.start : found.end] for found in find_credentials(text)] == [key]


@pytest.mark.parametrize(
    "escape",
    [r"\n", r"\r\n", r"\t", r"\u003d", r"\x3d", "%3D", "%20", "\x1b[31m", "\x1b[0;1m"],
)
def test_known_form_is_found_behind_an_escape(escape):
    for key in KEYS:
        assert key not in mask_credentials(f'"it{escape}{key}{escape}"')


@pytest.mark.parametrize(("form", "value"), GIVEN)
def test_value_of_something_called_a_secret_is_found(form, value):
    text = form.format(value)
    assert [text[found.start : found.end] for found in find_credentials(text)] == [value]


def test_a_letter_that_two_are_the_lower_case_of_hides_no_value():
    masked = mask_credentials("\u0130stanbul, password: h7Gq2LxV9pRt")
    assert masked == "\u0130stanbul, password: «masked: value of a secret»"


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_names_placeholders_and_prose_are_left_alone(text):
    assert mask_credentials(text) is text


def test_private_key_is_masked_whole_and_lines_keep_their_numbers():
    key = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *[BASE64_LINE] * 3, "-----END RSA", ""])
    text = "first\n" + key.replace("RSA\n", "RSA PRIVATE KEY-----\n") + "last\n"
    masked = mask_credentials(text)
    assert count_masks(masked) == 1
    assert BASE64_LINE not in masked
    assert masked.split("\n").index("last") == text.split("\n").index("last")


@pytest.mark.parametrize("end", ["\n", " ", "\r\n"])
def test_private_key_is_masked_behind_what_is_said_of_it(end):
    said = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,9F", *([""] if end != " " else [])]
    said += ["Comment: of my laptop"] if end == "\n" else []
    text = end.join(["-----BEGIN RSA PRIVATE KEY-----", *said, *[BASE64_LINE] * 3, "last"])
    assert BASE64_LINE not in mask_credentials(text)


@pytest.mark.parametrize("lead", ["> ", "# ", " * ", "{}\t", "{}→", "{}: ", "{} | "])
def test_private_key_is_masked_whole_where_each_line_is_quoted_or_numbered(lead):
    lines = ["-----BEGIN PRIVATE KEY-----", *[BASE64_LINE] * 6]
    text = "\n".join(lead.format(f"{at:6}") + line for at, line in enumerate(lines, 8))
    assert BASE64_LINE not in mask_credentials(text)
    assert may_be_cut("\n".join(text.split("\n")[3:5]))


@pytest.mark.parametrize("line", ["=" * 20, "# " + "-" * 40, "_" * 16])
def test_line_under_a_title_is_no_line_of_a_key(line):
    assert not may_be_cut(f"{line}\nInstalling\n{line}")


def test_nearly_every_form_that_issuers_document_is_found():
    assert len(FORMS) >= 77
    texts = [f"it is {filled(form, random.Random(form))} there" for form in FORMS]
    missed = [text for text in texts if not find_credentials(text)]
    assert len(missed) <= len(FORMS) * 3 // 77, missed


def test_nearly_nothing_that_merely_looks_like_one_is_found():
    assert len(HARMLESS) >= 100
    texts = [filled(text, random.Random(text)) for text in HARMLESS]
    alarms = [text for text in texts if find_credentials(text)]
    assert len(alarms) <= 1, alarms


@dataclass(frozen=True)
class Note:
    content: str
    evidence: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (f"one\ntwo {KEYS[1]}", "the text, line 2"),
        (Note("one", ("two", KEYS[1])), "evidence[1]"),
        ({"messages": [{"content": "one"}, {"content": KEYS[1]}]}, "messages[1].content"),
        ({"metadata": {"tags": {KEYS[1]: 1}}}, "metadata.tags"),
    ],
)
def test_refusal_names_the_field_and_the_kind_and_not_the_secret(document, field):
    with pytest.raises(SecretRefused) as refused:
        refuse_credentials(document)
    assert refused.value.message.startswith(field)
    assert "GitHub token" in refused.value.message
    assert KEYS[1] not in refused.value.message + refused.value.hint


def test_what_a_property_is_called_tells_of_its_value():
    secret = {"rows": [{"api_key": HEX, "checksum": HEX, "count": 3}]}
    with pytest.raises(SecretRefused, match="api_key"):
        refuse_credentials(secret)
    assert mask_document(secret) == {
        "rows": [{"api_key": "«masked: value of a secret»", "checksum": HEX, "count": 3}]
    }


def test_a_document_without_a_secret_stays_the_one_that_it_is():
    document = {"memories": [{"content": "a password is asked for", "tags": ["auth"]}]}
    assert mask_document(document) is document


def test_one_secret_among_many_objects_has_only_its_own_object_searched_text_by_text(monkeypatch):
    hits = [Note(f"total = price_{n}", (f"shop/{n}.py", "cart")) for n in range(100)]
    searched = []
    find = credentials.find_credentials

    def counted(text: str, *, name: str = ""):
        searched.append(text)
        return find(text, name=name)

    monkeypatch.setattr(credentials, "find_credentials", counted)
    hits[7] = replace(hits[7], content=f"key = '{KEYS[1]}'")
    shown = mask_document(hits)
    assert shown[7].content == "key = '«masked: GitHub token»'"
    assert shown[:7] + shown[8:] == hits[:7] + hits[8:]
    assert len(searched) <= 2 + 2 * 100 + 3


def test_long_text_without_line_breaks_is_read_in_time_that_grows_with_it():
    begins = "-----BEGIN PRIVATE KEY-----"
    for text in (
        *("token=" * 100_000, "://" * 200_000, begins * 20_000, "glft-" * 30_000, "sk-" * 40_000),
        *("sntrys_" * 20_000, "eyJ-" * 10_000, "ZXlK/" * 10_000, f"{begins}\nA: {begins}" * 3_000),
        *(f"{begins}\n{header * 2_000}!" for header in ("a: ", "a:  ", "a: b \n")),
    ):
        # Quadratic, let alone exponential, this would not end within the time of a test.
        assert all(0 <= each.start < each.end <= len(text) for each in find_credentials(text))


def test_a_form_that_goes_on_behind_its_run_is_found():
    one, other = "0a1b2c3d-4e5f-6a7b-8c9d-0e1f2a3b4c5d", "9f8e7d6c-5b4a-3f2e-1d0c-b9a8f7e6d5c4"
    behind = f"/IncomingWebhook/{'0a1b2c3d' * 4}/{other}"
    text = f"to https://shop.webhook.office.com/webhookb2/{one}@{other}{behind} by post"
    assert "Teams webhook" in [each.kind for each in find_credentials(text)]


def test_what_may_hold_a_key_is_found_as_the_expression_finds_it():
    made = random.Random(1)
    for _ in range(300):
        text = "".join(made.choice("aZ9_-/=\n é語\ud83d?") * made.randint(1, 20) for _ in range(20))
        assert list(_runs(text)) == [(run.start(), run[0]) for run in _RUN.finditer(text)]


def test_masks_are_counted_and_code_that_makes_them_is_none():
    shown = mask_document({"one": KEYS[0], "two": [KEYS[1], "nothing"]})
    assert count_masks(shown) == 2
    memory = {"title": "key «masked: AWS key» of …", "content": "key «masked: AWS key» of the shop"}
    assert count_masks([memory, {"content": "«masked: AWS key»"}]) == 2
    assert count_masks({"code": '_MASK = "«masked: "\nreturn f"{_MASK}{kind}»"'}) == 0
    many = [{"content": f"key {number} «masked: AWS key»"} for number in range(100_000)]
    assert count_masks(many) == len(many)  # compared with each other, they take 13 minutes


SPACELESS = "\u628a\u4f1a\u8bdd\u7684\u4ee4\u724c\u5b58\u5230" * 20  # as Chinese is written


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("one two", "one two"),
        ("seven words that go on and on", "seven words that go …"),
        ("twenty letters in it: and more", "twenty letters in …"),
        (SPACELESS, f"{SPACELESS[:20]} …"),
        (f"Use {SPACELESS}", f"Use {SPACELESS[:16]} …"),
        (f"{SPACELESS[:16]}token_and_more", f"{SPACELESS[:16]} …"),
        ("x" * 40, f"{'x' * 20} …"),
    ],
)
def test_a_text_is_cut_to_its_first_words(text, cut):
    assert first_words(text, 20) == cut


@pytest.mark.parametrize("before", ["", SPACELESS, f"Use {'x' * 150}?token="])
def test_no_half_of_a_secret_is_left_where_a_text_is_cut(before):
    key = "ghp_" + RANDOM + "a1b2c3"
    for most in range(max(20, len(before) - 5), len(before) + len(key)):
        shown = mask_credentials(first_words(f"{before}{key}", most))
        assert key[:7] not in shown


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Password:", "token:abc"),
        (f"password:{' ' * 56},", f"password:{' ' * 4},{' ' * 52}"),
        ("eyJ-", "eyJ="),
        ("ZXlK/", "ZXlK="),
        ("PuTTY-User-Key-File-2:", "PuTTY-User-Key-File:2 "),
    ],
)
def test_a_text_made_of_what_secrets_begin_with_takes_little_longer_than_others(text, other):
    def seconds(part: str) -> float:
        began = thread_time()
        find_credentials(part * (110_000 // len(part)))
        return thread_time() - began

    slow = min(seconds(text) for _ in range(3))
    assert slow < 5 * min(seconds(other) for _ in range(3))  # they took six to fifty times
