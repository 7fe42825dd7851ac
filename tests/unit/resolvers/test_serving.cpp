// Serving: two pools of devices, draft models.
#include <mlsysim/resolvers/models/in_flight_batching.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <support/catch.hpp>

#include <algorithm>
#include <string>

using namespace mlsysim;
using Catch::Matchers::Contains;

namespace {

ServingModel::Inputs request(const char* model, const char* device) {
  return {.workload = &standard_zoo().at<Workload>(model),
          .hardware = &standard_zoo().at<HardwareNode>(device),
          .output_tokens = 128,
          .precision = Precision::fp16};
}
ServingModel::Result run(const ServingModel::Inputs& in) { return ServingModel{}.solve(in); }

std::string warnings(const ServingModel::Inputs& in) {
  NoteBook book;
  Notes notes(book);
  (void)ServingModel{}.solve(in, notes);
  std::string all;
  for (const auto& w : book.warnings) all += w + "\n";
  return all;
}
std::string assumed(const ServingModel::Inputs& in, std::string_view name) {
  NoteBook book;
  Notes notes(book);
  (void)ServingModel{}.solve(in, notes);
  for (const auto& a : book.assumptions)
    if (a.name == name) return a.value;
  return "";
}

}  // namespace

TEST_CASE("both pools of disaggregated serving must hold the model", "[catalogue][serving]") {
  for (const Fidelity fidelity : {Fidelity::operator_level, Fidelity::textbook}) {
    INFO(name_of(fidelity));
    auto in = request("Llama3_70B", "RTX4090");  // 24 GB
    in.fidelity = fidelity;
    in.decode_hardware = &standard_zoo().at<HardwareNode>("H200");  // 141 GB
    in.tp_size = 2;
    const auto small = run(in);
    CHECK_FALSE(small.feasible);
    CHECK(small.prefill_memory_use.total > small.prefill_memory_use.capacity);
    CHECK(small.memory.total <= small.memory.capacity);
    CHECK(small.memory_utilization > 1);
    CHECK_THAT(warnings(in), Contains("does not fit on the prefilling devices") && Contains("RTX4090"));
    // The other way round, too.
    std::swap(in.hardware, in.decode_hardware);
    CHECK_FALSE(run(in).feasible);
    CHECK_THAT(warnings(in), Contains("does not fit on the decoding devices") && !Contains("prefilling"));
    in.hardware = &standard_zoo().at<HardwareNode>("H100");
    in.decode_hardware = &standard_zoo().at<HardwareNode>("H200");
    in.tp_size = 8;
    const auto both = run(in);
    CHECK(both.feasible);
    CHECK(both.accelerators == 16);
    CHECK_THAT(warnings(in), !Contains("does not fit"));
    // Each pool has the weights once; the prompt's cache is shorter than that of the whole answer.
    CHECK(both.prefill_memory_use.weights == both.memory.weights);
    CHECK(both.prefill_memory_use.kv_cache < both.memory.kv_cache);
    CHECK(both.total_memory_required.base() ==
          Approx(8 * (both.memory.total + both.prefill_memory_use.total).base()));
    in.decode_hardware = nullptr;
    const auto together = run(in);
    CHECK(together.accelerators == 8);
    CHECK(together.prefill_memory_use.total == together.memory.total);
    CHECK(together.total_memory_required.base() == Approx(8 * together.memory.total.base()));
  }
}

TEST_CASE("a draft model must generate tokens", "[catalogue][serving][bad]") {
  auto in = request("Llama3_8B", "H100");
  for (const char* draft : {"ResNet50", "BERT_Base", "ViT_B_16"}) {
    INFO(draft);
    in.draft_model = &standard_zoo().at<Workload>(draft);
    CHECK_THROWS_AS(run(in), InputError);
    CHECK_THROWS_WITH(run(in), Contains("does not generate tokens") && Contains("draft_model"));
    InFlightBatchingModel::Inputs flight{
        .workload = in.workload, .hardware = in.hardware, .draft_model = in.draft_model};
    CHECK_THROWS_WITH(InFlightBatchingModel{}.solve(flight),
                      Contains("does not generate tokens") && Contains("draft_model"));
  }
  // A model is no small one beside itself: its weights would count twice.
  in.workload = in.draft_model = &standard_zoo().at<Workload>("DeepSeek_V3");
  CHECK_THROWS_WITH(run(in), Contains("draft layers of 'DeepSeek_V3' itself"));
  in.draft_model = nullptr;
  in.workload = &standard_zoo().at<Workload>("BERT_Base");
  CHECK_THROWS_WITH(run(in), Contains("does not generate tokens"));
}

TEST_CASE("a draft model is divided like its target and booked as what it is", "[catalogue][serving]") {
  for (const Fidelity fidelity : {Fidelity::operator_level, Fidelity::textbook}) {
    INFO(name_of(fidelity));
    auto in = request("Llama3_70B", "H100");
    in.fidelity = fidelity;
    in.tp_size = 8;
    const auto plain = run(in);
    in.draft_model = &standard_zoo().at<Workload>("Llama3_8B");
    const auto drafted = run(in);
    const Data<> weights = parameter_count(*in.draft_model) * (2.0 * unit::B / unit::param);
    CHECK((drafted.memory.weights - plain.memory.weights).base() ==
          Approx((weights / 8.0).base()).epsilon(0.02));
    CHECK(drafted.memory.kv_cache > plain.memory.kv_cache);
    CHECK(drafted.memory.activations.base() == Approx(plain.memory.activations.base()));
    CHECK(assumed(in, "draft_tp_size") == "8");
    const auto& m = drafted.memory;
    CHECK((m.weights + m.kv_cache + m.activations + m.communication_buffers + m.fragmentation + m.reserve)
              .base() == Approx(m.total.base()));
  }
  // Fewer heads than devices: whole on each.
  auto in = request("Llama3_70B", "H100");
  in.tp_size = 16;
  in.draft_model = &standard_zoo().at<Workload>("GPT2_Small");  // 12 heads
  CHECK(assumed(in, "draft_tp_size") == "1");
}
