from .base import BaseResolver

class ResolverFactory:
    @staticmethod
    def list_available() -> dict[str, type[BaseResolver]]: ...
    @staticmethod
    def get(name: str) -> type[BaseResolver]: ...
