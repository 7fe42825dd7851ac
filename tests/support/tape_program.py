"""Runs programs that mlsysim exports as JSON (docs/reference/exported-programs.md). Needs nothing but Python."""

import math

ONE = {"negate": lambda a: -a, "abs": abs, "ceil": lambda a: float(math.ceil(a)) if math.isfinite(a) else a,
       "floor": lambda a: float(math.floor(a)) if math.isfinite(a) else a, "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
       "log": lambda a: math.log(a) if a > 0 else -math.inf if a == 0 else math.nan,
       "log2": lambda a: math.log2(a) if a > 0 else -math.inf if a == 0 else math.nan,
       "exp": math.exp, "negation": lambda a: 1.0 - a}
TWO = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "both": lambda a, b: a * b,
       "divide": lambda a, b: a / b if b else math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b),
       "min": lambda a, b: b if b < a else a, "max": lambda a, b: b if a < b else a, "either": lambda a, b: b if a < b else a,
       "pow": math.pow, "quadrature": lambda a, b: math.sqrt(a * a + b * b), "less": lambda a, b: float(a < b), "less_equal": lambda a, b: float(a <= b), "equal": lambda a, b: float(a == b),
       "not_equal": lambda a, b: float(a != b)}


def run(program, given):
    """The values of all nodes at one point; `given` holds the inputs in base units."""
    values, loops = [], {}
    for op, *at in program["nodes"]:
        if op == "input": x = given[at[0]]
        elif op == "constant": x = float(program["constants"][at[0]])
        elif op == "select": x = values[at[1]] if values[at[0]] != 0 else values[at[2]]
        elif op == "loop":
            if at[0] not in loops: loops[at[0]] = run_loop(program["loops"][at[0]], values)
            x = loops[at[0]][at[1]]
        else: x = (ONE[op](values[at[0]]) if op in ONE else TWO[op](values[at[0]], values[at[1]]))
        values.append(x)
    return values


def run_loop(loop, values):
    states, done, captured = [values[n] for n in loop["initial"]], 0.0, [values[n] for n in loop["captured"]]
    if not values[loop["count"]] <= loop["bound"]: return [math.nan] * len(states)
    while done < values[loop["count"]]:
        body = run(loop["body"], [done, *states, *captured])
        states, done = [body[n] for n in loop["body"]["outputs"]], done + 1.0
    return states
