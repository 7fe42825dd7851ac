// Textbook fidelity says what it leaves out.

#include "worked.hpp"

#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/resolvers/models/single_node.hpp>
#include <mlsysim/resolvers/models/training_memory.hpp>

#include <algorithm>
#include <string>

using namespace worked;

namespace {

/// The warning that names what is not priced; empty where there is none.
template <class Model> std::string unpriced(const typename Model::Inputs& in) {
  NoteBook book;
  Notes notes(book);
  (void)Model{}.solve(in, notes);
  for (const auto& w : book.warnings)
    if (w.find("does not price") != std::string::npos) return w;
  return {};
}

}  // namespace

TEST_CASE("textbook fidelity names the plan fields that it does not price", "[catalogue]") {
  DistributedModel::Inputs in{.workload = &model("Llama3_8B"),
                              .fleet = &fleet("Research_256"),
                              .batch_size = 512,
                              .precision = Precision::bf16,
                              .fidelity = Fidelity::textbook};
  CHECK(unpriced<DistributedModel>(in).empty());
  in.cp_size = 2;
  in.offload_states = 0.5;
  const auto text = unpriced<DistributedModel>(in);
  CHECK_THAT(text, ContainsSubstring("cp_size, offload_states"));
  CHECK_THAT(text, ContainsSubstring("operator fidelity"));
  in.fidelity = Fidelity::operator_level;
  CHECK(unpriced<DistributedModel>(in).empty());
}

TEST_CASE("training memory at textbook fidelity names them too", "[catalogue]") {
  TrainingMemoryModel::Inputs in{.workload = &model("Llama3_8B"),
                                 .hardware = &device("H100"),
                                 .precision = Precision::bf16,
                                 .fidelity = Fidelity::textbook};
  CHECK(unpriced<TrainingMemoryModel>(in).empty());
  in.kernel_fusion = false;
  in.dropout = true;
  CHECK_THAT(unpriced<TrainingMemoryModel>(in), ContainsSubstring("dropout, kernel_fusion"));
  NoteBook book;
  Notes notes(book);
  in.recomputation = Recomputation::norm;
  (void)TrainingMemoryModel{}.solve(in, notes);
  CHECK(std::any_of(book.warnings.begin(), book.warnings.end(),
                    [](const auto& w) { return w.find("counts like none") != std::string::npos; }));
}

TEST_CASE("fields that the rest of a request makes idle are named", "[catalogue]") {
  const auto says = [](const auto& resolver, const auto& in) {
    NoteBook book;
    Notes notes(book);
    (void)resolver.solve(in, notes);
    for (const auto& w : book.warnings)
      if (w.find("no effect") != std::string::npos) return w;
    return std::string();
  };
  ServingModel::Inputs serving{
      .workload = &model("Llama3_8B"), .hardware = &device("H100"), .precision = Precision::bf16};
  CHECK(says(ServingModel{}, serving).empty());
  serving.draft_tokens = 3;
  CHECK_THAT(says(ServingModel{}, serving), ContainsSubstring("without draft_model: draft_tokens"));
  SingleNodeModel::Inputs one{.workload = &model("Llama3_8B"),
                              .hardware = &device("H100"),
                              .precision = Precision::bf16,
                              .zero_stage = 2};
  CHECK_THAT(says(SingleNodeModel{}, one), ContainsSubstring("on inference: zero_stage"));
  one.is_training = true;
  CHECK(says(SingleNodeModel{}, one).empty());
}

TEST_CASE("textbook serving counts no collectives and says so", "[catalogue]") {
  ServingModel::Inputs in{.workload = &model("Llama3_8B"),
                          .hardware = &device("H100"),
                          .precision = Precision::bf16,
                          .fidelity = Fidelity::textbook};
  CHECK(unpriced<ServingModel>(in).empty());
  in.fleet = &fleet("Research_256");
  CHECK_THAT(unpriced<ServingModel>(in), ContainsSubstring("fleet"));
}
