"""All asks, by what they are about."""

from . import laws, questions, resolvers, scenarios, together, zoo_tour


def every_ask():
    """Asks in the order of their tables; two of one name are a mistake of a table."""
    names = set()
    for part in (scenarios, zoo_tour, resolvers, laws, questions, together):
        for ask in part.asks():
            if ask.id in names:
                raise ValueError(f"asked twice: {ask.id}")
            names.add(ask.id)
            yield ask
