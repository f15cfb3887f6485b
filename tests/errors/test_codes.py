import pytest

from shaping.errors import EXIT_CODES, EXIT_TABLES, CodeDefinition, ExitCode, registry
from shaping.errors.codes import COMMANDS, CONTRACT, LEAN, LEAN_COARSE, OPERATIONS, OWN, READ_ONLY, check_exit_code


@pytest.mark.parametrize(
    "code",
    [
        *("invalid_argument", "invalid_path", "forbidden", "not_found", "timeout", "too_large", "resource_exhausted"),
        *("not_implemented", "upgrade_required", "dependency_unavailable", "correction_needed", "internal_error"),
        *(
            "GENERAL_ERROR",
            "ARG_ERROR",
            "PARTIAL_FAILURE",
            "PRECONDITION",
            "NOT_FOUND",
            "CONFLICT",
            "PERMISSION_DENIED",
        ),
        *("AUTH_REQUIRED", "PAYMENT_REQUIRED", "TIMEOUT", "RATE_LIMITED", "UNAVAILABLE", "REDIRECTED"),
        *("TOKEN_EXPIRED", "TOKEN_INVALID", "TOKEN_MISSING"),
        *("OPERATION_NOT_FOUND", "ACCESS_DENIED", "VALIDATION_ERROR", "ABORTED", "EXECUTION_ERROR", "UNKNOWN_ERROR"),
        *("NOT_RUNNING", "ALREADY_RUNNING", "REF_NOT_FOUND", "FILE_NOT_FOUND", "BAD_ARGUMENT", "WAIT_TIMEOUT"),
        *("TRANSPORT_UNSUPPORTED", "EVAL_BLOCKED_KEYWORD", "EVAL_BLOCKED_CONSTRUCT"),
    ],
)
def test_every_documented_code_means_something(code: str) -> None:
    definition = registry.definition(code)
    assert definition == registry.definition(registry.canonical(code))
    assert definition.hint.endswith(".")


def test_one_meaning_has_one_canonical_name() -> None:
    for code in ("BAD_ARGUMENT", "VALIDATION_ERROR", "ARG_ERROR", "invalid_argument"):
        assert registry.canonical(code) == "BAD_ARGUMENT"
    for code in ("INTERNAL_ERROR", "EXECUTION_ERROR", "UNKNOWN_ERROR", "GENERAL_ERROR", "internal_error"):
        assert registry.canonical(code) == "INTERNAL_ERROR"


def test_an_alias_is_never_a_code_and_leads_to_one() -> None:
    codes = {**CONTRACT, **OWN}
    for table in (OPERATIONS, COMMANDS, LEAN):
        assert set(table) <= set(codes)
        assert set(table.values()).isdisjoint(codes)
    assert set(READ_ONLY).isdisjoint(codes)
    assert {*READ_ONLY.values(), *LEAN_COARSE} <= set(codes)


def test_two_meanings_never_share_a_spelling() -> None:
    spellings = [*LEAN.values(), *OPERATIONS.values(), *COMMANDS.values(), *READ_ONLY]
    assert len(spellings) == len(set(spellings))


def test_retryable_needs_that_nothing_was_done() -> None:
    with pytest.raises(ValueError, match="retryable needs side_effects 'none', not 'partial'"):
        CodeDefinition(http=500, retryable=True, hint="x", side_effects="partial")


@pytest.mark.parametrize("http", [200, 399, 600])
def test_a_code_stands_for_an_error_status(http: int) -> None:
    with pytest.raises(ValueError, match=f"http is {http}; expected an error status"):
        CodeDefinition(http=http, retryable=False, hint="x")


def test_the_exit_code_table_is_the_public_one() -> None:
    assert [entry.name for entry in EXIT_CODES.values()] == [
        *("SUCCESS", "GENERAL_ERROR", "PARTIAL_FAILURE", "ARG_ERROR", "PRECONDITION", "NOT_FOUND", "CONFLICT"),
        *("PERMISSION_DENIED", "AUTH_REQUIRED", "PAYMENT_REQUIRED", "TIMEOUT", "RATE_LIMITED", "UNAVAILABLE"),
        "REDIRECTED",
    ]
    assert list(EXIT_CODES) == list(range(14))
    assert EXIT_CODES[3] == ExitCode(3, "ARG_ERROR", "BAD_ARGUMENT", retryable=True)


def test_the_posix_table_exits_with_two_for_a_wrong_argument_and_is_otherwise_the_same() -> None:
    posix = EXIT_TABLES["posix"]
    assert posix[2] == ExitCode(2, "ARG_ERROR", "BAD_ARGUMENT", retryable=True)
    assert posix[3] == ExitCode(3, "PARTIAL_FAILURE", "PARTIAL_FAILURE")
    assert {number: entry for number, entry in posix.items() if number not in {2, 3}} == {
        number: entry for number, entry in EXIT_CODES.items() if number not in {2, 3}
    }


def test_the_table_and_the_registry_agree_on_numbers() -> None:
    for number, entry in EXIT_CODES.items():
        if entry.code is not None:
            assert registry.definition(entry.code).exit_code == number


@pytest.mark.parametrize("number", [1, 2, 13, 79, 125])
def test_a_command_may_exit_with_these(number: int) -> None:
    check_exit_code(number)


@pytest.mark.parametrize(
    ("number", "why"), [(126, "shell"), (255, "shell"), (14, "reserved"), (78, "reserved"), (0, "re")]
)
def test_a_command_may_not_exit_with_these(number: int, why: str) -> None:
    with pytest.raises(ValueError, match=f"exit code is {number}; expected 1 to 13, or 79 to 125.*{why}"):
        CodeDefinition(http=500, retryable=False, hint="x", exit_code=number)
