"""Resolvers by name."""

from ..factory import ResolverFactory

__all__ = ["ResolverFactory"]
