from __future__ import annotations

from vaultmem.surfaces.cli import graph_drawings

EDGES = [("AuthService", "depends_on", "Keychain"), ('A "quoted" one', "uses", "AuthService")]


def test_a_canvas_has_every_node_once_and_every_edge_between_them() -> None:
    drawn = graph_drawings.canvas_drawing(EDGES, {"AuthService": "Entities/AuthService.md"})
    by_id = {node["id"]: node for node in drawn["nodes"]}
    assert len(by_id) == len(drawn["nodes"]) == 3
    assert [n["file"] for n in drawn["nodes"] if n["type"] == "file"] == ["Entities/AuthService.md"]
    assert {n["text"] for n in drawn["nodes"] if n["type"] == "text"} == {
        "Keychain",
        'A "quoted" one',
    }
    for edge, (source, label, target) in zip(drawn["edges"], EDGES, strict=True):
        ends = [by_id[edge[end]].get("text", "AuthService") for end in ("fromNode", "toNode")]
        assert (ends, edge["label"]) == ([source, target], label)
    places = {(node["x"], node["y"]) for node in drawn["nodes"]}
    assert len(places) == 3
    assert graph_drawings.canvas_drawing(EDGES, {}) == graph_drawings.canvas_drawing(EDGES, {})


def test_drawings_quote_what_they_are_given() -> None:
    assert '"A \\"quoted\\" one" -> "AuthService" [label="uses"];' in graph_drawings.dot_drawing(
        EDGES
    )
    assert "A &quot;quoted&quot; one" in graph_drawings.mermaid_drawing(EDGES)
