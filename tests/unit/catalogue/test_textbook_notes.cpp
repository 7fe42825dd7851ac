// Textbook fidelity says what it leaves out.

#include "worked.hpp"

#include <mlsysim/catalogue/models/distributed.hpp>
#include <mlsysim/catalogue/models/serving.hpp>

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
  DistributedModel::Inputs in{.workload = &model("Llama3_8B"), .fleet = &fleet("Research_256"), .batch_size = 512,
                              .precision = Precision::bf16, .fidelity = Fidelity::textbook};
  CHECK(unpriced<DistributedModel>(in).empty());
  in.cp_size = 2;
  in.offload_states = 0.5;
  const auto text = unpriced<DistributedModel>(in);
  CHECK_THAT(text, ContainsSubstring("cp_size, offload_states"));
  CHECK_THAT(text, ContainsSubstring("operator fidelity"));
  in.fidelity = Fidelity::operator_level;
  CHECK(unpriced<DistributedModel>(in).empty());
}

TEST_CASE("textbook serving counts no collectives and says so", "[catalogue]") {
  ServingModel::Inputs in{.workload = &model("Llama3_8B"), .hardware = &device("H100"), .precision = Precision::bf16,
                          .fidelity = Fidelity::textbook};
  CHECK(unpriced<ServingModel>(in).empty());
  in.fleet = &fleet("Research_256");
  CHECK_THAT(unpriced<ServingModel>(in), ContainsSubstring("fleet"));
}
