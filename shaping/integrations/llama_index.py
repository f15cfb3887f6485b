"""LlamaIndex: tools whose outputs are shaped."""

from collections.abc import Iterable
from copy import copy
from typing import Any, Unpack

from llama_index.core.llms import TextBlock
from llama_index.core.tools import FunctionTool, ToolOutput

from shaping.integrations import EXPAND, EXPAND_HELP, ConfigSource, ShaperOptions, ToolResults, holds_objects_of


def shape_tools(
    tools: Iterable[Any], config: ConfigSource = None, *, expand: bool = True, **options: Unpack[ShaperOptions]
) -> list[Any]:
    """Return the tools with shaped outputs: `FunctionAgent(tools=shape_tools([search, fetch]), llm=…)`."""
    results = ToolResults("llama-index", config, **options)
    shaped = [
        _shaped(tool if hasattr(tool, "metadata") else FunctionTool.from_defaults(tool), results) for tool in tools
    ]
    if expand:
        shaped.append(FunctionTool.from_defaults(results.shaping_expand, name=EXPAND, description=EXPAND_HELP))
    return shaped


def _shaped(tool: Any, results: ToolResults) -> Any:
    """Return a copy of a tool, of the same class because agents ask for it, whose calls end with shaping."""
    wrapped = copy(tool)

    def call(*args: Any, **kwargs: Any) -> ToolOutput:
        return _output(tool.call(*args, **kwargs), results)

    async def acall(*args: Any, **kwargs: Any) -> ToolOutput:
        return _output(await tool.acall(*args, **kwargs), results)

    wrapped.call, wrapped.acall = call, acall
    return wrapped


def _output(output: ToolOutput, results: ToolResults) -> ToolOutput:
    texts = [block for block in output.blocks if isinstance(block, TextBlock)]
    is_own = output.raw_output is None or holds_objects_of("llama_index", output.raw_output)
    if len(texts) == 1 and texts[0].text == str(output.raw_output) and not is_own:
        shaped = [results.text(output.raw_output, output.tool_name, failed=output.is_error)]
    else:
        shaped = [results.text(block.text, output.tool_name, failed=output.is_error) for block in texts]
    text = iter(shaped)
    blocks = [TextBlock(text=next(text)) if isinstance(block, TextBlock) else block for block in output.blocks]
    return output.model_copy(update={"blocks": blocks})
