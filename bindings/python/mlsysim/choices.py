"""Names of choices."""

__all__ = ["Choice"]


class Choice(str):
    """Name from a closed list, such as 'memory'.

    It also equals the text that the Python package mlsysim uses for it. Its hash is that of its own text.

    Examples
    --------
    >>> mlsysim.Engine.solve("Llama3_8B", "H100").bottleneck == "Memory"
    True
    """

    __slots__ = ()

    def __eq__(self, other):
        same = str.__eq__(self, other)
        if same is not False:
            return same
        from .compat import same_text

        return same_text(str(self), str(other))

    def __ne__(self, other):
        same = self.__eq__(other)
        return same if same is NotImplemented else not same

    __hash__ = str.__hash__

    def __str__(self):
        return str.__str__(self)

    def __reduce__(self):
        return (Choice, (str.__str__(self),))
