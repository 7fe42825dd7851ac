#include "detail/bare_pass.hpp"

#include <mlsysim/timing/detail/diffusion.hpp>

namespace mlsysim::detail {
namespace {

/// A diffusion model that turns noise into images or videos.
struct DiffusionRow {
  const HardwareNode* hardware = nullptr;
  DiffusionNetwork network;
  const ServingEngine* engine = nullptr;
  Precision precision = Precision::bf16;
  double accelerators = 1, ring = 1, ulysses = 1;
  double outputs = 1, steps = 1, evaluations = 1;
  static constexpr auto fields() {
    using R = DiffusionRow;
    return rows(
        field(&R::hardware, "hardware", "", "device"), field(&R::network, "network", "", "the networks"),
        field(&R::engine, "engine", "", "runtime").defaulted("fused kernels in a captured graph"),
        field(&R::precision, "precision", "", "format of the arithmetic").defaulted("bf16"),
        field(&R::accelerators, "accelerators", "", "devices, joined by their own links; tokens are divided")
            .at_least(1)
            .counted()
            .defaulted("1"),
        field(&R::ring, "ring", "", "devices around which keys and values pass").at_least(1).defaulted("1"),
        field(&R::ulysses, "ulysses", "", "devices that exchange tokens for heads around attention")
            .at_least(1)
            .defaulted("1"),
        field(&R::outputs, "outputs", "", "images or videos made together").at_least(1).counted(),
        field(&R::steps, "steps", "", "steps of the sampler").at_least(1).counted(),
        field(&R::evaluations, "evaluations", "",
              "passes a step and output: 2 with and without the text (classifier-free guidance)")
            .at_least(1)
            .counted());
  }
};

/// A row as a pipeline, priced stage by stage.
struct Generation {
  Notes quiet;
  DiffusionPipeline pipeline;
  PassBreakdown<> sum;
  Time<> time;

  Generation(const DiffusionRow& row, const PredictionContext& context)
      : pipeline(row.network,
                 {.outputs = row.outputs,
                  .steps = row.steps,
                  .evaluations = row.evaluations,
                  .devices = row.accelerators,
                  .ring = row.ring,
                  .ulysses = row.ulysses},
                 context.constants->device(*row.hardware), row.engine, row.precision,
                 context.constants->conventions(), quiet) {
    for (const auto& stage : pipeline.stages) {
      if (context.comparison != Yardstick::operators) {
        time += priced(stage->ops, pipeline.device, context, pipeline.links).base * unit::s;
        continue;
      }
      const auto cost = pipeline.cost(*stage);
      sum.add(cost, 1.0);
      time += DiffusionPipeline::time(cost);
    }
  }
};

Prediction generation_time(const DiffusionRow& row, const PredictionContext& context) {
  const Generation g(row, context);
  return {g.time.base(), terms_of(g.sum, context)};
}

/// Energy of one output, of all devices.
Prediction generation_energy(const DiffusionRow& row, const PredictionContext& context) {
  Generation g(row, context);
  if (context.comparison != Yardstick::operators)
    for (const auto& stage : g.pipeline.stages)
      for (const auto& op : stage->ops)
        g.sum.add(op, price(op, g.pipeline.device, g.pipeline.links), Time<>());
  Prediction energy = drawn(g.sum, g.pipeline.device, g.time, g.sum.kernels(), context);
  energy.base *= g.time.base() * row.accelerators / row.outputs;
  if (context.wants_terms) energy.terms.push_back({"time [s]", g.time.base(), TermRole::fact});
  return energy;
}

}  // namespace

std::vector<const Measurand*> diffusion_measurands() {
  static const RowMeasurand<DiffusionRow, generation_time> a(
      "generation_time", measured("generation_time"), MeasurandKind::time, "s",
      "time in which a diffusion model makes its outputs");
  static const RowMeasurand<DiffusionRow, generation_energy> b(
      "generation_energy", measured("generation_energy"), MeasurandKind::other, "J",
      "energy of one output of a diffusion model");
  return {&a, &b};
}

}  // namespace mlsysim::detail
