"""Scenarios: a model on a system with a target. The registry is a table of entries of the zoo."""

from ..engine import SystemEvaluator
from ..results import _jsonable
from .errors import OOMError, SLAViolation

__all__ = ["Scenario", "Scenarios"]

# Name, what it is about, model, system, longest latency, power.
_ROWS = {
    "SmartDoorbell": ("Smart Doorbell", "Models.Tiny.WakeVision", "Hardware.Tiny.ESP32_S3", "200 ms", "100 mW"),
    "TinySensor": ("Anomaly Sensor", "Models.Tiny.AnomalyDetector", "Hardware.Tiny.ESP32_S3", "10 ms", "50 mW"),
    "AutonomousVehicle": ("Autonomous Vehicle", "Models.Vision.YOLOv8_Nano", "Hardware.Edge.JetsonOrinNX", "10 ms", None),
    "MobileHealth": ("Mobile Health", "Models.Vision.MobileNetV2", "Hardware.Mobile.iPhone15Pro", "30 ms", None),
    "MobileAssistant": ("Mobile Assistant", "Models.Language.Llama3_8B", "Hardware.Mobile.iPhone15Pro", "100 ms", "5 W"),
    "LocalTraining": ("Local LLM Fine-tuning", "Models.Language.Llama3_8B", "Hardware.Workstation.MacBookM3Max", "100 ms", None),
    "FrontierTraining": ("Frontier LLM Training", "Models.Language.GPT4", "Systems.Clusters.Frontier_8K", "500 ms", None),
    "ChatbotServing": ("Chatbot Serving", "Models.Language.Llama3_8B", "Hardware.Cloud.H100", "500 ms", None),
    "KeywordSpotting": ("Keyword Spotting", "Models.Tiny.DS_CNN", "Hardware.Tiny.ESP32_S3", "30 ms", "1 mW"),
}
# A fleet trains, and a step is what it takes long for.
_TIME = ("latency", "step_latency", "ttft")


class Scenario:
    """A workload on a system (a device or a fleet), with `sla_latency` to keep."""

    def __init__(self, name, workload, system, description="", application=None, sla_latency=None, target_accuracy=None, power_budget=None):
        from ..units import Q_

        self.name, self.description, self.application = name, description, application
        self.workload, self.system = workload, system
        self.sla_latency = None if sla_latency is None else Q_(sla_latency)
        self.power_budget = None if power_budget is None else Q_(power_budget)
        self.target_accuracy = target_accuracy

    @property
    def is_distributed(self):
        """Whether the system is a fleet."""
        return type(self.system).__name__ == "Fleet"

    def evaluate(self, batch_size=1, precision=None, **options):
        """The scorecard; options are those of SystemEvaluator.evaluate. Without a precision it is FP16, or else the device's own."""
        device = self.system.node.accelerator if self.is_distributed else self.system
        if precision is None and "fp16" in device.compute.precision_flops:
            precision = "fp16"
        where = {"fleet_obj": self.system, "mode": "train"} if self.is_distributed else {"hardware_obj": self.system}
        return SystemEvaluator.evaluate(self.name, self.workload, batch_size=batch_size, precision=precision, duration_days=365,
                                        **{**where, **options})

    def validate(self, **options):
        """True, or an OOMError or SLAViolation."""
        card = self.evaluate(**options)
        if card.feasibility.status == "FAIL":
            raise OOMError(f"{self.name}: {card.feasibility.summary}")
        took = next((card.performance.metrics[name] for name in _TIME if name in card.performance.metrics), None)
        if self.sla_latency is not None and took is not None and took > self.sla_latency:
            raise SLAViolation(f"{self.name} takes {took}; its target is {self.sla_latency}")
        return True

    def model_copy(self, update=None, deep=False):
        """The same with other members."""
        out = object.__new__(type(self))
        out.__dict__.update({**self.__dict__, **(update or {})})
        return out

    def model_dump(self, **_):
        """The members; workload and system as theirs."""
        return {name: _jsonable(value.model_dump() if hasattr(value, "model_dump") else value) for name, value in vars(self).items()}

    def __repr__(self):
        return f"Scenario({self.name!r})"


class _Scenarios:
    """The registry of the table."""

    def __getattr__(self, name):
        if name not in _ROWS:
            raise AttributeError(f"Scenarios has no '{name}'")
        from .modules import _part
        import mlsysim

        title, model, system, latency, power = _ROWS[name]

        def entry(path):
            found = mlsysim
            for part in path.split("."):
                found = _part(found, part)
            return found

        return Scenario(title, entry(model), entry(system), application=title, sla_latency=latency, power_budget=power)

    def __dir__(self):
        return sorted(_ROWS)

    def list(self, sort_by=None, reverse=False):
        return sorted((getattr(self, name) for name in _ROWS), key=lambda one: str(getattr(one, sort_by or "name")), reverse=reverse)

    def __repr__(self):
        return f"<Scenarios: {len(_ROWS)} entries>"


Scenarios = _Scenarios()
