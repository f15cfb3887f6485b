"""The same payloads, tokenizer and questions for shaping and for others that cut tool results.

    python -m benchmarks.peers

Each peer comes from the package index into an environment of its own under `benchmarks/.envs` (or what SHAPING_PEERS
names), because their pins conflict. All are given the text channel alone: dropping the second channel is counted for
everyone. The limiter and tooltrim need a size: they get what shaping's `minimal` sent for the same payload, in bytes
and in tokens. An answer is kept where the corpus's score finds it, or, for shaping, where the decoded text gives it by
its path; those that only write the same data in another form are taken to keep every answer.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import corpus
from benchmarks.fidelity import is_answered
from benchmarks.ranks import rank_file
from benchmarks.results import markdown_table, write_section
from shaping import Shaper

if TYPE_CHECKING:
    from benchmarks.corpus import Payload

ENVS = Path(os.environ.get("SHAPING_PEERS", Path(__file__).parent / ".envs"))
PACKAGES = {
    "TOON": ("toon-format", "toon-format"),
    "terse-mcp": ("terse-mcp", "terse-mcp"),
    "tooltrim": ("tooltrim", "tooltrim"),
    "headroom-ai": ("headroom-ai", "headroom-ai"),
    "FastMCP limiter": ("fastmcp", "fastmcp>=4.1,<5"),
}
# The names under which the tokenizer that most peers use looks for its vocabularies.
VOCABULARIES = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}
NPM = "TOON npm"  # the form's own implementation, which is a package for Node
SIZED = frozenset({"tooltrim", "FastMCP limiter"})
LOSSLESS = frozenset({"as sent", "compact JSON", "TOON", NPM, "terse-mcp"})
_TOON = """
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const from = createRequire(process.argv[2] + "/package.json");
const { encode } = await import(pathToFileURL(from.resolve("@toon-format/toon")).href);
const data = (text) => {
  try {
    const value = JSON.parse(text);
    return value && typeof value === "object" ? value : null;
  } catch {
    return null;
  }
};
const out = {};
for (const [file, { texts }] of Object.entries(JSON.parse(readFileSync(0, "utf8")).payloads)) {
  const started = performance.now();
  const made = texts.map((text) => { const value = data(text); return value === null ? text : encode(value); });
  out[file] = { texts: made, back: "", ms: performance.now() - started };
}
console.log(JSON.stringify(out));
"""


@dataclass(slots=True)
class Score:
    """What one of them did to one payload."""

    tokens: int
    kept: int
    recoverable: int
    lost: int
    ms: float


@dataclass(slots=True)
class Contender:
    """One of them over all payloads."""

    name: str
    scores: dict[str, Score] = field(default_factory=dict)

    def total(self, name: str) -> float:
        """Sum one figure over all payloads."""
        return float(sum(getattr(score, name) for score in self.scores.values()))


def environment(directory: str, package: str) -> Path:
    """Return the Python of a peer's own environment, made where there is none."""
    home = ENVS / directory
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", package, "tiktoken"], check=True)
    return python


def vocabularies() -> str:
    """Write the vocabularies where an offline tokenizer finds them."""
    directory = ENVS / "vocabularies"
    directory.mkdir(parents=True, exist_ok=True)
    for name, file in VOCABULARIES.items():
        if not (directory / file).exists():
            (directory / file).write_bytes(rank_file(name))
    return str(directory)


