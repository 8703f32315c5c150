"""What a file's name alone says about it. Reads nothing, so that a walk stays cheap."""

from __future__ import annotations

import re

from memory_sidecar.core import reasons

LOCK_FILES = frozenset(
    """
    bun.lockb go.sum go.work.sum gradle.lockfile npm-shrinkwrap.json package-lock.json
    package.resolved packages.lock.json pnpm-lock.yaml .terraform.lock.hcl
    """.split()
)

MINIFIED_ENDINGS = (".min.js", ".min.mjs", ".min.css", ".map")

GENERATED_ENDINGS = (
    *(".designer.cs", ".g.cs", ".g.i.cs", ".generated.cs"),
    *("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", ".pb.go", ".pb.cc", ".pb.h"),
    *(".g.dart", ".freezed.dart"),
)

BINARY_EXTENSIONS = frozenset(
    """
    3ds 7z a aab aac ai aiff apk avi avif bin blend bmp br bz2 cab class cur db dbf dds deb dll
    dmg doc docx dylib ear egg eot exe exr fbx flac flv gif glb gz heic icns ico ipa iso jar
    jpeg jpg keystore ktx lib lz4 lzma m4a m4v mdb mkv mo mov mp3 mp4 mpeg mpg msi mv2 npy npz
    nupkg o odp ods odt ogg ogv onnx otf parquet pck pdb pdf pickle pkl png ppt pptx psd pt pth
    pyc pyd pyo rar rpm safetensors scn shp shx snk snupkg so sqlite sqlite-shm sqlite-wal
    sqlite3 tar tga tgz tif tiff ttc ttf vsix war wasm wav webm webp whl wma wmv woff woff2 xls
    xlsx xz zip zst
    """.split()
)


_SECRET = re.compile(
    r"""(?:^|/)(?:
    \.env(?:rc|\.[^/]*)? | [^/]+\.env
    | id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?
    | [^/]+\.(?:pem|key|ppk|p8|p12|pfx|jks|kdbx?|agekey|ovpn)
    | [._]netrc | \.npmrc | \.yarnrc\.yml | \.pypirc | \.git-credentials | \.pgpass | \.my\.cnf
    | \.s3cfg | \.boto | \.htpasswd | \.dockercfg | \.vault[-_](?:token|pass(?:word)?)
    | \.terraformrc | terraform\.rc | [^/]*\.tfstate(?:\.[^/]*)?
    | \.?credentials(?:\.(?:json|ya?ml|toml|ini|csv|tfrc\.json))?
    | client[-_]secrets?[^/]*\.json | service[-_]?account[^/]*\.json | gha-creds-[^/]*\.json
    | application_default_credentials\.json | secrets?\.(?:ya?ml|json|toml|ini|properties)
    | (?:[^/]*[._-])?kubeconfig(?:\.(?:ya?ml|json|conf))? | \.kube/config | \.docker/config\.json
    | \.(?:ssh|gnupg|aws|azure)/.+
    )$""",
    re.VERBOSE,
)
_EXAMPLE = re.compile(
    r"(?:^|[./_-])(?:example|sample|template|tmpl|tpl|dist|defaults?|schema)(?=[./_-]|$)"
)


def skip_as_secret(path: str) -> str:
    """The reason to skip the file at `path`, relative with `/`, for what such files hold, or ""."""
    path = path.lower()
    if _SECRET.search(path) is None or _EXAMPLE.search(path.rpartition("/")[2]):
        return ""
    return reasons.SECRETS


def skip_by_name(name: str) -> str:
    """The reason to skip a file of this `name` (its last path component), or ""."""
    name = name.lower()
    if name in LOCK_FILES or name.endswith(".lock"):
        return reasons.LOCK_FILE
    if name.rpartition(".")[2] in BINARY_EXTENSIONS and "." in name:
        return reasons.BINARY
    if name.endswith(MINIFIED_ENDINGS):
        return reasons.MINIFIED
    if name.endswith(GENERATED_ENDINGS):
        return reasons.GENERATED
    return ""
