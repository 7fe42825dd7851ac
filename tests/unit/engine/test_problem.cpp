// A problem lists every member, its keys tell categories apart, and one text answers for both scalars.

#include <support/catch.hpp>
#include <support/zoo_entries.hpp>

#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/engine/problem_laws.hpp>
#include <mlsysim/estimate/problem_law.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/tape/leaves.hpp>
#include <mlsysim/tape/tape.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <set>
#include <string>
#include <vector>

using namespace mlsysim;

namespace problems {
namespace {

/// Scenarios of every question, with drafts, chunks, experts, shards and part of a node.
std::vector<Scenario> scenarios() {
  std::vector<Scenario> out;
  for (const auto fidelity : {Fidelity::operator_level, Fidelity::textbook}) {
    out.push_back({.workload = &model("Llama3_70B"),
                   .hardware = &device("H100"),
                   .batch_size = 12,
                   .output_tokens = 128,
                   .accelerators = 16,
                   .tp_size = 4,
                   .pp_size = 2,
                   .fidelity = fidelity});
    out.push_back({.workload = &model("Mixtral_8x7B"),
                   .hardware = &device("MI300X"),
                   .batch_size = 64,
                   .seq_len = 9000,
                   .accelerators = 8,
                   .tp_size = 1,
                   .ep_size = 8,
                   .prefill_chunk_tokens = 2048,
                   .fidelity = fidelity});
    out.push_back({.workload = &model("Llama3_70B"),
                   .hardware = &device("A100"),
                   .batch_size = 4,
                   .output_tokens = 64,
                   .accelerators = 8,
                   .draft_model = &model("Llama3_8B"),
                   .fidelity = fidelity});
    out.push_back({.workload = &model("Llama3_8B"),
                   .hardware = &device("H100"),
                   .mode = Mode::train,
                   .batch_size = 96,
                   .seq_len = 4096,
                   .accelerators = 16,
                   .tp_size = 2,
                   .pp_size = 2,
                   .zero_stage = 1,
                   .fidelity = fidelity});
    out.push_back({.workload = &model("ResNet50"),
                   .hardware = &device("T4"),
                   .batch_size = 5,
                   .accelerators = 2,
                   .fidelity = fidelity});
  }
  return out;
}

AnyProblem problem_of(const Scenario& s) {
  Notes quiet;
  return settle(ResolvedScenario(s, quiet), quiet);
}

std::vector<double> on_tape(const ProblemLaw& law, const std::vector<double>& leaves) {
  std::vector<double> out(law.results.size()), values;
  law.tape().evaluate(leaves, out, values);
  return out;
}

template <class P> void check_names() {
  std::set<std::string> names;
  for (const auto& f : describe<P>()) CHECK(names.insert(f.name).second);
  CHECK(names.size() == leaf_count<P>);
}

}  // namespace

TEST_CASE("a problem lists every member and names each number once", "[engine][problem]") {
  STATIC_REQUIRE(problem_is_complete<ServingProblem<>>());
  STATIC_REQUIRE(problem_is_complete<TrainingProblem<>>());
  STATIC_REQUIRE(problem_is_complete<InferenceProblem<>>());
  check_names<ServingProblem<>>();
  check_names<TrainingProblem<>>();
  check_names<InferenceProblem<>>();
}

TEST_CASE("numbers of the request go by their name in a scenario, without a path", "[engine][problem]") {
  const auto fields = describe<TrainingProblem<>>();
  for (const char* name : {"batch_size", "tp_size", "overlap_efficiency", "duration_days", "unit_cost",
                           "conventions.idle_fraction", "hardware.memory.bandwidth", "facility.pue"}) {
    INFO(name);
    CHECK(find_field(fields, name) != nullptr);
  }
  CHECK(find_field(fields, "plan.tp_size") == nullptr);
  // A second device has conventions of its own.
  CHECK(find_field(describe<ServingProblem<>>(), "decode_hardware.conventions.idle_fraction") != nullptr);
}

TEST_CASE("the batch of a problem is the whole batch", "[engine][problem]") {
  const auto problem = std::get<ServingProblem<>>(problem_of(scenarios().front()));
  CHECK(problem.batch_size == 12);
  CHECK(problem.accelerators == 16);
  CHECK(problem.replicas() == 2);
  const auto batches = detail::micro_batches(problem);
  CHECK(batches.share.sequences == 6);
  CHECK(batches.plan.batch == 3);
}

TEST_CASE("a tape and its problem give the same bits", "[engine][problem]") {
  for (const auto& scenario : scenarios()) {
    const AnyProblem problem = problem_of(scenario);
    INFO(scenario.workload->name << " on " << scenario.hardware->name);
    const auto leaves = problem_leaves(problem);
    const auto law = problem_law(problem);
    REQUIRE(leaves.size() == law->inputs.size());
    const auto direct = MovingProblem(problem).evaluate(leaves);
    const auto taped = on_tape(*law, leaves);
    REQUIRE(direct.size() == taped.size());
    for (std::size_t i = 0; i < direct.size(); ++i) {
      INFO(law->results[i].name);
      CHECK(direct[i] == taped[i]);
    }
    // Moved numbers, those of the layers too.
    auto moved = leaves;
    for (std::size_t i = 0; i < moved.size(); ++i)
      if (law->inputs[i].name.ends_with(".bandwidth")) moved[i] *= 1.25;
    moved.back() *= 2;
    const auto direct_moved = MovingProblem(problem).evaluate(moved);
    const auto taped_moved = on_tape(*law, moved);
    for (std::size_t i = 0; i < direct.size(); ++i) {
      INFO(law->results[i].name);
      CHECK((direct_moved[i] == taped_moved[i] || (direct_moved[i] != direct_moved[i])));
    }
  }
}

TEST_CASE("categories decide the key of a tape, numbers do not", "[engine][problem]") {
  auto problem = std::get<ServingProblem<>>(problem_of(scenarios().front()));
  const auto key = problem_key(problem);
  problem.batch_size = 7;
  problem.device.memory.bandwidth = problem.device.memory.bandwidth * 2;
  problem.macro.region = "elsewhere";
  CHECK(problem_key(problem) == key);
  std::set<std::string> keys{key};
  const auto differs = [&](auto&& change) {
    auto other = problem;
    change(other);
    CHECK(keys.insert(problem_key(other)).second);
  };
  differs([](auto& p) { p.generates = !p.generates; });
  differs([](auto& p) { p.chunks = 3; });
  differs([](auto& p) { p.decode.moe = !p.decode.moe; });
  differs([](auto& p) { p.model.structure.widened = !p.model.structure.widened; });
  differs([](auto& p) { p.links.form.levels = 5; });
  differs([](auto& p) { p.plan.folded = !p.plan.folded; });
  differs([](auto& p) { p.limits.has_heads = !p.limits.has_heads; });
  differs([](auto& p) { p.macro.has_price = !p.macro.has_price; });
  differs([](auto& p) { p.model.stack = nullptr; });
  CHECK(keys.size() == 10);
}

TEST_CASE("what plan_fits depends on is read from the tape", "[engine][problem]") {
  const AnyProblem problem = problem_of(scenarios()[3]);
  const auto law = problem_law(problem);
  const auto inputs = law->inputs_of(law->result("plan_fits"));
  const auto depends = [&](std::string_view name) { return static_cast<bool>(inputs[law->input(name)]); };
  for (const char* name : {"accelerators", "tp_size", "pp_size", "ep_size", "cp_size", "batch_size"}) {
    INFO(name);
    CHECK(depends(name));
  }
  CHECK_FALSE(depends("hardware.memory.bandwidth"));
  CHECK_FALSE(depends("duration_days"));
}

}  // namespace problems
