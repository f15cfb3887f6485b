from shaping.envelope import (
    CommandMeta,
    HttpMeta,
    LocalMeta,
    McpMeta,
    presentable,
)

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def test_blocks_that_hold_the_unshaped_answer_are_left_out() -> None:
    meta = McpMeta(
        content=({"type": "text", "text": "raw"},), structured_content={"raw": 1}, meta={"k": TOKEN}, tier="pro"
    )
    assert presentable(meta) == McpMeta(meta={"k": "[redacted:github-token]"}, tier="pro")


def test_headers_that_are_credentials_are_masked() -> None:
    meta = HttpMeta(status=200, headers=(("Set-Cookie", "sid=1"), ("ETag", "abc"), ("X-Echo", f"t {TOKEN}")))
    assert presentable(meta) == HttpMeta(
        status=200,
        headers=(("Set-Cookie", "[redacted:header]"), ("ETag", "abc"), ("X-Echo", "t [redacted:github-token]")),
    )


def test_arguments_that_are_secrets_are_masked() -> None:
    meta = CommandMeta(argv=("gh", "auth", TOKEN))
    assert presentable(meta) == CommandMeta(argv=("gh", "auth", "[redacted:github-token]"))


def test_a_local_answers_meta_stays() -> None:
    meta = LocalMeta(operation_id="op")
    assert presentable(meta) is meta
