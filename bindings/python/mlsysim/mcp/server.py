"""The tools over the protocol, by the official SDK."""

import argparse
import json
import sys
import threading

from .files import Allowed
from .tools import Call, Stopped, all_tools, refusal

__all__ = ["answer", "main", "make_server"]

_INSTRUCTIONS = ("Predicts in closed form what a machine-learning workload does on a machine or fleet. Names of models, devices and fleets "
                 "come from zoo_search. Quantities are texts with a unit ('80 GB', '400 Gbps'). Answers are short: ask with detail for "
                 "assumptions. Resolvers are listed by list_available.")


def answer(name, arguments, call):
    """(what a tool answers, whether it is a refusal), without the protocol."""
    tools = {tool.name: tool for tool in all_tools()}
    try:
        tool = tools.get(name)
        if tool is None:
            from .. import _mlsysim as core
            from ..errors import LookupError, _input_error

            raise _input_error(f"there is no tool '{name}'", key=name, found=f"'{name}'", expected=f"one of {', '.join(tools)}",
                               hint=core._did_you_mean(name, list(tools)), kind=LookupError, id="mlsysim.python.217")
        arguments = arguments or {}
        missing = [key for key in tool.schema["required"] if key not in arguments]
        odd = [key for key in arguments if key not in tool.schema["properties"]]
        if name != "evaluate" and not name.startswith("resolve_") and (missing or odd):
            raise _bad_keys(tool, missing, odd)
        call.allowed.check(arguments)
        return tool.run(arguments, call), False
    except Stopped:
        raise
    except Exception as error:  # what an agent gets wrong is an answer to it
        return refusal(error), True


def _bad_keys(tool, missing, odd):
    from .. import _mlsysim as core
    from ..errors import _input_error

    known = list(tool.schema["properties"])
    if odd:
        return _input_error(f"{tool.name} takes no '{odd[0]}'", key=odd[0], found=f"'{odd[0]}'", expected=f"some of {', '.join(known)}",
                            hint=core._did_you_mean(odd[0], known), id="mlsysim.python.218")
    return _input_error(f"{tool.name} misses '{missing[0]}'", key=missing[0], found="nothing", expected="a value", id="mlsysim.python.219")


def make_server(allowed=Allowed()):
    """The server of the SDK. Work runs beside the loop, so that progress and cancelling get through."""
    import anyio
    from mcp import types
    from mcp.server.lowlevel import Server

    from .. import __version__

    async def list_tools(context, parameters):
        return types.ListToolsResult(tools=[types.Tool(name=t.name, description=t.about, input_schema=t.schema) for t in all_tools()])

    async def call_tool(context, parameters):
        gone = threading.Event()

        def report(done, total, words):
            anyio.from_thread.run(context.session.report_progress, float(done), float(total), words)

        try:
            found, refused = await anyio.to_thread.run_sync(
                lambda: answer(parameters.name, parameters.arguments, Call(allowed, report, gone.is_set)), abandon_on_cancel=True)
        finally:
            gone.set()  # the thread stops at its next report
        return types.CallToolResult(content=[types.TextContent(type="text", text=json.dumps(found))], structured_content=found,
                                    is_error=refused)

    return Server("mlsysim", version=__version__, instructions=_INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool)


async def _stdio(server):
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def main(words=None):
    """Reads the command line and serves."""
    parser = argparse.ArgumentParser(prog="python3 -m mlsysim.mcp", description="A server of the Model Context Protocol.")
    parser.add_argument("--allow", metavar="DIR", action="append", default=[], help="a folder whose files may be read; may be repeated")
    parser.add_argument("--http", metavar="[HOST:]PORT", help="streamable HTTP at /mcp in place of standard input and output; HOST is 127.0.0.1")
    parser.add_argument("--schemas", action="store_true", help="print the tools with their schemas as JSON, and end")
    options = parser.parse_args(words)
    if options.schemas:
        json.dump([{"name": t.name, "description": t.about, "inputSchema": t.schema} for t in all_tools()], sys.stdout, indent=1)
        print()
        return 0
    try:
        allowed = Allowed(options.allow)
    except OSError as error:
        parser.error(f"--allow: {error}")
    try:
        import anyio
        import mcp.server.lowlevel  # noqa: F401
    except ImportError as error:
        print(f"the server needs the SDK of the protocol: pip install 'mcp>=2' ({error})", file=sys.stderr)
        return 1
    server = make_server(allowed)
    if not options.http:
        anyio.run(_stdio, server)
        return 0
    import uvicorn

    host, _, port = options.http.rpartition(":")
    host = host or "127.0.0.1"
    uvicorn.run(server.streamable_http_app(host=host), host=host, port=int(port), log_level="warning")
    return 0
