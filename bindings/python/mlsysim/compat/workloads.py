"""Classes of models by family. Each makes a Workload, and is the class of every Workload of its architecture."""

from .._mlsysim import Quantity
from ..specs import InferenceTotals, Workload

__all__ = ["TransformerWorkload", "SparseTransformerWorkload", "CNNWorkload", "SSMWorkload", "DiffusionWorkload"]


# Keywords of all families: entry is our keyword, or None where nothing here depends on it.
_COMMON = {
    "name": "name", "parameters": "parameters", "model_size": "model_size", "release_year": "release_year",
    "context_length": "max_positions", "metadata": None, "training_accelerators_ref": None, "training_days_ref": None,
    "training_energy_mwh": None, "training_gpu_days": None, "training_hardware_label": None, "training_co2e": None,
    "parameter_range_min": None, "parameter_range_max": None,
}
_SHAPE = {"layers": "layers", "hidden_dim": "hidden_dim", "heads": "heads", "kv_heads": "kv_heads", "head_dim": "head_dim"}


class _Family(type):
    """`TransformerWorkload(...)` is a Workload; isinstance asks for its architecture."""

    def __call__(cls, **values):
        from ..errors import _input_error

        given = {"architecture": cls._architectures[0]}
        values.pop("architecture", None)
        for name, value in values.items():
            if value is None:
                continue
            if name == "inference_flops":
                work = Quantity(value, "FLOP") if isinstance(value, (int, float)) else value
                given["inference"] = InferenceTotals(work=work, per=cls._per)
            elif name in cls._keywords:
                if cls._keywords[name] is not None:
                    given[cls._keywords[name]] = value
            else:
                raise _input_error(f"{cls.__name__} takes no '{name}'", key=name, found=f"'{name}'",
                                   expected=f"some of {', '.join((*cls._keywords, 'inference_flops'))}",
                                   hint="docs/how-to/add-a-model.md describes models of any shape", id="mlsysim.python.203")
        return Workload(**cls._shaped(given))

    def _shaped(cls, given):
        """The keywords of a Workload; a family whose blocks differ from those of a plain decoder says how."""
        return given

    def __instancecheck__(cls, value):
        return isinstance(value, Workload) and str(value.architecture) in cls._architectures and (
            cls.__name__ != "SparseTransformerWorkload" or value.experts is not None)


class TransformerWorkload(metaclass=_Family):
    """A decoder, or a stack of encoders."""

    _architectures, _per = ("decoder", "encoder"), "token"
    _keywords = {**_COMMON, **_SHAPE}


class _Sparse(_Family):
    def _shaped(cls, given):
        shape = {name: given.pop(name) for name in ("layers", "hidden_dim", "heads", "kv_heads", "head_dim", "experts", "top_k") if name in given}
        heads = {name: shape[name] for name in ("heads", "kv_heads", "head_dim") if name in shape}
        experts = {"count": shape["experts"], "top_k": shape.get("top_k", 1)}
        return {**given, "stacks": ({"hidden": shape["hidden_dim"], "layers": ({"times": shape["layers"]},), "mixer": {"grouped": heads},
                                     "feed_forward": {"experts": experts}},)}


class SparseTransformerWorkload(TransformerWorkload, metaclass=_Sparse):
    """A decoder with experts, of which every token visits a few."""

    _keywords = {**_COMMON, **_SHAPE, "active_parameters": "active_parameters", "experts": "experts", "active_experts_per_token": "top_k"}


class CNNWorkload(metaclass=_Family):
    """A convolutional network of so many parameters and operations an image."""

    _architectures, _per = ("cnn",), "image"
    _keywords = {**_COMMON, "layers": "layers", "width_multiplier": None}


class _Recurrent(_Family):
    def _shaped(cls, given):
        state, hidden, layers = (given.pop(name, None) for name in ("state_size", "hidden_dim", "layers"))
        return {**given, "stacks": ({"hidden": hidden, "layers": ({"times": layers},), "mixer": {"state_space": {"state_size": state}}},)}


class SSMWorkload(metaclass=_Recurrent):
    """A state-space model, whose state does not grow with the sequence."""

    _architectures, _per = ("ssm",), "token"
    _keywords = {**_COMMON, "layers": "layers", "hidden_dim": "hidden_dim", "state_size": "state_size"}


class DiffusionWorkload(metaclass=_Family):
    """A model that is evaluated once a denoising step."""

    _architectures, _per = ("diffusion",), "step"
    _keywords = {**_COMMON, "denoising_steps": "denoising_steps", "resolution": None}
