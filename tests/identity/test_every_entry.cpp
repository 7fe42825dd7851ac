/// What holds for every entry of the zoo, whatever its figures are: identities of the resolvers over all
/// models on one device, and over all devices with some models.

#include "support/catch.hpp"

#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/models/economics.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/resolvers/models/single_node.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cmath>
#include <optional>
#include <string>

using namespace mlsysim;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

const Zoo& zoo() { return standard_zoo(); }
const HardwareNode& h100() { return zoo().at<HardwareNode>("H100"); }

/// The answer, or nothing where the entry lacks a figure that the question needs: which is refused by name.
template <class R, class In> std::optional<typename R::Result> asked(const In& in) {
  try {
    return R{}.solve(in);
  } catch (const Error& error) {
    CHECK_FALSE(error.facts().id.empty());
    return std::nullopt;
  }
}

void memory_adds_up(const MemoryBreakdown<>& m) {
  const Data<> sum = m.weights + m.kv_cache + m.activations + m.gradients + m.optimizer_states +
                     m.communication_buffers + m.fragmentation + m.reserve;
  CHECK_THAT(sum.base(), WithinRel(m.total.base(), 1e-12));
}

/// Every memory of the device `factor` times as fast.
HardwareNode with_faster_memory(HardwareNode h, double factor) {
  for (auto* b : {&h.memory.bandwidth, &h.memory.sram_bandwidth, &h.memory.flash_bandwidth,
                  &h.memory.second_tier.bandwidth})
    if (*b) *b = **b * factor;
  return h;
}

/// Every arithmetic rate of the device `factor` times as high.
HardwareNode with_faster_arithmetic(HardwareNode h, double factor) {
  for (auto* table :
       {&h.compute.dense, &h.compute.sparse, &h.compute.vector, &h.compute.dense_fp16_accumulate})
    for (auto& rate : table->slots)
      if (rate) rate = *rate * factor;
  return h;
}

/// A fleet of one device.
struct Alone {
  Node node;
  Fleet fleet;
  explicit Alone(const HardwareNode& device) {
    node.name = "one";
    node.accelerator = &device;
    fleet.name = "one";
    fleet.node = &node;
  }
};

}  // namespace

TEST_CASE(
    "every model on a device: parts add up, power bounds energy, batches neither shrink nor more than double",
    "[identity][zoo]") {
  int answered = 0;
  for (const Workload* w : zoo().all<Workload>())
    for (const auto fidelity : {Fidelity::textbook, Fidelity::operator_level}) {
      INFO(w->name << " " << name_of(fidelity));
      SingleNodeModel::Inputs in{.workload = w, .hardware = &h100(), .seq_len = 128, .fidelity = fidelity};
      const auto one = asked<SingleNodeModel>(in);
      in.batch_size = 2;
      const auto two = asked<SingleNodeModel>(in);
      REQUIRE(one.has_value() == two.has_value());
      if (!one) continue;
      ++answered;
      memory_adds_up(one->memory);
      CHECK(one->latency > Time<>());
      CHECK(one->latency * (1 - 1e-12) <= two->latency);
      CHECK(two->latency <= 2.0 * one->latency * (1 + 1e-12));
      CHECK(two->memory_footprint >= one->memory_footprint);
      CHECK_THAT((one->throughput * one->latency).base(), WithinRel(1.0, 1e-12));
      CHECK(one->energy <= *h100().power.tdp * one->latency * (1 + 1e-12));
      CHECK(one->energy > Energy<>());
      CHECK(one->mfu <= 1);
      CHECK(one->mfu <= one->hfu * (1 + 1e-12));
    }
  CHECK(answered > 120);
}

TEST_CASE(
    "every device: faster memory or arithmetic never makes a model slower, and twice of both at most halves "
    "it",
    "[identity][zoo]") {
  int answered = 0;
  for (const HardwareNode* h : zoo().all<HardwareNode>()) {
    Notes quiet;
    const double burst = needed_figure("efficiency.burst", *h, conventions_of(zoo()), quiet);
    const auto memory = with_faster_memory(*h, 2), arithmetic = with_faster_arithmetic(*h, 2),
               both = with_faster_arithmetic(memory, 2);
    for (const char* name : {"Llama3_8B", "BERT_Base", "ResNet50", "Mixtral_8x7B"})
      for (const auto fidelity : {Fidelity::textbook, Fidelity::operator_level}) {
        INFO(h->name << " " << name << " " << name_of(fidelity));
        SingleNodeModel::Inputs in{.workload = &zoo().at<Workload>(name),
                                   .hardware = h,
                                   .batch_size = 4,
                                   .seq_len = 256,
                                   .fidelity = fidelity};
        const auto base = asked<SingleNodeModel>(in);
        if (!base) continue;
        ++answered;
        const auto on = [&](const HardwareNode& device) {
          in.hardware = &device;
          const auto r = asked<SingleNodeModel>(in);
          REQUIRE(r);
          return r->latency;
        };
        const Time<> a = on(memory), b = on(arithmetic), c = on(both);
        CHECK(a <= base->latency * (1 + 1e-12));
        CHECK(b <= base->latency * (1 + 1e-12));
        CHECK(c <= min(a, b) * (1 + 1e-12));
        // Shorter work may run further above the sustained rate: the gain of a burst comes on top.
        CHECK(c * 2.0 * (1 + burst) >= base->latency * (1 - 1e-12));
      }
  }
  CHECK(answered > 500);
}

