"""Forms of keys and tokens, and texts that merely look like some: what `credentials` is judged by.

Of a form only the fixed parts stand here: `{A36}` are 36 random letters and digits, so nobody who
looks for leaked keys finds this file. Other letters: B base64, D digits, H hex, L lower case, U
upper case, W words of base64 for URLs, G a UUID.
"""

from __future__ import annotations

import random
import re
import string
import uuid

ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "B": string.ascii_letters + string.digits + "+/",
    "D": string.digits,
    "H": "0123456789abcdef",
    "L": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + "234567",
    "W": string.ascii_letters + string.digits + "_-",
}

FORMS = r"""
AKIA{U16}
ASIA{U16}
aws_secret_access_key = {B40}
ABSK{B110}
amzn.mws.{G0}
AWS_SESSION_TOKEN=IQoJb3JpZ2lu{B300}
ghp_{A36}
gho_{A36}
ghu_{A36}
ghs_{A36}
ghr_{A36}
github_pat_{A22}_{A59}
glpat-{W20}
glpat-{W27}.01.{L9}
gldt-{W20}
glrt-{W20}
glrtr-{W20}
tr_prod_{A20}
signkey-prod-{H64}
perm-{B20}=.{B4}=.{A30}
kpat_{A45}
sktsec_{W60}
service:my-graph:{W22}
user:gh.ann:{W22}
prod:happy-cat-123|eyJ2{B60}
polar_oat_{A43}
sk_org_live_{A60}
sk_car_{A40}
fc-{H32}
e2b_{H40}
ak-{A22}
bb_live_{W27}
m0-{A40}
rpa_{U46}
cpk_{H32}.{H32}.{A32}
flp_{A46}
ctx7sk-{G0}
apk_user_{B60}
cog_{L50}
sgamp_user_{U26}_{H64}
wk-1.{H64}
tid={H32};exp=1762000000;sku=copilot_for_business;8kp=1:{H64}
{H32}.{A16}
{H32}.{A24}
{G0}:{H32}
{G0}:fx
pat_{A64}
n8n_api_{H80}
secret_prod_{H32}.{A32}
mlsn.{H64}
os_v2_app_{L103}
plainApiKey_{A60}
sec-c-{B48}
rootly_{H64}
aio_{A28}
EAAA{W60}
pdl_live_apikey_{L26}_{A22}_{A3}
AVNS_{W19}
CCDB1_{A22}_{A40}
essu_{B80}
dbtc_{A36}
tsec_{W50}
mb_{B43}=
secret-{A43}
ser.{A22}
pha_{A43}
figu_{W40}
shptka_{H32}
2/1201234567890123/1201234567890124:{H32}
glptt-{H40}
glcbt-1a_{W20}
gloas-{H64}
GR1348941{W20}
xoxb-{D12}-{D12}-{A24}
xoxp-{D12}-{D12}-{D12}-{H32}
xapp-1-A{U10}-{D13}-{H64}
xoxe.xoxp-1-{A160}
xoxe-1-{A146}
https://hooks.slack.com/services/T{U10}/B{U10}/{A24}
https://discord.com/api/webhooks/{D18}/{W68}
https://corp.webhook.office.com/webhookb2/{G0}@{G0}/IncomingWebhook/{H32}/{G0}
sk_live_{A24}
sk_test_{A24}
rk_live_{A99}
whsec_{A32}
sk-{A20}T3BlbkFJ{A20}
sk-proj-{W74}T3BlbkFJ{W74}
sk-svcacct-{W58}T3BlbkFJ{W58}
sk-ant-api03-{W93}AA
sk-ant-admin01-{W93}AA
sk-or-v1-{H64}
AIza{W35}
GOCSPX-{W28}
ya29.{W120}
1//0{W60}
npm_{A36}
//registry.npmjs.org/:_authToken={G0}
pypi-AgEIcHlwaS5vcmc{W120}
rubygems_{H48}
oy2{L43}
cio{A32}
CLOJARS_{L60}
dckr_pat_{W27}
hf_{A34}
gsk_{A52}
xai-{A80}
pplx-{A48}
r8_{A37}
lsv2_pt_{H32}_{H10}
pcsk_{A6}_{A63}
nvapi-{W64}
dop_v1_{H64}
doo_v1_{H64}
dor_v1_{H64}
v1.0-{H24}-{H146}
HRKU-AA{W58}
fo1_{W43}
fm2_{B200}
nfp_{A36}
tskey-auth-{A12}CNTRL-{A32}
sha256~{W43}
AccountKey={B86}==
https://x.blob.core.windows.net/c?sv=2022-11-02&sig={A43}%3D
{A3}8Q~{A34}
LTAI{A20}
AKID{A32}
AQVN{W35}
SG.{W22}.{W43}
key-{H32}
{H32}-us12
xkeysib-{H64}-{A16}
SK{H32}
{D10}:AA{W33}
MT{A22}.{A6}.{W38}
lin_api_{A40}
ntn_{D11}{A35}
secret_{A43}
figd_{W40}
pat{A14}.{H64}
PMAK-{H24}-{H34}
pul-{H40}
hvs.{W90}
hvb.{W140}
{A14}.atlasv1.{W67}
dp.pt.{A43}
ATATT3{W186}
ATBB{A32}
tfp_{W59}
CFPAT-{W43}
glc_{B100}
glsa_{A32}_{H8}
sntrys_eyJ{B100}_{B43}
sntryu_{H64}
NRAK-{U27}
dt0c01.{U24}.{U64}
pscale_tkn_{W43}
pscale_pw_{W43}
dapi{H32}
sbp_{H40}
phx_{A43}
shpat_{H32}
shpss_{H32}
sq0atp-{W22}
sq0csp-{W43}
EZAK{A54}
shippo_live_{H40}
duffel_live_{W43}
FLWSECK_TEST-{H32}-X
rzp_live_{A14}
access-sandbox-{G0}
sgp_{H40}
squ_{H40}
AKCp8{A68}
ops_eyJ{B250}
A3-{U6}-{U11}-{U5}-{U5}-{U5}
eyJhbGciOiJIUzI1NiJ9.eyJ{W40}.{W43}
-----BEGIN RSA PRIVATE KEY-----\n{B64}\n{B64}\n-----END RSA PRIVATE KEY-----
-----BEGIN OPENSSH PRIVATE KEY-----\n{B70}\n{B70}\n-----END OPENSSH PRIVATE KEY-----
-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{B64}\n{B64}\n-----END PGP PRIVATE KEY BLOCK-----
AGE-SECRET-KEY-1{U58}
client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ{B400}
machine api.shop.io login deploy password {A16}
sshpass -p {A12} ssh deploy@api.shop.io
AAAA{W7}:APA91b{W134}
Authorization: ApiKey {B40}
Server=db;User Id=sa;Password=Str0ng{A6}!;Encrypt=True
jdbc:mysql://db.shop.io/orders?user=shop&password=s3cr3tPw1
curl -u deploy:{A20} https://api.shop.io/orders
postgres://shop:{A16}@db.shop.io:5432/orders
redis://:{A24}@cache.shop.io:6379/0
Authorization: Bearer {A40}
Authorization: Basic {B40}
curl -H "X-Auth-Token: {H40}"
DD_API_KEY={H32}
CLIENT_SECRET: "{A32}"
"twilio_auth_token": "{H32}"
SMTP_PASS={A14}!x9
DB_PASSWORD='Tr0ub{A6}&3!'
algolia_admin_key: {H32}
HEROKU_API_KEY={G0}
"private_key": "0x{H64}"
signing_key = "{A44}"
okta: SSWS 00{W40}
""".strip().split("\n")


