"""A server of the Model Context Protocol: agents ask what the library answers.

    python3 -m mlsysim.mcp                    speaks on standard input and output
    python3 -m mlsysim.mcp --http 8000        speaks streamable HTTP on http://127.0.0.1:8000/mcp
    python3 -m mlsysim.mcp --schemas          prints every tool with its schema, and ends

`tools` are plain functions with schemas made from the tables of fields, `server` hands them to the SDK (pip install 'mcp>=2').
Each call is a process that reads the folders of --allow and the zoo alone, and writes nothing. docs/how-to/agents.md has the rest.
"""
