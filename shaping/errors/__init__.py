"""What went wrong, in words a program can branch on."""

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
    code_for_status,
    from_exit_code,
    from_status,
    make_error,
    retry_after,
)
from shaping.errors.exceptions import from_exception
from shaping.redaction import scrub
from shaping.response import nearest

canonical = registry.canonical
codes = registry.codes
definition = registry.definition
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
    "canonical",
    "code_for_exit",
    "code_for_status",
    "codes",
    "definition",
    "from_exception",
    "from_exit_code",
    "from_status",
    "make_error",
    "nearest",
    "register",
    "register_plugin",
    "registry",
    "retry_after",
    "scrub",
    "unregister_plugin",
]
