// Every number that the file of a model states is an axis, under the path of the file.

#include <support/catch.hpp>

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/specs/leaves.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <set>

using namespace mlsysim;

namespace {

Scenario serving(const Workload& workload) {
  Scenario s;
  s.workload = &workload;
  s.hardware = &standard_zoo().at<HardwareNode>("B200");
  s.accelerators = 8;
  s.tp_size = 8;
  s.batch_size = 4;
  s.seq_len = 10000;
  s.output_tokens = 100;
  s.precision = Precision::bf16;  // two bytes for every weight, where files and narrower formats mix them
  s.mode = Mode::serve;
  return s;
}

/// Results of a subject where one input has moved.
std::vector<double> moved(const Subject& s, std::size_t input, double value) {
  auto point = s.point;
  point[input] = value;
  std::vector<double> out;
  const auto all = s.entry(point);
  for (const char* name : {"ttft", "itl", "memory_used", "kv_cache_size"}) out.push_back(all[s.result(name)]);
  return out;
}

}  // namespace

TEST_CASE("a number of a layer that moves is the number of a file that says so", "[explore][subject]") {
  for (const char* name :
       {"Gemma3_27B", "DeepSeek_V3", "Qwen3_5_397B_A17B", "Llama4_Scout", "GPT_OSS_120B"}) {
    Workload changed = standard_zoo().at<Workload>(name);
    changed.entry = nullptr;
    const auto base = subject_of(serving(changed));
    std::set<std::string> tried;
    for_each_member(field_table<Workload>(), &changed, [&](const MemberPlace& at) {
      double* const x = number_in(at.type, at.member);
      const auto* field = find_field(base.entry.inputs, "workload." + at.path);
      if (x == nullptr || field == nullptr || !at.path.starts_with("stacks[0]")) return;
      INFO(name << " " << at.path);
      const double own = *x, other = own + 8;
      const auto there = moved(base, static_cast<std::size_t>(field - base.entry.inputs.data()), other);
      *x = other;
      const auto card = subject_of(serving(changed));
      const auto here = moved(card, 0, card.point[0]);
      *x = own;
      REQUIRE(here.size() == there.size());
      for (std::size_t i = 0; i < here.size(); ++i) CHECK(there[i] == Approx(here[i]).epsilon(1e-12));
      tried.insert(at.path);
    });
    INFO(name);
    CHECK(tried.size() >= 8);
    CHECK(tried.contains("stacks[0].hidden"));
  }
}

TEST_CASE("a kind of layer that stands at several places has one axis, that of the first",
          "[explore][subject]") {
  // Of four layers two have experts, one of them attends in chunks: the same experts, stated twice.
  Workload changed = standard_zoo().at<Workload>("Llama4_Maverick");
  changed.entry = nullptr;
  const auto base = subject_of(serving(changed));
  auto& pattern = changed.stacks[0].layers[0].pattern;
  std::vector<std::size_t> stated;
  for (std::size_t i = 0; i < pattern.size(); ++i)
    if (pattern[i].feed_forward && pattern[i].feed_forward->experts) stated.push_back(i);
  REQUIRE(stated.size() == 2);
  const auto path = [](std::size_t i) {
    return "workload.stacks[0].layers[0].pattern[" + std::to_string(i) + "].feed_forward.experts.width";
  };
  CHECK(find_field(base.entry.inputs, path(stated[1])) == nullptr);
  const auto input = base.input(path(stated[0]));
  const auto there = moved(base, input, base.point[input] + 8);
  for (const auto i : stated) *pattern[i].feed_forward->experts->width += 8;
  const auto card = subject_of(serving(changed));
  const auto here = moved(card, 0, card.point[0]);
  for (std::size_t i = 0; i < here.size(); ++i) CHECK(there[i] == Approx(here[i]).epsilon(1e-12));
}
