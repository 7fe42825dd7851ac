// Twenty questions to every device of the zoo: it answers or says why not, and what it answers is in physical
// order.

#include <support/catch.hpp>
#include <support/zoo_entries.hpp>

#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/tape/leaves.hpp>
#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

using namespace mlsysim;

namespace every_device {
namespace {

/// A question about a time; each is asked at both fidelities.
struct Question {
  const char* name;
  Scenario scenario;
  std::string_view time;  ///< the number of the estimate
};

constexpr std::string_view ttft = "ttft", itl = "itl", latency = "latency", step = "step_latency";

const std::vector<Question>& questions() {
  static const std::vector<Question> all{
      {"Llama3_8B, prompt of 2048", {.workload = &model("Llama3_8B"), .mode = Mode::serve}, ttft},
      {"Llama3_8B, a token", {.workload = &model("Llama3_8B"), .mode = Mode::serve}, itl},
      {"Llama3_8B, 64 tokens", {.workload = &model("Llama3_8B"), .mode = Mode::serve, .batch_size = 64}, itl},
      {"Llama3_70B on 8",
       {.workload = &model("Llama3_70B"), .mode = Mode::serve, .accelerators = 8, .tp_size = 8},
       itl},
      {"Mixtral_8x7B on 8",
       {.workload = &model("Mixtral_8x7B"),
        .mode = Mode::serve,
        .accelerators = 8,
        .tp_size = 1,
        .ep_size = 8},
       itl},
      {"BERT_Large, 16", {.workload = &model("BERT_Large"), .mode = Mode::infer, .batch_size = 16}, latency},
      {"ResNet50, 1", {.workload = &model("ResNet50"), .mode = Mode::infer}, latency},
      {"ResNet50, 64", {.workload = &model("ResNet50"), .mode = Mode::infer, .batch_size = 64}, latency},
      {"Llama3_8B, training on 8",
       {.workload = &model("Llama3_8B"), .mode = Mode::train, .batch_size = 8, .accelerators = 8},
       step},
      {"Llama3_8B, prompts of 16 x 512",
       {.workload = &model("Llama3_8B"), .mode = Mode::serve, .batch_size = 16, .seq_len = 512},
       ttft},
      {"Llama3_8B, a token after 65,536",
       {.workload = &model("Llama3_8B"), .mode = Mode::serve, .seq_len = 65536},
       itl},
      {"Llama3_8B, a token, weights of 4 bits",
       {.workload = &model("Llama3_8B"), .mode = Mode::serve, .weight_format = WeightFormat::int4},
       itl},
      {"Llama3_70B on 8, prompt of 2048",
       {.workload = &model("Llama3_70B"), .mode = Mode::serve, .accelerators = 8, .tp_size = 8},
       ttft},
      {"Llama3_70B on 4 stages",
       {.workload = &model("Llama3_70B"),
        .mode = Mode::serve,
        .batch_size = 8,
        .accelerators = 4,
        .pp_size = 4},
       itl},
      {"DeepSeek_V3 on 8, 32 tokens",
       {.workload = &model("DeepSeek_V3"),
        .mode = Mode::serve,
        .batch_size = 32,
        .accelerators = 8,
        .tp_size = 1,
        .ep_size = 8},
       itl},
      {"GPT2_Small, a token", {.workload = &model("GPT2_Small"), .mode = Mode::serve, .seq_len = 512}, itl},
      {"Mamba_2_8B, a token", {.workload = &model("Mamba_2_8B"), .mode = Mode::serve}, itl},
      {"ViT_B_16, 32", {.workload = &model("ViT_B_16"), .mode = Mode::infer, .batch_size = 32}, latency},
      {"Llama3_8B, adapters",
       {.workload = &model("Llama3_8B"), .mode = Mode::train, .batch_size = 4, .lora_rank = 16},
       step},
      {"ResNet50, training", {.workload = &model("ResNet50"), .mode = Mode::train, .batch_size = 64}, step}};
  return all;
}

/// What a device answers, or the id of the fault with which it refuses.
struct Answer {
  std::string fault;
  AnyProblem problem;
  FeasibilityEstimate<> feasibility;
  MacroEstimate<> macro;
  Time<> time;  ///< that was asked for
};

/// A time of an estimate, by its name.
template <class E> Time<> named(const E& estimate, std::string_view name) {
  Time<> out;
  for_each_field<E>([&]<class M>(const Field<E, M>& row) {
    if constexpr (std::is_same_v<M, Time<>>)
      if (row.name == name) out = estimate.*(row.member);
  });
  return out;
}
Time<> time_of(const AnyProblem& problem, std::string_view name) {
  return std::visit([&](const auto& p) { return named(evaluate(p), name); }, problem);
}
template <class F> void change(AnyProblem& problem, F&& f) { std::visit(f, problem); }
const Device<>& device_of(const AnyProblem& problem) {
  return std::visit([](const auto& p) -> const Device<>& { return p.device; }, problem);
}
const Links<>& links_of(const AnyProblem& problem) {
  return std::visit([](const auto& p) -> const Links<>& { return p.links; }, problem);
}
const Plan<>& plan_of(const AnyProblem& problem) {
  return std::visit([](const auto& p) -> const Plan<>& { return p.plan; }, problem);
}

Answer ask(Scenario s, std::string_view time, const HardwareNode& device, std::optional<Fidelity> fidelity) {
  Answer a;
  try {
    s.hardware = &device;
    s.fidelity = fidelity;
    if (s.mode == Mode::serve) s.load = Load::burst;  // of one batch both fidelities speak
    Notes quiet;
    a.problem = settle(ResolvedScenario(s, quiet), quiet);
    std::visit(
        [&](const auto& p) {
          const auto card = evaluate(p);
          a.feasibility = card.feasibility;
          a.macro = card.macro;
          a.time = named(card, time);
        },
        a.problem);
  } catch (const Error& e) {
    a.fault = e.facts().id.empty() ? "a fault without an id" : e.facts().id;
  }
  return a;
}

/// Whether a machine is at least as good as another in every figure that a law reads: rates, bandwidths and
/// what is sustained of them no less, times no more, work cut in the same way.
bool dominates(const AnyProblem& a, const AnyProblem& b) {
  const auto &d = device_of(a), &e = device_of(b);
  const auto &l = links_of(a), &m = links_of(b);
  const auto &p = plan_of(a), &q = plan_of(b);
  const auto rate = [](const Device<>& x, double share) { return x.compute.dense * share; };
  const auto streams = [](const Device<>& x, double ratio) {
    return x.memory.bandwidth * (x.efficiency.memory * ratio);
  };
  const auto &k = d.kernels, &n = e.kernels;
  const bool same_work = p.weight_bytes == q.weight_bytes && p.activation_bytes == q.activation_bytes &&
                         p.kv_bytes == q.kv_bytes && p.microbatches == q.microbatches && p.tp == q.tp;
  const bool same_cut =
      d.compute.units == e.compute.units && d.compute.matrix_rows == e.compute.matrix_rows &&
      d.tiles.tile_m == e.tiles.tile_m && d.tiles.tile_n == e.tiles.tile_n &&
      d.tiles.split_depth == e.tiles.split_depth && d.tiles.attention_tile == e.tiles.attention_tile &&
      d.tiles.prompt_tile == e.tiles.prompt_tile && d.tiles.prompt_group == e.tiles.prompt_group &&
      d.tiles.softmax_work == e.tiles.softmax_work;
  const bool rates = rate(d, d.efficiency.matrix) >= rate(e, e.efficiency.matrix) &&
                     rate(d, d.efficiency.matrix * d.compute.wide_ratio) >=
                         rate(e, e.efficiency.matrix * e.compute.wide_ratio) &&
                     rate(d, d.efficiency.attention) >= rate(e, e.efficiency.attention) &&
                     d.efficiency.attention_backward >= e.efficiency.attention_backward &&
                     d.compute.vector * d.efficiency.vector >= e.compute.vector * e.efficiency.vector &&
                     d.efficiency.burst >= e.efficiency.burst &&
                     d.efficiency.burst_time == e.efficiency.burst_time &&
                     d.memory.bandwidth * d.efficiency.memory >= e.memory.bandwidth * e.efficiency.memory &&
                     streams(d, d.efficiency.product_stream) >= streams(e, e.efficiency.product_stream) &&
                     streams(d, d.efficiency.attention_stream) >= streams(e, e.efficiency.attention_stream) &&
                     streams(d, d.efficiency.latent_stream) >= streams(e, e.efficiency.latent_stream) &&
                     d.efficiency.grouped >= e.efficiency.grouped && d.memory.capacity >= e.memory.capacity &&
                     d.host_link.bandwidth >= e.host_link.bandwidth;
  const bool times = k.launch <= n.launch && k.wave <= n.wave && k.split <= n.split &&
                     k.attention_launch <= n.attention_launch && k.attention_block <= n.attention_block &&
                     k.attention_rows <= n.attention_rows && k.attention_split <= n.attention_split &&
                     k.attention_step <= n.attention_step && k.prompt_block <= n.prompt_block &&
                     k.prompt_rows <= n.prompt_rows && k.issue <= n.issue &&
                     k.latent_block <= n.latent_block && k.latent_split <= n.latent_split &&
                     k.chosen_block <= n.chosen_block && k.chosen_step <= n.chosen_step &&
                     k.search <= n.search && d.dispatch_overhead <= e.dispatch_overhead &&
                     d.conventions.textbook_layer_overhead <= e.conventions.textbook_layer_overhead;
  bool levels = l.mesh == m.mesh;
  for (int i = 0; i < l.most_levels; ++i)
    levels = levels && l[i].peers == m[i].peers && l[i].latency <= m[i].latency && l[i].share >= m[i].share &&
             l[i].bandwidth * l[i].share >= m[i].bandwidth * m[i].share;
  const bool links = levels && l.launch <= m.launch && l.hop <= m.hop && l.sync <= m.sync &&
                     l.low_latency_share >= m.low_latency_share && l.pair_share >= m.pair_share &&
                     l.copy_ratio >= m.copy_ratio && l.switch_share >= m.switch_share &&
                     l.switch_start <= m.switch_start && l.direct == m.direct &&
                     l.direct_start <= m.direct_start && l.direct_hop <= m.direct_hop &&
                     l.direct_second <= m.direct_second && l.direct_share >= m.direct_share;
  return same_work && same_cut && rates && times && links;
}

}  // namespace

TEST_CASE("every device answers twenty questions, or says why not", "[catalogue][every_device]") {
  std::size_t answered = 0, refused = 0;
  for (const HardwareNode* device : standard_zoo().all<HardwareNode>())
    for (const auto& q : questions()) {
      INFO(device->name << ": " << q.name);
      for (const auto fidelity : {Fidelity::operator_level, Fidelity::textbook}) {
        const Answer a = ask(q.scenario, q.time, *device, fidelity);
        if (!a.fault.empty()) {
          CHECK(a.fault.starts_with("mlsysim."));
          ++refused;
          continue;
        }
        ++answered;
        const Time<> time = a.time;
        CHECK(std::isfinite(time.base()));
        CHECK(time > Time<>());
        CHECK(std::isfinite(a.feasibility.memory_used.base()));
        CHECK(a.feasibility.memory_used > Data<>());
        const auto& charged =
            std::visit([](const auto& p) -> const MacroProblem<>& { return p.macro; }, a.problem);
        if (charged.has_power) CHECK(a.macro.energy > Energy<>());
        if (charged.has_price) CHECK(a.macro.tco >= Money<>());
      }
    }
  CHECK(answered > 5500);
  CHECK(answered > 5 * refused);
}

TEST_CASE("no device is faster than its own roofline", "[catalogue][every_device]") {
  for (const HardwareNode* device : standard_zoo().all<HardwareNode>())
    for (const auto& q : questions()) {
      Answer a = ask(q.scenario, q.time, *device, Fidelity::operator_level);
      if (!a.fault.empty()) continue;
      INFO(device->name << ": " << q.name);
      const Time<> time = a.time;
      change(a.problem, [](auto& p) { p.fidelity_model = &roofline_model(); });
      CHECK(time >= time_of(a.problem, q.time) * (1 - 1e-9));
    }
}

// The textbook charges every device the software time of eager layers, and a decode step no arithmetic. What
// it says without the first is a floor for operators; beyond the fixed times of kernels, what it or the
// roofline says, whichever is more, has to explain them.
TEST_CASE("operators and textbook agree within a factor", "[catalogue][every_device]") {
  Conventions bare = conventions_or_standard(nullptr);
  bare.textbook_layer_overhead = Time<>();
  double least = 1, most = 1;
  for (const HardwareNode* device : standard_zoo().all<HardwareNode>())
    for (const auto& q : questions()) {
      Answer a = ask(q.scenario, q.time, *device, Fidelity::operator_level);
      const Answer b = ask(q.scenario, q.time, *device, Fidelity::textbook);
      if (!a.fault.empty() || !b.fault.empty()) continue;
      Scenario quick = q.scenario;
      quick.conventions = &bare;
      INFO(device->name << ": " << q.name);
      const Time<> time = a.time;
      auto endless = a.problem;
      change(endless, [](auto& p) {
        Device<>& d = p.device;
        d.compute.dense = d.compute.dense * 1e6;
        d.compute.vector = d.compute.vector * 1e6;
        d.memory.bandwidth = d.memory.bandwidth * 1e6;
      });
      const Time<> fixed = time_of(endless, q.time);
      change(a.problem, [](auto& p) { p.fidelity_model = &roofline_model(); });
      const Time<> bound = time_of(a.problem, q.time);
      const double above = (time - fixed) / max(b.time, bound),
                   below = time / ask(quick, q.time, *device, Fidelity::textbook).time;
      CHECK(above < 5);
      CHECK(below > 0.4);
      least = std::min(least, below);
      most = std::max(most, above);
    }
  INFO("factors reached: " << least << " and " << most);
  CHECK(least < 0.9);
  CHECK(most > 1.1);
}

TEST_CASE("no device is slower than one that it dominates", "[catalogue][every_device]") {
  std::size_t pairs = 0;
  for (const auto& q : questions())
    for (const auto fidelity : {Fidelity::operator_level, Fidelity::textbook}) {
      std::vector<std::pair<const HardwareNode*, Answer>> answers;
      for (const HardwareNode* device : standard_zoo().all<HardwareNode>())
        if (auto a = ask(q.scenario, q.time, *device, fidelity); a.fault.empty())
          answers.emplace_back(device, std::move(a));
      for (const auto& [better, a] : answers)
        for (const auto& [worse, b] : answers) {
          if (better == worse || !dominates(a.problem, b.problem)) continue;
          ++pairs;
          INFO(q.name << ": " << better->name << " dominates " << worse->name);
          CHECK(a.time <= b.time * (1 + 1e-9));
        }
    }
  CHECK(pairs > 1000);
}

TEST_CASE("a device without a count of its units pays no time of a unit", "[catalogue][every_device]") {
  const auto& zoo = standard_zoo();
  const auto& c = conventions_or_standard(nullptr);
  Notes quiet;
  for (const char* name : {"TPUv7", "Trainium2", "Cerebras_CS3", "R200"}) {
    const auto& device = zoo.at<HardwareNode>(name);
    const auto d = device_view(device, device.compute.default_precision, c, quiet);
    INFO(name);
    CHECK(d.kernels.attention_block == Time<>());
    CHECK(d.kernels.attention_rows == Time<>());
    CHECK(d.kernels.attention_split == Time<>());
    CHECK(d.kernels.chosen_step == Time<>());
    CHECK(d.kernels.wave == Time<>());
    CHECK(d.tiles.tile_m == 1);
  }
  // 32 layers x 32 heads x 16 blocks on one unit were 72.1 ms, beside some ten of arithmetic.
  Scenario s{.workload = &zoo.at<Workload>("Llama3_8B"), .mode = Mode::serve};
  CHECK(ask(s, ttft, zoo.at<HardwareNode>("TPUv7"), Fidelity::operator_level).time.in(unit::ms) < 30);
}

TEST_CASE("a rack has the figures of its part", "[catalogue][every_device]") {
  const auto& zoo = standard_zoo();
  const auto& c = conventions_or_standard(nullptr);
  const auto &rack = zoo.at<HardwareNode>("GB200_NVL72"), &part = zoo.at<HardwareNode>("GB200");
  REQUIRE(rack.part == &part);
  Notes quiet;
  const auto a = device_view(rack, Precision::bf16, c, quiet),
             b = device_view(part, Precision::bf16, c, quiet);
  CHECK(a.efficiency.matrix == b.efficiency.matrix);
  CHECK(a.compute.units == 72 * b.compute.units);
  CHECK(a.kernels.launch == b.kernels.launch);
}

TEST_CASE("memory that programs cannot use is not there", "[catalogue][every_device]") {
  // An A10 has 24 GiB, of which error correction leaves 24.16 GB.
  const auto& a10 = standard_zoo().at<HardwareNode>("A10");
  REQUIRE(a10.memory.usable_capacity);
  CHECK(a10.memory.usable_capacity->in(unit::GB) == Approx(24.16).epsilon(1e-3));
  Scenario s{.workload = &model("Llama3_8B"), .mode = Mode::serve};
  const auto a = ask(s, itl, a10, Fidelity::operator_level);
  CHECK(a.feasibility.memory_capacity == *a10.memory.usable_capacity);
}

}  // namespace every_device
