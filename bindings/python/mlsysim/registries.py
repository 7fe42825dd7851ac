"""The zoo by name: Hardware.Cloud.H100, Models.Llama3_8B, Systems.Clusters.Frontier_8K, Infrastructure.Grids.Quebec.

An entry is found in its group (`Hardware.Cloud.H100`), directly (`Hardware.H100`) and by key (`Hardware["H100"]`), under its name
or an alias. The files are read on first use.

>>> mlsysim.Hardware.H100.memory.capacity == mlsysim.q("80 GiB")
True
"""

from . import _mlsysim as _core, compat
from . import specs as _specs  # noqa: F401: gives the classes their Python side

__all__ = ["Hardware", "Infrastructure", "Models", "Registry", "Systems", "Technology", "find"]

_tables = {}


def _table(type_name):
    """(spec, kind, name, aliases) of one type, read once."""
    if type_name not in _tables:
        _tables[type_name] = _core._zoo_specs(type_name)
    return _tables[type_name]


_names = {}


def find(type_name, name):
    """Find an entry of the zoo by name or alias.

    Parameters
    ----------
    type_name : str
        Type of the zoo, such as "hardware", "workload" or "grid".
    name : str
        Name or alias.

    Returns
    -------
    spec or None

    Examples
    --------
    >>> find("hardware", "H100").name
    'H100'
    """
    if type_name not in _names:
        index = {}
        for spec, _, own, aliases in _table(type_name):
            index[own] = spec
            for alias in aliases:
                index[alias] = spec
        _names[type_name] = index
    return _names[type_name].get(name)


def _group_name(category):
    return "".join(part.capitalize() for part in category.split("_"))


def _read_again():
    """After plugins came or went: their entries are part of the zoo."""
    _tables.clear()
    _names.clear()
    for registry in (Hardware, Models, Systems, Infrastructure, Technology):
        for index in (registry._groups, registry._specs, registry._aliases):
            index.clear()
        registry.__dict__["_filled"] = False


class Registry:
    """Entries of the zoo by name, in groups. `name in registry`, `registry[name]` and iteration work as in a dict of entries.

    Raises
    ------
    AttributeError, LookupError
        There is no such entry; the message lists near misses.

    Examples
    --------
    >>> "H100" in mlsysim.Hardware, len(mlsysim.Hardware) > 40
    (True, True)
    """

    def __init__(self, name, fill, about=""):
        self.__dict__.update(_name=name, _fill=fill, _filled=False, _groups={}, _specs={}, _aliases={}, __doc__=about)

    def _load(self):
        if not self._filled:
            self._fill(self)
            self.__dict__["_filled"] = True
        return self

    def _add(self, spec, name, aliases=(), group=None):
        self._specs[name] = spec
        for alias in aliases:
            self._aliases[alias] = spec
        if group is not None:
            if group not in self._groups:
                self._groups[group] = Registry(f"{self._name}.{group}", lambda registry: None)
            self._groups[group]._add(spec, name, aliases)

    def _get(self, name):
        self._load()
        for index in (self._groups, self._specs, self._aliases):
            if name in index:
                return index[name]
        return self._groups.get(name.lower())  # groups of figures: Pricing.cloud and Pricing.Cloud

    def _refusal(self, name):
        hint = _core._did_you_mean(name, [*self._groups, *self._specs, *self._aliases])
        return f"{self._name} has no '{name}'" + (f"; {hint}" if hint else "")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._get(name)
        return compat.entry(self._name, name, self._refusal(name)) if found is None else found

    def __setattr__(self, name, value):
        raise AttributeError(f"{self._name} is read-only: write a YAML file and load it with mlsysim.zoo.load()")

    def __getitem__(self, name):
        found = self._get(name)
        if found is None:
            from .errors import LookupError, _input_error

            raise _input_error(self._refusal(name), key=name, found=f"'{name}'", kind=LookupError,
                               id="mlsysim.python.104")
        return found

    def __contains__(self, name):
        return self._get(name) is not None

    def __iter__(self):
        return iter(self.list())

    def __len__(self):
        return len(self._load()._specs)

    def __dir__(self):
        self._load()
        return sorted({"list", "names", *self._groups, *(n for n in self._specs if n.isidentifier())})

    def _ipython_key_completions_(self):
        return [*self._load()._specs, *self._aliases]

    def __repr__(self):
        groups = f" in {', '.join(self._load()._groups)}" if self._load()._groups else ""
        return f"<{self._name}: {len(self)} entries{groups}>"

    def _repr_html_(self):
        from .notebook import table

        rows = ((name, getattr(self._specs[name], "title", ""), getattr(self._specs[name], "category", "")) for name in self.names())
        return table(repr(self)[1:-1], ("name", "title", "category"), rows)

    def names(self):
        """List the names of all entries in alphabetical order.

        Returns
        -------
        list of str

        Examples
        --------
        >>> "H100" in mlsysim.Hardware.names()
        True
        """
        return sorted(self._load()._specs)

    def list(self, sort_by=None, reverse=False):
        """List all entries in alphabetical order, or sorted by an attribute.

        Parameters
        ----------
        sort_by : str, optional
            Dotted attribute: "memory.bandwidth". Entries without it come last.
        reverse : bool, default False
            Whether the order is descending.

        Returns
        -------
        list

        Raises
        ------
        LookupError
            The entries have no such attribute.

        Examples
        --------
        >>> fastest, second = mlsysim.Hardware.list(sort_by="memory.bandwidth", reverse=True)[:2]
        >>> fastest.memory.bandwidth >= second.memory.bandwidth
        True
        """
        entries = [self._load()._specs[name] for name in self.names()]
        if sort_by is None:
            return entries[::-1] if reverse else entries
        keyed, rest = [], []
        for entry in entries:
            value = entry
            for part in sort_by.split("."):
                value = getattr(value, part, None) if value is not entry else _member(entry, part, self._name)
            (rest if value is None else keyed).append((value, entry))
        keyed.sort(key=lambda pair: pair[0], reverse=reverse)
        return [entry for _, entry in keyed] + [entry for _, entry in rest]


