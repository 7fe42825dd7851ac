"""Constants and reference data by their old paths, read from the zoo, with where they come from.

`_TREE` maps a path to the figure of the zoo, and to the unit of a bare number where the other package keeps one.
"""

from .provenance import Provenance, Sourced

_PLATFORM = {"ram": "memory", "storage": "storage", "typical_latency_budget": "latency_budget"}
_TREE = {
    "Literature.Chinchilla.TokensPerParam": ("chinchilla.tokens_per_parameter", "token/param"),
    "Literature.Chinchilla.ComputeConstant": ("chinchilla.compute_constant", None),
    "Literature.Mfu.TrainingLow": ("mfu.training_low", None),
    "Literature.Mfu.TrainingHigh": ("mfu.training_high", None),
    "Literature.Mfu.InferenceBatch1": ("mfu.inference_batch1", None),
    "Literature.Mfu.InferenceBatched": ("mfu.inference_batched", None),
    **{f"Platforms.{tier}.{old}": (f"platform.{tier}.{own}", "")
       for tier in ("Cloud", "Edge", "Mobile", "Tiny") for old, own in _PLATFORM.items()},
    **{f"Tech.Memory.{name}.bandwidth": (f"technology.memory.{name}.bandwidth", "") for name in ("DDR4_3200", "GDDR6X", "HBM2", "HBM3")},
    **{f"Tech.Memory.{name}.latency": (f"technology.memory.{name}.latency", "") for name in ("DRAM", "L1", "L2", "Register")},
    **{f"Tech.Interconnect.{name}.latency": (f"technology.interconnect.{name}.latency", "") for name in ("NVLink", "PCIeGen5")},
    "calibration.KERNEL_LAUNCH_LATENCY_US": ("legacy.kernel_launch", "us"),
    "calibration.FRAMEWORK_LAYER_TAX_MS": ("legacy.framework_layer_tax", "ms"),
    "calibration.MFU_FLASH_ATTENTION": ("legacy.mfu_flash_attention", None),
    "calibration.MFU_FFN_CAP": ("legacy.mfu_ffn_cap", None),
    "calibration.MFU_CONV_CAP": ("legacy.mfu_conv_cap", None),
    "calibration.TOKENS_PER_REASONING_STEP": ("legacy.tokens_per_reasoning_step", None),
    "calibration.DP_SGD_SLOWDOWN_COEFFICIENT": ("legacy.dp_sgd_slowdown_coefficient", None),
    "calibration.DEFAULT_SCALING_EFFICIENCY": ("legacy.scaling_efficiency", None),
    "calibration.DEFAULT_OVERLAP_EFFICIENCY": ("legacy.overlap_efficiency", None),
    "calibration.DEFAULT_COMPUTE_EFFICIENCY": ("legacy.compute_efficiency", None),
    "calibration.QUANT_ACCURACY_DELTA_FP8": ("legacy.quant_accuracy_delta_fp8", None),
    "calibration.QUANT_ACCURACY_DELTA_INT8": ("legacy.quant_accuracy_delta_int8", None),
    "calibration.QUANT_ACCURACY_DELTA_INT4": ("legacy.quant_accuracy_delta_int4", None),
    "calibration.QUANT_ACCURACY_DELTA_SUB_INT4": ("catalogue.compression.below4_change", None),
    "calibration.PRUNING_MILD_DELTA": ("catalogue.compression.mild_pruning_change", None),
    "calibration.PRUNING_STEEP_COEFFICIENT": ("catalogue.compression.steep_pruning_coefficient", None),
    "calibration.MFU_FLASH_ATTENTION_CAP": ("catalogue.efficiency.flash_attention_cap", None),
    "calibration.SM_OCCUPANCY_HEADROOM": ("catalogue.efficiency.occupancy_headroom", None),
    "calibration.REFERENCE_MFU_SUSTAINED": ("catalogue.scaling.reference_mfu", None),
    "calibration.REFERENCE_HARDWARE_TFLOPS": ("catalogue.scaling.reference_peak", "TFLOP/s"),
    "calibration.ENERGY_IDLE_FRACTION": ("default.idle_fraction", None),
    "calibration.SPECULATIVE_GAMMA": ("default.draft_tokens", None),
    "calibration.CHECKPOINT_BYTES_PER_PARAM_ADAM": ("catalogue.checkpoint.adam_bytes", None),
    "calibration.CHECKPOINT_BYTES_PER_PARAM_SGD": ("catalogue.checkpoint.sgd_bytes", None),
    "calibration.FALLBACK_STORAGE_BANDWIDTH_GB_S": ("catalogue.checkpoint.storage_fallback", "GB/s"),
}


def _sourced(value, figure):
    """A number with the provenance of a figure of the zoo."""
    own = figure.provenance()
    return Sourced(value, own and Provenance(own.kind, str(own), own.url, own.verified, own.note, own.ref), figure.name)


def _figure(name, unit):
    """A quantity for "", else a number in a unit; None is a number in the unit of the zoo."""
    from ..registries import Technology

    figure = Technology[name]
    if unit == "":
        return figure.value
    number = figure.value if isinstance(figure.value, float) else figure.value.m_as(unit) if unit else figure.value.magnitude
    return _sourced(number, figure)


class _Named:
    """What a path of figures has beside its parts."""

    name = property(lambda self: self._path.rpartition(".")[2])

    def list(self):
        return [getattr(self, name) for name in dir(self)]

    def __repr__(self):
        return f"<{self._path}: {', '.join(dir(self))}>"


class _Branch(_Named):
    """A path of the tree; its leaves are figures of the zoo."""

    def __init__(self, path):
        self._path = path

    def __getattr__(self, name):
        path = f"{self._path}.{name}"
        if path in _TREE:
            return _figure(*_TREE[path])
        if any(known.startswith(path + ".") for known in _TREE):
            return _Branch(path)
        raise AttributeError(f"{self._path} has no '{name}'")

    def __dir__(self):
        return sorted({known[len(self._path) + 1:].split(".")[0] for known in _TREE if known.startswith(self._path + ".")})


class _Group(_Named):
    """Figures of the zoo under one beginning of a name: `Datasets.ImageNet.training_examples` is "dataset.ImageNet.training_examples"."""

    def __init__(self, path, prefix):
        self._path, self._prefix = path, prefix

    def __getattr__(self, name):
        full = f"{self._prefix}.{name}"
        names = _figure_names()
        if full in names:
            from ..registries import Technology

            value = Technology[full].value
            return _sourced(value, Technology[full]) if isinstance(value, float) else value
        if any(known.startswith(full + ".") for known in names):
            return _Group(f"{self._path}.{name}", full)
        raise AttributeError(f"{self._path} has no '{name}'")

    def __dir__(self):
        return sorted({known[len(self._prefix) + 1:].split(".")[0] for known in _figure_names() if known.startswith(self._prefix + ".")})


def _figure_names():
    from ..registries import Technology

    return Technology.names()


Literature, Platforms, Tech, calibration = map(_Branch, ("Literature", "Platforms", "Tech", "calibration"))
Datasets, Ops = _Group("Datasets", "dataset"), _Group("Ops", "ops")
