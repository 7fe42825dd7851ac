// Shipped resolvers speak one vocabulary: what one decides arrives at the next, and no name is shared by
// accident.
#include "worked.hpp"

#include <mlsysim/pipeline/builder.hpp>
#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/resolver_api/detail/standard_registry.hpp>
#include <mlsysim/resolvers/models/checkpoint.hpp>
#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/models/reliability.hpp>
#include <mlsysim/resolvers/optimizers/parallelism.hpp>

#include <set>

using namespace worked;

namespace {

/// Names that results and inputs share without being linked, and why.
const std::set<std::string, std::less<>> kApart{
    "fidelity",     // of a result: how it was computed; linking it would choose for others
    "utilization",  // of in-flight batching: kernels running, which is what cost asks for only at steady load
    "microbatch_count",             // of the memory of a step: what was assumed; the plan says it
    "microbatch_size", "dp_size"};  // of a step: what the fleet leaves over; who plans decides it

const FieldInfo* shared_field(std::span<const FieldInfo> fields, std::string_view name) {
  for (const FieldInfo& f : fields)
    if (f.name == name) return &f;
  return nullptr;
}

}  // namespace

TEST_CASE("a result named like an input of another resolver is linked, or says why not", "[catalogue]") {
  const ResolverRegistry& registry = ResolverRegistry::standard();
  std::size_t linked = 0;
  for (const auto& maker : registry.all()) {
    if (maker->law() != nullptr) continue;
    for (const FieldInfo& result : maker->outputs()) {
      // A result that repeats an input of its own resolver is an echo: the input is what others share.
      if (shared_field(maker->inputs(), result.name) != nullptr && !result.shared) continue;
      for (const auto& taker : registry.all()) {
        if (taker == maker || taker->law() != nullptr) continue;
        const FieldInfo* input = shared_field(taker->inputs(), result.name);
        if (input == nullptr || kApart.contains(result.name)) continue;
        INFO(maker->info().name << "." << result.name << " -> " << taker->info().name);
        CHECK(result.shared);
        CHECK(input->shared);
        CHECK(result.unit == input->unit);
        CHECK(result.kind == input->kind);
        ++linked;
      }
    }
  }
  CHECK(linked > 50);
}

TEST_CASE("the plan that an optimizer finds is the plan that is priced", "[catalogue]") {
  const auto pipeline = PipelineBuilder("plan")
                            .stage(ParallelismOptimizer{})
                            .stage(DistributedModel{})
                            .given("workload")
                            .given("fleet")
                            .given("batch_size")
                            .build();
  const auto run = pipeline.run(
      {{"workload", &model("Llama3_8B")}, {"fleet", &fleet("Research_256")}, {"batch_size", 512.0}});
  const auto& plan = run.get<ParallelismOptimizer>();
  const auto& step = run.get<DistributedModel>();
  // One step of the optimum through the optimizer, and once more through the model: the same number.
  CHECK(plan.tp_size * plan.pp_size * plan.cp_size > 1);
  CHECK(step.tp_size == plan.tp_size);
  CHECK(step.pp_size == plan.pp_size);
  CHECK(step.cp_size == plan.cp_size);
  CHECK(step.dp_size == plan.dp_size);
  CHECK(step.microbatch_count == plan.microbatch_count);
  CHECK(step.step_latency == plan.best_step_time);
}

TEST_CASE("a degree that is given holds the optimizer, and reaches the model through it", "[catalogue]") {
  const auto pipeline = PipelineBuilder("plan")
                            .stage(ParallelismOptimizer{})
                            .stage(DistributedModel{})
                            .given("workload")
                            .given("fleet")
                            .given("batch_size")
                            .given("recomputation")
                            .build();
  const auto run = pipeline.run({{"workload", &model("Llama3_8B")},
                                 {"fleet", &fleet("Research_256")},
                                 {"batch_size", 512.0},
                                 {"recomputation", Recomputation::full}});
  CHECK(run.get<ParallelismOptimizer>().recomputation == Recomputation::full);
  CHECK(run.get<DistributedModel>().step_latency == run.get<ParallelismOptimizer>().best_step_time);
}

TEST_CASE("failures of the fleet reach its checkpoints", "[catalogue]") {
  const Fleet& machines = fleet("Research_256");
  const auto pipeline = PipelineBuilder("failures")
                            .stage(ReliabilityModel{})
                            .stage(CheckpointModel{})
                            .given("workload")
                            .given("hardware")
                            .given("fleet")
                            .given("job_duration")
                            .build();
  const auto run = pipeline.run({{"workload", &model("Llama3_70B")},
                                 {"hardware", machines.node->accelerator},
                                 {"fleet", &machines},
                                 {"job_duration", 30.0 * unit::d}});
  const auto& failures = run.get<ReliabilityModel>();
  const auto& checkpoints = run.get<CheckpointModel>();
  CHECK(failures.checkpoint_interval == failures.optimal_checkpoint_interval);
  // Daly's interval for the stall of this state and these failures is given only where failures are known.
  REQUIRE(checkpoints.optimal_checkpoint_interval.has_value());
  CHECK(checkpoints.mfu_penalty == CheckpointModel{}
                                       .solve({.workload = &model("Llama3_70B"),
                                               .hardware = machines.node->accelerator,
                                               .fleet = &machines,
                                               .checkpoint_interval = failures.checkpoint_interval,
                                               .fleet_mtbf = failures.fleet_mtbf})
                                       .mfu_penalty);
}