def run(peer: str, payloads: list[Payload], limits: dict[str, int]) -> dict[str, Any]:
    """Let a peer work on every text of every payload in its own environment."""
    asked = {
        "peer": peer,
        "payloads": {p.file: {"texts": texts_of(p.result), "limit": limits[p.file]} for p in payloads},
    }
    if peer == NPM:
        return _run_node(asked)
    python = environment(*PACKAGES[peer]) if peer in PACKAGES else Path(sys.executable)
    surroundings = os.environ | {"TIKTOKEN_CACHE_DIR": vocabularies(), "HEADROOM_OFFLINE": "1"}
    command = [str(python), str(Path(__file__).with_name("peer_adapters.py"))]
    done = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, env=surroundings, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _run_node(asked: dict[str, Any]) -> dict[str, Any]:
    home = ENVS / "toon-npm"
    if not (home / "node_modules").exists():
        home.mkdir(parents=True, exist_ok=True)
        (home / "package.json").write_text("{}", encoding="utf-8")
        subprocess.run(["npm", "install", "--silent", "@toon-format/toon"], cwd=home, check=True)
    script = home / "encode.mjs"
    script.write_text(_TOON, encoding="utf-8")
    command = ["node", str(script), str(home)]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def texts_of(result: dict[str, Any]) -> list[str]:
    """Return the texts of a result."""
    return [block["text"] for block in result["content"] if block.get("type") == "text"]


