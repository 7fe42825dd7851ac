"""Energy, cost, greenhouse gases and water of running a fleet for a period. What is not known is None."""

from types import SimpleNamespace

from zoo import default, entry, figure, get

DAY, YEAR = 86400.0, 365 * 86400.0


def device_power(hardware, utilization, fidelity):
    """Power rises linearly from its idle share to the thermal design power (barroso2018datacenter)."""
    tdp = get(hardware, "power.tdp", 0.0)
    idle = default("idle_fraction")
    if fidelity != "textbook" and tdp:
        idle = get(hardware, "power.idle", idle * tdp) / tdp
    return tdp * (idle + (1 - idle) * utilization)


def device_energy(hardware, utilization, time, fidelity):
    return device_power(hardware, utilization, fidelity) * time


def host_power(hardware, given=None):
    """Of the server, for each device: half of what its devices draw where one was measured (latif2024node). The
    power of a rack holds its hosts; hosts of other machines are not known."""
    if given is not None:
        return given
    if hardware.get("category") != "cloud" or "part" in hardware:
        return 0.0
    return figure("catalogue.power.host_share") * get(hardware, "power.tdp", 0.0)


def tiers_of(ports, radix):
    """Tiers of a folded Clos network of switches with so many ports (alfares2008fattree, section 2.2)."""
    tiers = 1
    while 2 * (radix / 2) ** tiers < ports:
        tiers += 1
    return tiers


def network_power(fleet, given=None):
    """Of the switches between nodes, for each device: a port of a leaf, and two of every tier above."""
    if given is not None:
        return given
    devices = fleet.node["accelerators_per_node"]
    if fleet.devices <= devices:
        return 0.0
    adapters = fleet.node.get("nics_per_node", devices)
    tiers = tiers_of(fleet.devices / devices * adapters, figure("catalogue.topology.switch_ports"))
    return figure("catalogue.power.switch_port") * (2 * tiers - 1) * adapters / devices


def electricity_price(grid):
    """The industrial price of the grid's state where the zoo has one."""
    known = figure("electricity." + grid.partition("_")[0].lower() + "_industrial")
    return default("electricity_price") if known is None else known


def macro(
    fleet,
    utilization,
    days,
    tokens_per_second=0.0,
    grid=None,
    datacenter=None,
    kwh_price=None,
    unit_cost=None,
    infrastructure=1.0,
    beside=0.0,
    fidelity="textbook",
):
    """`fleet`: hardware and devices. Prices in USD, USD/J; energies in J. `beside`: power of hosts and switches
    for each device."""
    hardware, period = fleet.hardware, days * DAY
    if get(hardware, "power.tdp") is None:
        return None
    facility = entry("datacenter", datacenter) if datacenter else {}
    grid = grid or facility.get("grid") or "US_Avg"
    out = SimpleNamespace(pue=facility.get("pue", default("pue")))
    wue = facility.get("wue", default("wue"))

    it_energy = 0.0
    for _ in range(int(fleet.devices)):
        it_energy += device_energy(hardware, utilization, period, fidelity) + beside * period
    out.energy = it_energy * out.pue  # of the facility (barroso2018datacenter)
    out.water = it_energy * wue  # WUE is per IT energy (greengrid2011wue)

    # Manufacture is spread evenly over the lifetime (gupta2022act, eq. 1); operation at the grid's mean
    # intensity.
    life = default("amortization_years") * YEAR
    embodied = get(hardware, "embodied_carbon", 0.0) * fleet.devices * period / life
    out.carbon = out.energy * entry("grid", grid)["carbon_intensity"] + embodied

    # Straight-line depreciation, a yearly share of the purchase for maintenance, one flat price of energy.
    price = get(hardware, "unit_cost") if unit_cost is None else unit_cost
    out.energy_cost = out.energy * (electricity_price(grid) if kwh_price is None else kwh_price)
    out.capex = out.maintenance = out.tco = None
    if price is not None:
        purchase = price * fleet.devices * infrastructure
        out.capex = purchase * period / life
        out.maintenance = purchase * default("maintenance_share") * period / YEAR
        out.tco = out.capex + out.energy_cost + out.maintenance

    out.cost_per_token = out.energy_per_token = out.carbon_per_token = None
    if tokens_per_second > 0:
        tokens = tokens_per_second * period
        out.cost_per_token = None if out.tco is None else out.tco / tokens
        out.energy_per_token = out.energy / tokens
        out.carbon_per_token = out.carbon / tokens
    return out
