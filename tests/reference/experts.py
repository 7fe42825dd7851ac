"""The kernels of routed experts and of dense products that a runtime names, and their constants on a device (zoo/kernels)."""

from types import SimpleNamespace

from formats import BYTES, bytes_of_format
from zoo import default, entry, get, of, of_class, own_figure

KERNELS = 8  # of a layer: three that choose and order, one that gathers, two products, the activation, the sum


def classes(hardware):
    name = hardware.get("device_class", "gpu")
    while name:
        yield name
        name = entry("device_class", name).get("like")


def extended(kind, of):
    """An entry, and along `extends` those whose figures hold where it states none."""
    while of:
        yield of
        of = entry(kind, of["extends"]) if "extends" in of else None


def choice_of(engine, hardware, stored):
    """The row of the nearest runtime for the format; where no runtime has one, the nearest for any format."""
    rows = [
        choice
        for runtime in extended("engine", engine)
        for choice in runtime.get("experts", [])
        if choice.get("generation") in (None, *classes(hardware)) and choice.get("format", stored) == stored
    ]
    rows.sort(key=lambda choice: "format" not in choice)
    return rows[0]["family"] if rows else None


def rates_of(family, hardware, stored, tuned=False):
    """Of the stored format, else of the one that is nearest in bits, within a factor of 1.5."""
    own = bytes_of_format(stored)
    rows = [
        row
        for f in extended("kernel_family", entry("kernel_family", family))
        for row in f.get("experts", [])
        if row["generation"] in classes(hardware)
        and get(hardware, "compute.dense." + row["multiplies"])
        and row.get("tuned", False) == tuned
    ]
    for row in rows:
        if row["format"] == stored:
            return row
    away = lambda row: max(bytes_of_format(row["format"]) / own, own / bytes_of_format(row["format"]))  # noqa: E731
    near = [row for row in rows if away(row) < 1.5]
    return min(near, key=away) if near else None


def constants(row):
    return SimpleNamespace(
        share=row["share"], stream=row["stream"], tile=row["tile"], launch=row["floor"] * default("chained_floor") / KERNELS
    )


def set_experts(device, hardware, engine, stored):
    """The floor of a layer is shared by its kernels; of it a part counts between others of a captured step."""
    family = choice_of(engine, hardware, stored) if engine else None
    row = rates_of(family, hardware, stored) if family else None
    if row is None:
        return
    device.experts = constants(row)
    device.experts.peak = get(hardware, "compute.dense." + row["multiplies"])
    shapes = [
        (listed["experts"], width)
        for f in extended("kernel_family", entry("kernel_family", family))
        for listed in f.get("tuned", [])
        if listed["device"] == hardware["name"] and listed["format"] == stored
        for width in listed["widths"]
    ]
    device.experts.shapes = shapes
    device.experts.tuned = constants(rates_of(family, hardware, stored, True) or row) if shapes else None


def set_products(device, hardware, engine, precision):
    """Dense products of the family of the runtime, or of the nearest one that it extends, unless the device has a share of its own."""
    while engine and "products" not in engine:
        engine = entry("engine", engine["extends"]) if "extends" in engine else None
    family = engine and engine["products"]
    rows = [row for row in (entry("kernel_family", family)["products"] if family else [])
            if row["multiplies"] == precision and row["generation"] in classes(hardware)]
    figure = "efficiency.matrix_narrow" if BYTES[precision] <= 1 else "efficiency.matrix"
    own, usual = own_figure(hardware, figure), of_class(figure, hardware.get("device_class", "gpu"), hardware)
    if rows and not (own and usual and abs(own / usual - 1) > 0.02):
        device.matrix_share, device.product_stream = rows[0]["share"], rows[0]["stream"]
        if "unit_bytes" in rows[0]:  # loads on their way at once, of all units
            most = device.units * rows[0]["unit_bytes"] * of(hardware, "compute.clock")
            device.product_stream = min(device.product_stream, most / (device.memory_bandwidth * device.memory_share))