def _member(entry, name, registry):
    if not hasattr(type(entry), name):
        from .errors import LookupError, _input_error

        raise _input_error(f"entries of {registry} have no '{name}'", key=name, found=f"'{name}'",
                           expected="an attribute of the entries",
                           hint=_core._did_you_mean(name, [n for n in dir(type(entry)) if not n.startswith("_")]), kind=LookupError, id="mlsysim.python.105")
    return getattr(entry, name)


def _by_category(type_name, renamed=None):
    def fill(registry):
        for spec, _, name, aliases in _table(type_name):
            category = getattr(spec, "category", None)
            group = (renamed or {}).get(category) or (_group_name(category) if category else None)
            registry._add(spec, name, aliases, group)

    return fill


def _by_type(types, figures=None):
    """Groups of whole types, and groups of the named figures of one kind."""

    def fill(registry):
        for group, type_name in types:
            for spec, _, name, aliases in _table(type_name):
                registry._add(spec, name, aliases, group)
        for spec, kind, name, aliases in _table("figure"):
            if kind in (figures or {}):
                group = figures[kind]
                registry._add(spec, name, aliases, group)
                _nest(registry._groups[group], spec, name)
        for alias, group in (("FacilityCooling", "Cooling"),):
            if group in registry._groups:
                registry._groups[alias] = registry._groups[group]

    return fill


def _nest(registry, spec, name):
    """Figures are called "cloud.electricity": Pricing.cloud.electricity."""
    head, dot, rest = name.partition(".")
    if not dot:
        return
    if head not in registry._groups:
        registry._groups[head] = Registry(f"{registry._name}.{head}", lambda r: None)
    inner = registry._groups[head]
    inner._specs[rest] = spec
    _nest(inner, spec, rest)


Hardware = Registry("Hardware", _by_category("hardware"), "Accelerators and processors.")
Models = Registry("Models", _by_category("workload", {"generative": "GenerativeVision"}), "Machine-learning models.")
Systems = Registry(
    "Systems",
    _by_type((("Nodes", "node"), ("Fabrics", "fabric"), ("Clusters", "fleet"), ("Pods", "pod"), ("Racks", "rack"),
              ("Storage", "storage")), {"reliability": "Reliability", "switch": "Switches"}),
    "Nodes, fabrics, clusters, pods, racks, storage.")
Infrastructure = Registry(
    "Infrastructure",
    _by_type((("Grids", "grid"), ("Datacenters", "datacenter"), ("Cooling", "cooling")),
             {"price": "Pricing", "capacity": "Capacity", "embodied_carbon": "EmbodiedCarbon"}),
    "Grids, facilities, prices.")
Technology = Registry("Technology", _by_type((("Engines", "engine"),), {"convention": "Conventions"}), "Figures of technology and conventions.")
