"""What an agent asks of its server in a step: the tool and its arguments."""

from __future__ import annotations

from typing import Any

from tests.faults import plan
from tests.faults.agents import Agent
from tests.faults.ledger import line
from tests.faults.plan import Step
from tests.faults.scene import Scene

Request = tuple[str, dict[str, Any]]


class Requests:
    """One method for each action; None where there is nothing yet to do it with."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.corrected = ""  # the word that the last correction takes out
        self._by_key: dict[int, str] = {}  # the word of the last store by this key

    def of(self, step: Step, agent: Agent, word: str) -> Request | None:
        made: Request | None = getattr(self, step.action.replace(" ", "_"))(step, agent, word)
        return made

    def acknowledged(self, step: Step, word: str, told: dict[str, Any]) -> None:
        """The text must be there from now on; what it replaced may go."""
        ledger = self.scene.ledger
        if step.action == "store" or (step.action == "append" and "similar" in told):
            self.scene.memories[step.note % plan.MEMORIES] = told["memory_id"]
        elif step.action == "store by key":
            ledger.retire(self._by_key.get(step.note, ""), "the next store by its key")
            self._by_key[step.note] = word
        elif step.action == "correct":
            ledger.retire(self.corrected, "an agent's correction")

    def store(self, step: Step, agent: Agent, word: str) -> Request:
        about = {"type": "semantic", "scope": "user", "title": f"Memory {step.note} {word}"}
        return "store_memory", {"content": line(word, agent.name), **about}

    def store_by_key(self, step: Step, agent: Agent, word: str) -> Request:
        tool, given = self.store(step, agent, word)
        return tool, {**given, "key": f"key-{step.note}", "title": f"Keyed {step.note}"}

    def append(self, step: Step, agent: Agent, word: str) -> Request:
        if id_ := self.scene.memory(step):
            return "update_memory", {"memory_id": id_, "append": line(word, agent.name)}
        return self.store(step, agent, word)

    def correct(self, step: Step, agent: Agent, word: str) -> Request | None:
        """Replace the line of this memory that an agent wrote last."""
        live, id_ = self.scene.ledger.live, self.scene.memory(step)
        known = [w for w in self.scene.words(id_) if live.get(w, "").startswith("agent")]
        if not known:
            return None
        self.corrected = known[-1]
        texts = {"old_text": line(known[-1], live[known[-1]]), "new_text": line(word, agent.name)}
        return "update_memory", {"memory_id": id_, **texts}

    def rewrite(self, step: Step, agent: Agent, word: str) -> Request | None:
        """Read the whole, and write it anew with one line more."""
        id_ = self.scene.memory(step)
        read = agent.call("get_memories", ids=[id_], max_tokens=8_000) if id_ else None
        if read is None or read["isError"] or not read["structuredContent"]["memories"]:
            return None
        memory = read["structuredContent"]["memories"][0]
        if "version" not in memory:  # a page of it
            return None
        content = f"{memory['content'].rstrip()}\n\n{line(word, agent.name)}\n"
        whole = {"content": content, "expected_version": memory["version"]}
        return "update_memory", {"memory_id": id_, **whole}

    def tag(self, step: Step, agent: Agent, word: str) -> Request | None:
        id_ = self.scene.memory(step)
        return ("tag_memory", {"memory_id": id_, "add": [f"t{step.number}"]}) if id_ else None

    def forget(self, step: Step, agent: Agent, word: str) -> Request | None:
        id_ = self.scene.memories.pop(step.note % plan.MEMORIES, "")
        return ("forget_memory", {"memory_id": id_}) if id_ else None

    def observe(self, step: Step, agent: Agent, word: str) -> Request:
        return "log_observation", {"content": line(word, agent.name)}

    def state(self, step: Step, agent: Agent, word: str) -> Request:
        fact = {"subject": f"Entity {step.note % 4}", "predicate": "knows", "multi": True}
        return "assert_fact", {**fact, "object": line(word, agent.name)}

    def recall(self, step: Step, agent: Agent, word: str) -> Request:
        words = self.scene.words(self.scene.memory(step)) or [f"Note {step.note}"]
        return "recall_memories", {"query": words[-1], "strategy": "keyword"}

    def read(self, step: Step, agent: Agent, word: str) -> Request | None:
        id_ = self.scene.memory(step)
        return ("get_memories", {"ids": [id_]}) if id_ else None
