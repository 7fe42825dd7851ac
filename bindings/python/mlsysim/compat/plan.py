"""The schema of plans and the command line by their old names."""

from .. import plans
from ..__main__ import main as app

__all__ = ["MlsysPlanSchema", "app"]


class MlsysPlanSchema:
    """A plan that was checked; `scorecard` is what came of it."""

    def __init__(self, **values):
        self.scorecard = plans.check(values)
        self.__dict__.update(values)

    @classmethod
    def model_validate(cls, values):
        """The plan. ErrorList with every problem where it cannot be read."""
        return cls(**values)

    @staticmethod
    def model_json_schema(**_):
        """Return the JSON Schema of plans."""
        return plans.schema()
