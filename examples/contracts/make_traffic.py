"""Record an answer, as `shaping proxy --record examples/contracts/traffic` does with real ones."""

from pathlib import Path

from shaping import Recorder, Shaper

ISSUES = [
    {
        "number": number,
        "title": f"Widget {number} squeaks",
        "state": "open" if number % 3 else "closed",
        "node_id": f"MDU6SXNzdWU{number}",
        "user": {"login": "ada" if number % 2 else "bob", "avatar_url": f"https://img.example.com/{number}"},
    }
    for number in range(1, 13)
]

if __name__ == "__main__":
    recorder = Recorder(Path(__file__).parent / "traffic")
    Shaper({}, recorder=recorder).shape(ISSUES, tool="list_issues")
    recorder.close()
