// The laws that pages of resolvers list are those that are called: every tape of a scenario is held to the
// lists.

#include <support/catch.hpp>
#include <support/zoo_entries.hpp>

#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/engine/problem_laws.hpp>
#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/resolvers/walls.hpp>
#include <mlsysim/tape/derivation.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace mlsysim;

namespace {

bool lists(std::string_view resolver, std::string_view law) {
  const auto laws = laws_of(resolver);
  return std::find(laws.begin(), laws.end(), law) != laws.end();
}

/// The laws of the derivation of one result at the numbers of a scenario.
std::set<std::string> derived(const Scenario& s, std::string_view result) {
  NoteBook book;
  Notes notes(book);
  const ResolvedScenario r(s, notes);
  const AnyProblem problem = settle(r, notes);
  const auto law = problem_law(problem);
  const std::vector<std::string> open{"Scenario"};
  const auto d = derive_result(*law, problem_leaves(problem), law->result(result), open);
  std::set<std::string> out;
  for (const auto& record : d.records)
    if (record.law->id != "Scenario") out.emplace(record.law->id);
  return out;
}

}  // namespace

TEST_CASE("every law of a derivation is on the page of its resolver", "[engine][laws]") {
  int met = 0;
  for (const Fidelity fidelity : {Fidelity::operator_level, Fidelity::textbook}) {
    for (const char* name : {"GPT2_Small", "Qwen3_8B", "DeepSeek_V3", "Mixtral_8x22B"}) {
      Scenario s{.workload = &model(name),
                 .hardware = &device("MI300X"),
                 .mode = Mode::serve,
                 .batch_size = 16,
                 .load = Load::burst,
                 .seq_len = 512,
                 .output_tokens = 64,
                 .accelerators = 8,
                 .tp_size = 4,
                 .pp_size = 2,
                 .fidelity = fidelity};
      INFO(name << ", " << name_of(fidelity));
      for (const char* result : {"ttft", "itl", "mfu", "kv_cache_size", "memory.total"})
        for (const auto& law : derived(s, result)) {
          INFO(result << ": " << law);
          CHECK(lists("ServingModel", law));
          CHECK(lists("ContinuousBatchingModel", law));
          ++met;
        }
      for (const char* result : {"tco", "carbon_footprint", "water"})
        for (const auto& law : derived(s, result)) {
          INFO(result << ": " << law);
          CHECK((lists("EconomicsModel", law) || lists("ServingModel", law)));
        }
      s.mode = Mode::train;
      s.output_tokens.reset();
      for (const char* result : {"step_latency", "communication_latency", "mfu", "pipeline_bubble_latency"})
        for (const auto& law : derived(s, result)) {
          INFO(result << ": " << law);
          CHECK(lists("DistributedModel", law));
          ++met;
        }
      for (const auto& law : derived(s, "memory.total")) CHECK(lists("TrainingMemoryModel", law));
    }
    for (const char* name : {"BERT_Large", "MobileNetV2", "Llama3_8B"}) {
      const Scenario s{.workload = &model(name),
                       .hardware = &device("A100"),
                       .mode = Mode::infer,
                       .batch_size = 4,
                       .fidelity = fidelity};
      for (const auto& law : derived(s, "latency")) {
        INFO(name << ", " << name_of(fidelity) << ": " << law);
        CHECK(lists("SingleNodeModel", law));
        ++met;
      }
    }
  }
  CHECK(met > 60);
}

TEST_CASE("lists hold what is called, and not what is not", "[engine][laws]") {
  // The operators of a decoder are products and attention; its textbook a formula of totals.
  for (const char* law :
       {"MatmulTime", "AttentionTime", "TextbookDecode", "TextbookPrefillWork", "SpeculativeTokenTime"})
    CHECK(lists("ServingModel", law));
  for (const char* law : {"TotalCost", "TextbookPass", "KvCache"}) CHECK_FALSE(lists("ServingModel", law));
  // One device that holds the whole model exchanges nothing.
  for (const char* law : {"RingAllReduce", "AllToAll", "PointToPoint"})
    CHECK_FALSE(lists("SensitivitySolver", law));
  for (const char* law : {"RingAllReduce", "HierarchicalAllReduce", "BubbleOverhead", "TextbookPass"})
    CHECK(lists("DistributedModel", law));
  CHECK(lists("EconomicsModel", "TotalCost"));
  CHECK_FALSE(lists("EconomicsModel", "MatmulTime"));
}