TEST_CASE("every model: parallel degrees of one are the single device", "[identity][zoo]") {
  const Alone alone(h100());
  int answered = 0, fitting = 0;
  for (const Workload* w : zoo().all<Workload>()) {
    INFO(w->name);
    const auto single = asked<SingleNodeModel>(SingleNodeModel::Inputs{.workload = w,
                                                                       .hardware = &h100(),
                                                                       .batch_size = 4,
                                                                       .is_training = true,
                                                                       .seq_len = 128,
                                                                       .recomputation = Recomputation::none,
                                                                       .fidelity = Fidelity::operator_level});
    DistributedModel::Inputs in{.workload = w,
                                .fleet = &alone.fleet,
                                .batch_size = 4,
                                .recomputation = Recomputation::none,
                                .seq_len = 128,
                                .fidelity = Fidelity::operator_level};
    if (single && !single->feasible) in.microbatch_count = 1;  // a plan would divide the batch until it fits
    const auto fleet = asked<DistributedModel>(in);
    CHECK(single.has_value() == fleet.has_value());
    if (!single || !fleet) continue;
    fitting += single->feasible ? 1 : 0;
    ++answered;
    // What does not fit is slower on a single device, which then reaches for the host's memory; a plan says
    // that it does not fit.
    if (single->feasible) CHECK_THAT(fleet->step_latency.base(), WithinRel(single->latency.base(), 1e-9));
    CHECK_THAT(fleet->memory.total.base(), WithinRel(single->memory.total.base(), 1e-9));
    CHECK(fleet->communication_latency == Time<>());
    CHECK(fleet->pipeline_bubble_latency == Time<>());
  }
  CHECK(answered > 50);
  CHECK(fitting > 10);
}

TEST_CASE("every fleet: what is waited for is part of what is sent, and no step beats its share of the work",
          "[identity][zoo]") {
  const Workload& w = zoo().at<Workload>("Llama3_70B");
  int answered = 0;
  for (const Fleet* f : zoo().all<Fleet>())
    for (const double zero : {0.0, 3.0}) {
      INFO(f->name << " ZeRO " << zero);
      const double per_node = f->node->accelerators_per_node;
      DistributedModel::Inputs in{.workload = &w,
                                  .fleet = f,
                                  .batch_size = 4 * f->total_accelerators(),
                                  .tp_size = std::min(8.0, per_node),
                                  .zero_stage = zero,
                                  .fidelity = Fidelity::operator_level};
      const auto r = asked<DistributedModel>(in);
      if (!r) continue;
      ++answered;
      memory_adds_up(r->memory);
      CHECK(r->exposed_communication_latency <= r->communication_latency * (1 + 1e-12));
      CHECK(r->exposed_communication_latency >= Time<>());
      CHECK_THAT((r->dp_communication_latency + r->tp_communication_latency + r->ep_communication_latency +
                  r->cp_communication_latency + r->pp_communication_latency)
                     .base(),
                 WithinRel(r->communication_latency.base(), 1e-9));
      CHECK(r->mfu <= r->hfu * (1 + 1e-12));
      CHECK(r->hfu < 1);
      CHECK_THAT((r->effective_throughput * r->step_latency).base(), WithinRel(in.batch_size, 1e-9));
    }
  CHECK(answered > 10);
}

TEST_CASE("every device with a known power: energy is power times time, and the books add up",
          "[identity][zoo]") {
  int priced = 0;
  for (const HardwareNode* h : zoo().all<HardwareNode>()) {
    if (!h->power.tdp) continue;
    INFO(h->name);
    const Alone alone(*h);
    const auto full =
        SustainabilityModel{}.solve({.fleet = &alone.fleet, .duration_days = 2, .utilization = 1.0});
    CHECK_THAT(full.it_energy.base(), WithinRel((*h->power.tdp * (2.0 * unit::d)).base(), 1e-12));
    CHECK_THAT(full.it_energy.base(), WithinRel((full.power * (2.0 * unit::d)).base(), 1e-12));
    CHECK_THAT(full.total_energy.base(), WithinRel(full.it_energy.base() * full.pue, 1e-12));
    CHECK_THAT(
        full.carbon_footprint.base(),
        WithinRel((full.operational_carbon + full.embodied_carbon.value_or(Carbon<>())).base(), 1e-12));
    const auto cost = EconomicsModel{}.solve({.fleet = &alone.fleet, .duration_days = 2, .utilization = 1.0});
    CHECK(cost.tco.has_value() == (cost.capex && cost.opex_maintenance));
    if (!cost.tco) continue;
    ++priced;
    CHECK_THAT(cost.tco->base(),
               WithinRel((*cost.capex + cost.opex_energy + *cost.opex_maintenance).base(), 1e-12));
  }
  CHECK(priced > 5);
}
