"""The tools over the protocol, by the official SDK."""

import argparse
import json
import os
import sys

from .calls import Child, Limits, start
from .tools import all_tools

__all__ = ["main", "make_server"]

_CALLS = 8  # that run at once; others wait for one of them

_INSTRUCTIONS = ("Predicts in closed form what a machine-learning workload does on a machine or fleet. Names of models, devices and fleets "
                 "come from zoo_search. Quantities are texts with a unit ('80 GB', '400 Gbps'). Answers are short: ask with detail for "
                 "assumptions. Resolvers are listed by list_available.")


def _listed():
    return [{"name": tool.name, "description": tool.about, "inputSchema": tool.schema} for tool in all_tools()]


def make_server(folders=(), limits=Limits()):
    """The server of the SDK: calls may read below these folders. Each call is a process; the server itself computes nothing."""
    import anyio
    from mcp import types
    from mcp.server.lowlevel import Server

    from .. import __version__

    turns = []

    async def ended(begin, report=None):
        """What a process finds; it is stopped when the caller leaves."""
        if not turns:
            turns.append(anyio.CapacityLimiter(_CALLS))
        async with turns[0]:
            child = begin()
            try:
                return await anyio.to_thread.run_sync(child.result, report, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
            finally:
                child.stop()

    async def list_tools(context, parameters):
        found, _ = await ended(lambda: Child(lambda report: (_listed(), False), limits))
        return types.ListToolsResult(tools=[types.Tool(name=t["name"], description=t["description"], input_schema=t["inputSchema"]) for t in found])

    async def call_tool(context, parameters):
        def report(done, total, words):
            anyio.from_thread.run(context.session.report_progress, float(done), float(total), words)

        found, refused = await ended(lambda: start(parameters.name, parameters.arguments, folders, limits), report)
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
    parser.add_argument("--call-seconds", metavar="S", type=float, default=Limits.seconds, help="the longest that one call may take (default: %(default)s)")
    parser.add_argument("--call-memory", metavar="MIB", type=int, default=Limits.memory >> 20, help="the memory of one call (default: %(default)s)")
    parser.add_argument("--schemas", action="store_true", help="print the tools with their schemas as JSON, and end")
    options = parser.parse_args(words)
    if options.schemas:
        json.dump(_listed(), sys.stdout, indent=1)
        print()
        return 0
    for folder in options.allow:
        if not os.path.isdir(folder):
            parser.error(f"--allow: '{folder}' is no folder")
    limits = Limits(seconds=options.call_seconds, memory=options.call_memory << 20)
    try:
        import anyio
        import mcp.server.lowlevel  # noqa: F401
    except ImportError as error:
        print(f"the server needs the SDK of the protocol: pip install 'mcp>=2' ({error})", file=sys.stderr)
        return 1
    server = make_server(options.allow, limits)
    if not options.http:
        anyio.run(_stdio, server)
        return 0
    import uvicorn

    host, _, port = options.http.rpartition(":")
    host = host or "127.0.0.1"
    uvicorn.run(server.streamable_http_app(host=host), host=host, port=int(port), log_level="warning")
    return 0