def filled(form: str, chance: random.Random) -> str:
    """`form` with random characters."""

    def part(match: re.Match[str]) -> str:
        if match[1] == "G":
            return str(uuid.UUID(int=chance.getrandbits(128), version=4))
        return "".join(chance.choices(ALPHABETS[match[1]], k=int(match[2])))

    return re.sub(r"\{([A-Z])(\d+)\}", part, form.replace(r"\n", "\n"))


HARMLESS = r"""
RouteCtxKey = &contextKey{"RouteContext"}
var clientIPCtxKey = &contextKey{"clientIP"}
Token::BasenameNoExt => f.write_str("{/.}")?,
FormatTemplate::Tokens(vec![Token::Basename]),
mysql -u root -p shop
mysql -u root -p$DB_PASSWORD_2 -e 'select 1'
docker run --name mysql -p3306:3306 -d mysql:8
find /var/lib/mysql -print0
docker login -u shop -p "$REGISTRY_PASSWORD_2"
CREATE USER shop IDENTIFIED BY '${DB_PASSWORD_2}'
CREATE USER shop IDENTIFIED BY 'password'
requirepass foobared
ENV TOKEN_PATH /run/secrets/token-2
user.set_password(new_password)
get_secret("prod/db-pass2-x9")
cache.set_key("a8f5f167f44f4964e6c998dee827110c")
max_tokens = 6000
password = get_password(user)
password = self.settings.password
password: str = Field(default="")
token = config.tokens.first2
token = request.headers["X-Auth-Token"]
access_token = response.json()["access_token"]
secret = os.environ["CLIENT_SECRET"]
const apiKey = process.env.STRIPE_API_KEY;
api_key = os.getenv("OPENAI_API_KEY", "")
PASSWORD=${DB_PASSWORD}
PASSWORD=$DB_PASSWORD_FOR_2_SHOPS
token: ${{ secrets.GITHUB_TOKEN }}
token: {{ vault_token_value_2 }}
password: "********"
password: <your password here>
password: changeme123!
api_key = "your-api-key-1234567890"
API_KEY=xxxxxxxxxxxxxxxxxxxxxxxxxxxx
api_key: "YOUR_API_KEY_GOES_HERE_2"
secret_key = "django-insecure-placeholder-key-1"
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
sk-your-api-key-goes-here-1234
sk-proj-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
glpat-XXXXXXXXXXXXXXXXXXXX
AKIAIOSFODNN7EXAMPLE
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
the token bucket: 12 requests a second
the secret is to read the first 3 lines
The password: it must have 12 characters, one upper case.
Tokens: 1,234,567 of 2,000,000
https://user:password@example.com
https://user:pass@host/path
postgres://postgres:postgres@localhost:5432/db
amqp://guest:guest@localhost:5672//
mysql://root:root@127.0.0.1/test
https://{user}:{password}@{host}/
http://%s:%s@%s
https://github.com/shop/shop.git@v2.1.0
git@github.com:shop/shop.git
ssh://git@host:22/path
"tokenizer_config.json": "{H64}"
sha256 = {H64}
sha256:{H64}
commit {H40}
"integrity": "sha512-{B86}=="
resolved "https://registry.yarnpkg.com/a/-/a-1.0.0.tgz#{H40}"
--hash=sha256:{H64}
git checkout {H40}
Merge {H7} into {H7}
id: {G0}
{G0}
session {G0} ended
"etag": "W/\"{H32}\""
md5: {H32}
cache-key: {H64}
key: pip-{H64}
cache_key = "user:profile:v2:{H32}"
public_key = "{H64}"
"publicKey": "{B43}="
primary_key: order_line_id_2
sort_key = "2026-01-02T03:04:05Z"
idempotency_key = "{G0}"
partitionKey: "{G0}"
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ{B120} me@laptop
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{B43} me@laptop
-----BEGIN CERTIFICATE-----\n{B64}\n{B64}\n-----END CERTIFICATE-----
-----BEGIN PUBLIC KEY-----\n{B64}\n-----END PUBLIC KEY-----
certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t{B200}
private_key = Ed25519PrivateKey.from_private_bytes(data)
private_key_path = /etc/ssl/private/shop-2026-key.pem
private_key_id: {H40}
if line.startswith("-----BEGIN PRIVATE KEY-----"): return parse(line)
data:image/png;base64,iVBORw0KGgoAAAANSUhEUg{B600}
src="data:font/woff2;base64,d09GMgABAAAA{B300}"
"mappings": "AAAA,SAAS,CAAC;AACD,IAAI,EAAE"
.sk-folding-cube-of-many-words { }
/src/secret/Token1/PasswordReset2.cs
token_url = "https://auth.shop.io/oauth2/v2/token"
token_type: application/vnd.oauth2.v1+json
password_hash = "$2b$12${A53}"
"password": "pbkdf2_sha256$260000${A22}${B43}="
token_hash: {H64}
next_page_token: {W40}
"continuationToken": "{B40}"
cancellation_token.ThrowIfCancellationRequested2()
secret_name: projects/shop/prod/db-2
secretKeyRef: shop-database-2026-eu
secret_arn = arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop
credential_file: /srv/me/.aws/credentials2
eos_token = "<|endoftext|>"
pad_token: "[PAD_TOKEN_2026]"
authorization: requires role admin2
auth = AuthMiddleware2(options)
Authorization: Bearer <token>
Authorization: Bearer ${ACCESS_TOKEN}
basic authentication, bearer tokens and API keys
keyboard: QWERTZ-layout-2-de-DE
monkey = "Macaca-fascicularis-2"
passes: 12 of 14 in 3.2s
pass: everything2 works
compass = "N45.E12.7"
bypass_auth: false
token = "abcdefghijklmnopqrstuvwxyz123456"
nonce = 123456789012345678901234
color: #a8f5f167
version: 1.2.3-beta.4+build.2026.11
npm_config_registry_and_cache_dir=/tmp/x1
hf_transfer_is_enabled_for_big_downloads
key-value-store-with-32-characters
SKUs and SKU numbers: SK-2026-0001
def test_password_reset_sends_mail_2(client): ...
class TokenBucketRateLimiter2(Base): pass
assert token == expected_tokens_after_reset[2]
The README says: set API_KEY first, then run 2 jobs.
arXiv:2301.12345v2, DOI 10.1145/3544548.3581000
IBAN DE89 3704 0044 0532 0130 00
""".strip().split("\n")
