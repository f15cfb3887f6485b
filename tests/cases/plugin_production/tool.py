"""A plugin's tool: it raises codes of its own and one of the shared vocabulary."""

from shaping.errors import ToolError


def submit(archive: str, waiting: int) -> str:
    """Send an archive to the notary."""
    if not archive:
        raise ToolError("BAD_ARGUMENT", "archive is empty")
    if waiting > 10:
        raise ToolError("production.QUEUE_FULL", "ten archives are waiting")
    if archive == "broken":
        raise ToolError(code="production.NOTARIZATION_FAILED", message="the notary refused it")
    return archive
