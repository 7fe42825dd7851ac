"""Plots with matplotlib, which the package does not need otherwise. Each gives (figure, axes)."""

__all__ = ["plot_roofline", "plot_evaluation_scorecard"]


def _axes(ax):
    from importlib import import_module

    from ..errors import _input_error

    try:
        plt = import_module("matplotlib.pyplot")
    except ModuleNotFoundError as error:
        raise _input_error("plots need matplotlib", key="matplotlib", found="no such package", expected="pip install matplotlib",
                           id="mlsysim.python.204") from error
    return plt.subplots() if ax is None else (ax.figure, ax)


def plot_roofline(hardware, workloads=None, precision=None, ax=None):
    """The roofline of a device, and models on it at the intensity of reading their weights once."""
    figure, ax = _axes(ax)
    peak = (hardware.rate_at(precision) if precision else hardware.compute.peak_flops).m_as("FLOP/s")
    bandwidth = hardware.memory.bandwidth.m_as("B/s")
    ridge = peak / bandwidth
    xs = [ridge * 10 ** (k / 10) for k in range(-30, 21)]
    ax.loglog(xs, [min(peak, x * bandwidth) for x in xs], label=hardware.name)
    for model in workloads or ():
        intensity = (model.inference_flops / model.size_in_bytes()).m_as("FLOP/B")
        ax.plot([intensity], [min(peak, intensity * bandwidth)], "o", label=model.name)
    ax.set_xlabel("intensity [FLOP/B]")
    ax.set_ylabel("attainable rate [FLOP/s]")
    ax.legend()
    return figure, ax


def plot_evaluation_scorecard(evaluation, ax=None):
    """The parts of the latency of a scorecard, or the parts of its memory where it has no latency."""
    figure, ax = _axes(ax)
    times = {name: value for name, value in evaluation.performance.metrics.items() if name.startswith("latency_")}
    rows, unit = (times, "ms") if times else (evaluation.memory, "GB")
    ax.barh([name.replace("_", " ") for name in rows], [value.m_as(unit) for value in rows.values()])
    ax.set_xlabel(f"{'time' if times else 'memory'} [{unit}]")
    ax.set_title(evaluation.scenario_name)
    return figure, ax
