"""Write vaultmem/embedding/graphs/granite-embedding-30m-english.onnx anew.

The file is the model without its weights: every weight is a place in the data file of
the package that carries them, so the graph is small. Products are worked out in whole
numbers of a byte, which takes half the time and a quarter of the memory; the steps that
round the weights are a part of the graph, and are taken once, when it is opened.
Needs `pip install onnx`, and that package; run it only when the graph changes.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from vaultmem.embedding import embedder, models

BATCH_SEQUENCE = ["batch", "sequence"]
ITEM_SIZE = {TensorProto.INT8: 1, TensorProto.FLOAT: 4}
# Rounding these would cost more than half of all that rounding costs: what they read has no norm
# before it that tells which columns are large.
PRECISE = ".narrow.product"


class Graph:
    """A model under construction. Every method that adds something answers its name."""

    def __init__(self, pack: Path) -> None:
        with pack.open("rb") as stream:
            header = embedder.read_weights_header(stream)
            offset = stream.tell() + header["tokenizer_len"]
        self.pack = pack
        self.arch: dict[str, Any] = header["arch"]
        self.places: dict[str, tuple[int, dict[str, Any]]] = {}
        for tensor in header["tensors"]:
            self.places[tensor["name"]] = (offset, tensor)
            offset += tensor["len"]
        if offset != pack.stat().st_size:
            raise SystemExit(f"{pack} does not have the layout that this script knows.")
        self.nodes: list[Any] = []
        self.values: dict[str, Any] = {}
        self.sizes: dict[str, np.ndarray] = {}  # of the columns of a norm's outputs
        self.rounded: set[str] = set()

    def node(self, kind: str, inputs: list[str], name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def constant(self, name: str, value: Any, kind: Any = np.int64) -> str:
        self.values.setdefault(name, numpy_helper.from_array(np.array(value, kind), name))
        return name

    def outside(self, name: str, kind: int, shape: list[int], offset: int) -> str:
        tensor = TensorProto(name=name, data_type=kind, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        place = {
            "location": embedder.WEIGHTS_PACK,
            "offset": offset,
            "length": math.prod(shape) * ITEM_SIZE[kind],
        }
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        self.values[name] = tensor
        return name

    def floats(self, name: str, shape: list[int] | None = None, skip: int = 0) -> str:
        offset, tensor = self.places[name]
        return self.outside(name, TensorProto.FLOAT, shape or tensor["shape"], offset + 4 * skip)

    def linear(self, x: str, weights: str, name: str) -> str:
        self.product(x, f"{weights}.w", f"{name}.product")
        return self.node("Add", [f"{name}.product", self.floats(f"{weights}.b")], name)

    def product(self, x: str, weight: str, name: str, part: slice | None = None) -> str:
        """x · Wᵀ for all or some rows of W, which is int8 with a scale for each group in a row."""
        offset, tensor = self.places[weight]
        rows, columns = tensor["shape"]
        part = part or slice(0, rows)
        count, groups = part.stop - part.start, columns // tensor["group"]
        shape = [count, groups, tensor["group"]]
        scales = offset + rows * columns + part.start * groups * 4
        self.outside(f"{name}.int8", TensorProto.INT8, shape, offset + part.start * columns)
        self.outside(f"{name}.scale", TensorProto.FLOAT, [count, groups, 1], scales)
        self.node("Cast", [f"{name}.int8"], f"{name}.float", to=TensorProto.FLOAT)
        self.node("Mul", [f"{name}.float", f"{name}.scale"], f"{name}.grouped")
        if name.endswith(PRECISE):
            return self.node("MatMul", [x, self.flat(f"{name}.grouped", count, columns)], name)
        return self.whole_product(x, f"{name}.grouped", name, self.rows(weight, part))

    def flat(self, weight: str, rows: int, columns: int) -> str:
        """A weight without its groups, turned as a product wants it."""
        shape = self.constant(f"shape.{rows}x{columns}", [rows, columns])
        self.node("Reshape", [weight, shape], f"{weight}.flat")
        return self.node("Transpose", [f"{weight}.flat"], f"{weight}.turned", perm=[1, 0])

    def rows(self, weight: str, part: slice) -> np.ndarray:
        """The numbers themselves, in their groups."""
        offset, tensor = self.places[weight]
        (rows, columns), group = tensor["shape"], tensor["group"]
        whole = self.numbers(np.int8, rows * columns, offset).reshape(rows, -1, group)
        scales = self.numbers(np.float32, rows * columns // group, offset + rows * columns)
        return (whole * scales.reshape(rows, -1, 1))[part]

    def numbers(self, kind: Any, count: int, offset: int) -> np.ndarray:
        return np.fromfile(self.pack, kind, count, offset=offset)

    def whole_product(self, x: str, weight: str, name: str, rows: np.ndarray) -> str:
        """x · Wᵀ in whole numbers, with a step for each row of W and one for all of x.

        A step is a 64th of the largest number in its row. With more steps than that a processor
        without VNNI, which adds two products in 16 bits, would run over, and answer otherwise.
        """
        if x in self.sizes:
            sizes = self.sizes[x].reshape(1, *rows.shape[1:])
            rows, x = rows * sizes, f"{x}.even"
            even = self.constant(f"{name}.even", sizes, np.float32)
            weight = self.node("Mul", [weight, even], f"{name}.evened")
        most = np.maximum(np.abs(rows).max(axis=(1, 2)), 1e-12)
        step = self.constant(f"{name}.step", most / 64, np.float32)
        inputs = [weight, step, self.constant(f"zeros.{len(rows)}", np.zeros(len(rows)), np.int8)]
        self.node("QuantizeLinear", inputs, f"{name}.steps", axis=0)
        right = self.flat(f"{name}.steps", len(rows), rows[0].size)
        left, its_step, zero = self.round(x)
        self.node("MatMulInteger", [left, right, zero], f"{name}.sum")
        self.node("Cast", [f"{name}.sum"], f"{name}.number", to=TensorProto.FLOAT)
        self.node("Mul", [its_step, step], f"{name}.worth")
        return self.node("Mul", [f"{name}.number", f"{name}.worth"], name)

    def round(self, x: str) -> tuple[str, str, str]:
        """x in whole numbers, what one of them is worth, and which of them is zero."""
        outputs = f"{x}.whole", f"{x}.step", f"{x}.zero"
        if x not in self.rounded:
            self.rounded.add(x)
            self.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], outputs, outputs[0]))
        return outputs

    def norm(self, x: str, weights: str, name: str) -> str:
        inputs = [x, self.floats(f"{weights}.w"), self.floats(f"{weights}.b")]
        epsilon = self.arch["layer_norm_eps"]
        return self.node("LayerNormalization", inputs, name, axis=-1, epsilon=epsilon)

    def even(self, x: str, weights: str) -> None:
        """A norm makes some columns far larger than the rest, and one step for all of x leaves
        little of the others. So each column is divided by the root of its usual size, which the
        norm's own weights tell, and what meets it in W is multiplied by the same."""
        w, b = (self.numbers(np.float32, self.arch["hidden"], self.places[f"{weights}.{part}"][0])
                for part in "wb")  # fmt: skip
        self.sizes[x] = np.sqrt(np.hypot(w, b))
        share = self.constant(f"{weights}.share", 1 / self.sizes[x], np.float32)
        self.node("Mul", [x, share], f"{x}.even")

    def embeddings(self) -> str:
        """Words stay int8 in memory: only those that occur are made floats."""
        offset, tensor = self.places["word_emb"]
        (words, size), group = tensor["shape"], tensor["group"]
        self.outside("words", TensorProto.INT8, [words, size], offset)
        scales = [words, size // group]
        self.outside("words.scale", TensorProto.FLOAT, scales, offset + words * size)
        self.node("Gather", ["words", "input_ids"], "ids.int8")
        self.node("Cast", ["ids.int8"], "ids.float", to=TensorProto.FLOAT)
        grouped = self.constant("shape.grouped", [0, 0, size // group, group])
        self.node("Reshape", ["ids.float", grouped], "ids.grouped")
        self.node("Gather", ["words.scale", "input_ids"], "ids.scale")
        self.node("Unsqueeze", ["ids.scale", self.constant("axis.3", [3])], "ids.scales")
        self.node("Mul", ["ids.grouped", "ids.scales"], "ids.scaled")
        word = self.node("Reshape", ["ids.scaled", self.constant("flat", [0, 0, size])], "word")
        self.node("Add", [word, self.positions(size)], "embedded")
        self.norm("embedded", "emb_ln", "layer.0")
        self.even("layer.0", "emb_ln")
        return "layer.0"

    def positions(self, size: int) -> str:
        # A Slice, because onnxruntime turns Range and Gather into one that it then rejects.
        first = self.arch["position_offset"]
        count = self.arch["max_positions"] - first
        table = self.floats("pos_emb", [1, count, size], skip=first * size)
        self.node("Add", [table, self.floats("type_emb", [1, 1, size])], "places")
        self.node("Shape", ["input_ids"], "input.shape")
        self.node("Gather", ["input.shape", self.constant("axis.1", [1])], "length")
        start = self.constant("start", [0])
        return self.node("Slice", ["places", start, "length", "axis.1"], "position")

    def attention(self, x: str, asking: str, layer: int) -> str:
        size = self.arch["hidden"]
        inputs = []
        for number, role in enumerate(("query", "key", "value")):
            rows = slice(number * size, (number + 1) * size)
            source = asking if role == "query" else x
            name = f"layer.{layer}.{role}"
            inputs.append(self.product(source, f"l{layer}.qkv.w", name, rows))
        # onnxruntime's own operator: one step instead of nine, and a third of their memory.
        inputs += [self.floats(f"l{layer}.qkv.b"), "mask"]
        name, heads = f"layer.{layer}.attention", self.arch["heads"]
        domain = "com.microsoft"
        return self.node("MultiHeadAttention", inputs, name, domain=domain, num_heads=heads)

    def gelu(self, x: str) -> str:
        self.node("Div", [x, self.constant("root", math.sqrt(2), np.float32)], f"{x}.divided")
        self.node("Erf", [f"{x}.divided"], f"{x}.erf")
        self.node("Add", [f"{x}.erf", self.constant("one", 1, np.float32)], f"{x}.raised")
        self.node("Mul", [x, f"{x}.raised"], f"{x}.doubled")
        half = self.constant("half", 0.5, np.float32)
        return self.node("Mul", [f"{x}.doubled", half], f"{x}.gelu")

    def layer(self, x: str, number: int, out: str, *, only_first: bool) -> str:
        name, weights = f"layer.{number}", f"l{number}"
        asking = x
        if only_first:
            ends = self.constant("start", [0]), self.constant("axis.1", [1])
            asking = self.node("Slice", [x, *ends, "axis.1"], f"{name}.first")
            self.node("Slice", [f"{x}.even", *ends, "axis.1"], f"{asking}.even")
            self.sizes[asking] = self.sizes[x]
        seen = self.attention(x, asking, number)
        self.linear(seen, f"{weights}.ao", f"{name}.mixed")
        self.node("Add", [f"{name}.mixed", asking], f"{name}.attended")
        middle = self.norm(f"{name}.attended", f"{weights}.aln", f"{name}.middle")
        self.even(middle, f"{weights}.aln")
        wide = self.linear(middle, f"{weights}.f1", f"{name}.wide")
        self.linear(self.gelu(wide), f"{weights}.f2", f"{name}.narrow")
        self.node("Add", [f"{name}.narrow", middle], f"{name}.sum")
        return self.norm(f"{name}.sum", f"{weights}.fln", out)

    def build(self) -> bytes:
        """The embedding is the first token's, so the last layer works out nothing else."""
        x = self.embeddings()
        self.node("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
        last = self.arch["layers"] - 1
        for number in range(last + 1):
            out = "first_token" if number == last else f"layer.{number + 1}"
            x = self.layer(x, number, out, only_first=number == last)
            if number < last:
                self.even(x, f"l{number}.fln")
        tokens = [
            helper.make_tensor_value_info(name, TensorProto.INT64, BATCH_SEQUENCE)
            for name in ("input_ids", "attention_mask")
        ]
        shape = ["batch", 1, self.arch["hidden"]]
        result = helper.make_tensor_value_info(x, TensorProto.FLOAT, shape)
        values = list(self.values.values())
        graph = helper.make_graph(self.nodes, models.GRANITE.name, tokens, [result], values)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        made: bytes = helper.make_model(
            graph, opset_imports=opsets, ir_version=8
        ).SerializeToString()
        return made


def main() -> None:
    pack = models.GRANITE.source()
    if pack is None:
        raise SystemExit(f"First: pip install {models.GRANITE.package}")
    target = models.GRAPHS / models.GRANITE.shipped
    target.write_bytes(Graph(pack).build())
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
