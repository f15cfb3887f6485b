"""Error codes, coded errors, and how exceptions become them."""

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
from shaping.response import nearest

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
