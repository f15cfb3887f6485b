"""HTTP APIs as operations, from their OpenAPI documents."""

from shaping.operations.openapi.client import Auth, HttpConfig
from shaping.operations.openapi.document import DocumentError
from shaping.operations.openapi.load import HttpOperations, from_openapi, from_openapi_file, from_openapi_url

__all__ = [
    "Auth",
    "DocumentError",
    "HttpConfig",
    "HttpOperations",
    "from_openapi",
    "from_openapi_file",
    "from_openapi_url",
]
