"""What a release says of its own address, which only whoever publishes it knows.

With PROJECT_URL (as in the release workflow) the package gets its links, and the README's pictures and links are
absolute, so that they work on a package index too. Without it, as in a clone, there are none, and the README stays.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"(?P<picture>!?)(?P<text>\[[^]]*\])\((?!https?:|#)(?P<path>[^)\s]+)\)")


class ReleaseMetadata(MetadataHookInterface):
    """Fills `urls` and `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Write both into the project's metadata."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        address, tag = os.environ.get("PROJECT_URL", "").rstrip("/"), f"v{metadata['version']}"
        metadata["urls"] = {}
        if address:
            files = f"{address}/blob/{tag}"
            metadata["urls"] = {
                "Source": address,
                "Documentation": f"{files}/docs/index.md",
                "Changelog": f"{files}/CHANGELOG.md",
                "Issues": f"{address}/issues",
            }
            text = _RELATIVE.sub(
                lambda found: (
                    f"{found['picture']}{found['text']}"
                    f"({address}/{'raw' if found['picture'] else 'blob'}/{tag}/{found['path']})"
                ),
                text,
            )
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