def with_texts(result: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    """Return a result with other texts and without its second channel."""
    fresh = iter(texts)
    content = [{**block, "text": next(fresh)} if block.get("type") == "text" else block for block in result["content"]]
    kept = {key: value for key, value in result.items() if key not in {"structuredContent", "content"}}
    return {**kept, "content": content}


def score(name: str, payload: Payload, shaped: dict[str, Any], back: str, ms: float) -> Score:
    """Ask the payload's questions of what was sent, and what is missing of what can be asked back."""
    lib = corpus.library()
    asked = () if name in LOSSLESS else payload.questions
    missing = [q for q in asked if not lib.score_question(q, payload.result, shaped)["value"]]
    if name.startswith("shaping "):
        missing = [q for q in missing if not is_answered(lib, q, payload.result, shaped, kept=False)]
    recovered = [q for q in missing if back and lib.score_question(q, payload.result, back)["loose"]]
    lost = len(missing) - len(recovered)
    return Score(lib.tokens(lib.model_view(shaped)), len(payload.questions) - len(missing), len(recovered), lost, ms)


def ours(profile: str, payloads: list[Payload]) -> tuple[Contender, dict[str, dict[str, Any]]]:
    """Shape every payload with no config but the profile; an expand gives back what was left out."""
    shaper = Shaper({"global": {"profile": profile}})
    contender, sent = Contender(f"shaping {profile}"), {}
    for payload in payloads:
        shaper.shape_result(payload.result, tool=payload.tool, channels="text")  # compiles the tool's plan
        started = time.perf_counter()
        sent[payload.file] = shaper.shape_result(payload.result, tool=payload.tool, channels="text")
        took = (time.perf_counter() - started) * 1000
        original = "\n".join(texts_of(payload.result)) if left_out(payload, profile) else ""
        contender.scores[payload.name] = score(contender.name, payload, sent[payload.file], original, took)
    return contender, sent


def left_out(payload: Payload, profile: str) -> bool:
    """Tell whether a reader with the expand tool is given a ref to all of the payload."""
    shaper = Shaper({"global": {"profile": profile}}, expandable=True)
    try:
        shaped = shaper.shape_result(payload.result, tool=payload.tool, channels="text")
        return "ref" in (shaped.get("_meta") or {}).get("shaping", {})
    finally:
        shaper.close()


def compare(payloads: list[Payload]) -> list[Contender]:
    """Score everyone on everything."""
    lib = corpus.library()
    minimal, sent = ours("minimal", payloads)
    standard, _ = ours("standard", payloads)
    raw = Contender("as sent")
    for payload in payloads:
        raw.scores[payload.name] = score(raw.name, payload, payload.result, "", 0.0)
    tokens = {p.file: max(16, lib.tokens("\n".join(texts_of(sent[p.file])))) for p in payloads}
    sizes = {p.file: max(200, len("\n".join(texts_of(sent[p.file])).encode())) for p in payloads}
    contenders = [raw]
    for peer in ("compact JSON", NPM, *PACKAGES):
        found = run(peer, payloads, sizes if peer == "FastMCP limiter" else tokens)
        contender = Contender(peer)
        for payload in payloads:
            answer = found[payload.file]
            shaped = with_texts(payload.result, answer["texts"])
            contender.scores[payload.name] = score(peer, payload, shaped, answer["back"], answer["ms"])
        contenders.append(contender)
    return [*contenders, standard, minimal]


def ahead(contenders: list[Contender]) -> tuple[int, list[str]]:
    """Count the payloads on which `minimal` is ahead of or equal to every peer that keeps as much.

    Those that cut to the size they are given are compared by what they keep at that size.
    """
    *others, minimal = (one for one in contenders if one.name not in {"as sent", "shaping standard"})
    behind = []
    for name, score_ in minimal.scores.items():
        rivals = [one.scores[name] for one in others if one.name not in SIZED]
        sized = [one.scores[name] for one in others if one.name in SIZED]
        cheaper = any(rival.kept >= score_.kept and rival.tokens < score_.tokens for rival in rivals)
        if cheaper or any(rival.kept > score_.kept for rival in sized):
            behind.append(name)
    return len(minimal.scores) - len(behind), behind


def table_of(contenders: list[Contender], questions: int) -> str:
    """Write everyone's sums."""
    before = contenders[0].total("tokens")
    head = ("", "tokens", "saved", f"kept of {questions}", "recoverable", "lost", "ms for all")
    rows: list[tuple[str, ...]] = [
        (
            one.name,
            f"{one.total('tokens'):,.0f}",
            f"{100 * (1 - one.total('tokens') / before):.1f}%",
            f"{one.total('kept'):.0f}",
            f"{one.total('recoverable'):.0f}",
            f"{one.total('lost'):.0f}",
            f"{one.total('ms'):,.0f}",
        )
        for one in contenders
    ]
    return markdown_table(head, rows)


def payload_table(contenders: list[Contender]) -> str:
    """Write tokens and kept answers of everyone on every payload."""
    head = ("payload", *(one.name for one in contenders))
    rows: list[tuple[str, ...]] = [
        (name, *(f"{one.scores[name].tokens:,} ({one.scores[name].kept})" for one in contenders))
        for name in contenders[0].scores
    ]
    return markdown_table(head, rows)


def section(folder: Path) -> str:
    """Compare everyone on the payloads of one folder."""
    payloads = corpus.payloads(folder)
    contenders = compare(payloads)
    best, behind = ahead(contenders)
    note = f"`minimal` is ahead of or equal to every peer that keeps as much on {best} of {len(payloads)} payloads"
    note += f" (behind on {', '.join(behind)})." if behind else "."
    sums = table_of(contenders, sum(len(payload.questions) for payload in payloads))
    by_payload = f"Tokens (answers kept) by payload:\n\n{payload_table(contenders)}"
    return f"### {folder.name}\n\n{sums}\n\n{note}\n\n{by_payload}"


def main() -> None:
    argparse.ArgumentParser(description="Install peers, compare with them, and write the table.").parse_args()
    body = "\n\n".join(section(folder) for folder in (corpus.PAYLOADS, corpus.MORE))
    print(body)
    versions = ", ".join(f"{package} {_version(directory)}" for directory, package in PACKAGES.values())
    npm = json.loads((ENVS / "toon-npm/node_modules/@toon-format/toon/package.json").read_text(encoding="utf-8"))
    versions += f", @toon-format/toon {npm['version']}"
    recipe = {"payloads": "../shared/corpus, payloads and more", "tokenizer": "o200k_base", "peers": versions}
    write_section("Peers", body, recipe=recipe)


def _version(directory: str) -> str:
    listed = subprocess.run(
        [str(ENVS / directory / "bin" / "python"), "-m", "pip", "list", "--format", "json"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return next((str(one["version"]) for one in json.loads(listed) if one["name"] == directory), "")


if __name__ == "__main__":
    main()
