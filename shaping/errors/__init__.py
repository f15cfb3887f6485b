"""Error codes, coded errors, and how exceptions become them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shaping.errors.codes import (
    EXIT_CODES,
    EXIT_TABLES,
    CodeDefinition,
    CodeError,
    CodeRegistry,
    ExitCode,
    ExitTable,
    UnknownCodeError,
    registry,
)
from shaping.nearest import nearest

if TYPE_CHECKING:
    from shaping.errors.detail import (
        ErrorDetail,
        Redirect,
        ToolError,
        code_for_exit,
        from_exit_code,
        from_status,
        make_error,
    )
    from shaping.errors.exceptions import from_exception

codes = registry.codes
register = registry.register
register_plugin = registry.register_plugin
unregister_plugin = registry.unregister_plugin

__all__ = [
    "EXIT_CODES",
    "EXIT_TABLES",
    "CodeDefinition",
    "CodeError",
    "CodeRegistry",
    "ErrorDetail",
    "ExitCode",
    "ExitTable",
    "Redirect",
    "ToolError",
    "UnknownCodeError",
    "code_for_exit",
    "codes",
    "from_exception",
    "from_exit_code",
    "from_status",
    "make_error",
    "nearest",
    "register",
    "register_plugin",
    "registry",
    "unregister_plugin",
]


def __getattr__(name: str) -> Any:
    # The model of an error takes 60 ms to import: an answer that is none does without.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"shaping.errors.{'exceptions' if name == 'from_exception' else 'detail'}"), name)
