#include "support/catch.hpp"

#include <mlsysim/physics/energy.hpp>
#include <mlsysim/physics/operator_load.hpp>

#include <utility>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("power rises linearly from the idle share to the full power", "[physics]") {
  const auto at = [](double load) {
    return EnergyProportional::solve({.tdp = 700 * u::W, .utilization = load, .time = 10 * u::s});
  };
  CHECK_THAT(at(0).power.in(u::W), WithinRel(210.0, 1e-14));
  CHECK_THAT(at(0.4).power.in(u::W), WithinRel(406.0, 1e-14));  // 700 * (0.3 + 0.7 * 0.4)
  CHECK_THAT(at(1).power.in(u::W), WithinRel(700.0, 1e-15));
  CHECK_THAT(at(0.4).energy.in(u::J), WithinRel(4060.0, 1e-14));
}

TEST_CASE("IT energy of 256 devices over 30 days", "[physics]") {
  // 256 * 700 W * 720 h = 129 024 kWh at full load; 0.58 of it, 74 833.92 kWh, at load 0.4
  const auto full = EnergyProportional::solve({.tdp = 256 * 700 * u::W, .utilization = 1, .time = 30 * u::d});
  CHECK_THAT(full.energy.in(u::kWh), WithinRel(129024.0, 1e-13));
  const auto part =
      EnergyProportional::solve({.tdp = 256 * 700 * u::W, .utilization = 0.4, .time = 30 * u::d});
  CHECK_THAT(part.energy.in(u::kWh), WithinRel(74833.92, 1e-12));
}

TEST_CASE("switches of a folded Clos network", "[physics]") {
  // 64 ports a switch: one switch joins 64 hosts, two tiers 64^2 / 2 = 2048, three 64^3 / 4 = 65,536; of two
  // tiers every host has its own port of a leaf, one upwards and one of a spine.
  const auto at = [](double ports) {
    const auto r = ClosPower::solve({.ports = ports, .radix = 64, .port_power = 27 * u::W});
    return std::pair{r.tiers, r.power.in(u::W)};
  };
  CHECK(at(64) == std::pair{1.0, 27.0});
  CHECK(at(65) == std::pair{2.0, 81.0});
  CHECK(at(2048) == std::pair{2.0, 81.0});
  CHECK(at(2049) == std::pair{3.0, 135.0});
  CHECK(at(65536) == std::pair{3.0, 135.0});
  CHECK(at(65537) == std::pair{4.0, 189.0});
}

TEST_CASE("energy by operations adds arithmetic, traffic and time", "[physics]") {
  // 1 TFLOP at 0.5 pJ = 0.5 J; 10 GB at 40 pJ/B = 0.4 J; 90 W for 10 ms = 0.9 J
  const auto r = EnergyPerOperation::solve({.work = 1 * u::TFLOP,
                                            .traffic = 10 * u::GB,
                                            .energy_per_work = 0.5 * u::pJ / u::FLOP,
                                            .energy_per_data = 40 * u::pJ / u::B,
                                            .static_power = 90 * u::W,
                                            .time = 10 * u::ms});
  CHECK_THAT(r.compute_energy.in(u::J), WithinRel(0.5, 1e-14));
  CHECK_THAT(r.memory_energy.in(u::J), WithinRel(0.4, 1e-14));
  CHECK_THAT(r.static_energy.in(u::J), WithinRel(0.9, 1e-14));
  CHECK_THAT(r.energy.in(u::J), WithinRel(1.8, 1e-14));
}

TEST_CASE("a step loads a device by what it computes and moves, and by its kernels", "[physics]") {
  // Qwen3-14B for 16 requests on an H100: 29.6 GB of weights take 8.836 ms at 3.35 TB/s, 0.4739 TFLOP take
  // 0.479 ms at 989 TFLOP/s, kernels run for 10 ms: 2 x 0.479 + 0.18 x 8.836 + 0.54 x 10 = 7.95 ms at full
  // power, 0.580 of a step of 13.7 ms, so 119 W + 0.580 x 581 W = 456 W; 465 W were measured.
  const auto at = [](double tflop, double gb, double ms) {
    return OperatorLoad::solve({.work = tflop * u::TFLOP,
                                .traffic = gb * u::GB,
                                .peak = 989 * u::TFLOP / u::s,
                                .bandwidth = 3350 * u::GB / u::s,
                                .resident = ms * u::ms})
        .loaded.in(u::ms);
  };
  CHECK_THAT(at(0.4739, 29.6, 10), WithinRel(2 * 0.479171 + 0.18 * 8.835821 + 0.54 * 10, 1e-6));
  CHECK_THAT(119 + 581 * at(0.4739, 29.6, 10) / 13.7, WithinRel(456.1, 1e-3));
  // Each part draws by itself; a kernel that only waits draws too.
  CHECK_THAT(at(0.4739, 0, 0) + at(0, 29.6, 0) + at(0, 0, 10), WithinRel(at(0.4739, 29.6, 10), 1e-14));
  CHECK_THAT(at(0, 0, 1), WithinRel(0.54, 1e-14));
  CHECK(at(0, 0, 0) == 0);
  // With its kernels, 0.23 of the peak reaches the cap.
  CHECK_THAT(at(0.23 * 989, 0, 1000), WithinRel(1000.0, 1e-14));
}
