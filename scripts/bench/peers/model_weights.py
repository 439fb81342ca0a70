"""A model for the peers that want one: all-MiniLM-L6-v2, where each of them looks for it.

The weights come from the package that vaultmem itself falls back on, so that a peer can
search by meaning where no model hub is within reach.
"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

from vaultmem.embedding.models import GRAPHS, MINILM

NAME = "sentence-transformers/all-MiniLM-L6-v2"
_SETTINGS = {
    "model_max_length": MINILM.max_tokens,
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
    "do_lower_case": True,
}
_CONFIG = {
    "_name_or_path": NAME,
    "architectures": ["BertModel"],
    "model_type": "bert",
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "max_position_embeddings": 512,
    "vocab_size": 30522,
    "pad_token_id": 0,
}


def for_fastembed(cache: Path) -> None:
    """fastembed takes a folder of a hub's cache as it is when it may not ask the hub."""
    folder = cache / "models--qdrant--all-MiniLM-L6-v2-onnx"
    _lay_out(folder / "snapshots" / "local")
    (folder / "refs").mkdir(exist_ok=True)
    (folder / "refs" / "main").write_text("local")


def for_chroma(home: Path) -> None:
    _lay_out(home / ".cache" / "chroma" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx")


def for_memory_service(home: Path) -> None:
    _lay_out(home / ".cache" / "mcp_memory" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx")


def _lay_out(folder: Path) -> None:
    source = MINILM.source()
    if source is None:
        raise RuntimeError(f"the weights are missing; install {MINILM.package}")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, folder / "model.onnx")
    tokenizer = gzip.decompress((GRAPHS / MINILM.shipped).read_bytes())
    (folder / "tokenizer.json").write_bytes(tokenizer)
    words = json.loads(tokenizer)["model"]["vocab"]
    (folder / "vocab.txt").write_text(
        "\n".join(sorted(words, key=words.__getitem__)) + "\n", "utf-8"
    )
    named = {name: token for name, token in _SETTINGS.items() if name.endswith("_token")}
    (folder / "special_tokens_map.json").write_text(json.dumps(named))
    (folder / "tokenizer_config.json").write_text(json.dumps(_SETTINGS))
    (folder / "config.json").write_text(json.dumps(_CONFIG))
