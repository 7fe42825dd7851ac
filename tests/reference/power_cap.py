"""What a cap on power, or on the clock, makes of a pass.

Dynamic power goes with the clock and the square of the voltage, and the voltage with the clock (horowitz2014energy):
an operation costs f^2, and below a knee always the same. Memory draws for a byte whatever the clock, the way through
the chip as operations do; waiting draws nothing beyond idle power. Clocks are over the one that the full power sustains.
"""

from types import SimpleNamespace

from zoo import default, get

MEMORY = 0.3  # of the energy of a byte: 3.92 pJ/bit of HBM2 (oconnor2017fgdram) of the 95 pJ/B of a B200
KNEE = 0.6  # clock below which the voltage stays


def limits_of(hardware, power_cap, clock_limit):
    """What a request limits, or None."""
    if power_cap is None and clock_limit == 1:
        return None
    tdp = get(hardware, "power.tdp")
    idle = get(hardware, "power.idle", default("idle_fraction") * tdp) / tdp
    share = (power_cap or tdp) / tdp
    return SimpleNamespace(budget=min(1.0, (share - idle) / (1 - idle)), clock=clock_limit)


def slowed(time, clocked, whole, device):
    """Time of a pass of which `clocked` goes with the clock, and the time at full power that draws as much."""
    limits = device.limits
    traffic = device.traffic_draw * whole.traffic / device.memory_bandwidth
    moved = MEMORY * min(traffic, time)
    drawn = device.work_draw * whole.work / device.matrix_rate + device.resident_draw * whole.kernels() + traffic
    worked = min(drawn, time) - moved

    def lasts(clock):
        return time - clocked + clocked / clock

    def draws(clock):
        return worked * max(clock, KNEE) ** 2 + moved

    def within(clock):
        return draws(clock) <= limits.budget * lasts(clock)

    low, high = min(KNEE, limits.clock), limits.clock
    if not within(high):
        for _ in range(200):  # the power falls with the clock: halving finds where it meets the cap
            middle = (low + high) / 2
            low, high = (middle, high) if within(middle) else (low, middle)
        high = low
    # Where the knee is still too much, everything waits until the mean is the cap.
    return max(lasts(high), draws(high) / limits.budget), draws(high)
