#include "kit.hpp"

#include <mlsysim/zoo/detail/contribution.hpp>

#include <fmt/format.h>

#include <chrono>

namespace mlsysim::plugin::check {
namespace {

struct Asked {
  Verdict verdict;
  std::int32_t effort;
  std::vector<SupportReason> reasons;
};

/// Calls `f(ask, description)` for each backend; `ask(program, device, effort, mode)` is one query.
template <class F> Result each_backend(const Subject& s, F&& f) {
  const auto services = std::make_shared<KitServices>();
  const auto code =
      detail::open_in_process(std::filesystem::absolute(s.library).string(), s.library.string(), services);
  const auto& backends = code->description().backends;
  if (backends.empty()) return skip("it registers no backend");
  for (std::size_t i = 0; i < backends.size(); ++i) {
    if (backends[i].devices.empty()) return fail(backends[i].name + " has no devices");
    for (const auto& device : backends[i].devices) {
      const auto ask = [&](const Program& program, std::int32_t effort,
                           SupportMode mode = SupportMode::conservative) {
        Asked out{};
        SolveContext context;
        MlsCall call;
        call.context = &context;
        call.reasons = &out.reasons;
        const auto [verdict, used] =
            code->query_support(i, program, device, effort, static_cast<std::int32_t>(mode), call);
        out.verdict = static_cast<Verdict>(verdict);
        out.effort = used;
        return out;
      };
      if (auto why = f(ask, backends[i]); !why.empty())
        return fail(fmt::format("{} on {}: {}", backends[i].name, device, why));
    }
  }
  return pass();
}

constexpr const char* kNobodyHas = "no.operator.has.this.name";

Program sample(const char* kind, int count = 1) {
  return {.name = "sample",
          .precision = "bf16",
          .ops = std::vector<ProgramOp>(static_cast<std::size_t>(count),
                                        ProgramOp{kind, kind, "", "", 1, 1e9, 1e6})};
}

Result unknown_op(const Subject& s) {
  return each_backend(s, [](const auto& ask, const BackendDescription&) -> std::string {
    const auto got = ask(sample(kNobodyHas), MLS_EFFORT_REWRITE);
    if (got.verdict == Verdict::yes) return "says yes to an operator that does not exist";
    return got.reasons.empty() ? "gives no reason for an operator that does not exist" : "";
  });
}

Result lists_all(const Subject& s) {
  return each_backend(s, [](const auto& ask, const BackendDescription&) -> std::string {
    Program p = sample(kNobodyHas);
    for (const char* other : {"another.unknown.one", "a.third.unknown.one"}) p.ops.push_back({other, other});
    const auto got = ask(p, MLS_EFFORT_NAMES);
    std::size_t named = 0;
    for (const auto& op : p.ops)
      for (const auto& r : got.reasons)
        if (r.op == op.name) {
          ++named;
          break;
        }
    return named == p.ops.size()
               ? ""
               : fmt::format("names {} of {} operators that it does not know", named, p.ops.size());
  });
}

Result monotone(const Subject& s) {
  return each_backend(s, [](const auto& ask, const BackendDescription&) -> std::string {
    for (const char* kind : {"matmul", "attention", "elementwise", "gather", "convolution", "recurrence",
                             "collective", kNobodyHas}) {
      auto before = Verdict::maybe;
      for (int effort = MLS_EFFORT_NAMES; effort <= MLS_EFFORT_REWRITE; ++effort) {
        const auto now = ask(sample(kind), effort).verdict;
        if (before != Verdict::maybe && now != before)
          return fmt::format("'{}' turns from {} into {} with more effort", kind, mlsysim::name_of(before),
                             mlsysim::name_of(now));
        before = now;
      }
    }
    return "";
  });
}

Result effort_told(const Subject& s) {
  return each_backend(s, [](const auto& ask, const BackendDescription& b) -> std::string {
    const auto got = ask(sample("matmul"), MLS_EFFORT_REWRITE);
    return got.effort <= b.max_effort
               ? ""
               : fmt::format("says effort {}, its highest is {}", got.effort, b.max_effort);
  });
}

Result empty_program(const Subject& s) {
  return each_backend(s, [](const auto& ask, const BackendDescription&) -> std::string {
    return ask({.name = "empty"}, MLS_EFFORT_REWRITE).verdict == Verdict::no ? "an empty program does not run"
                                                                             : "";
  });
}

Result too_new(const Subject& s) {
  return each_backend(s, [](const auto& ask, const BackendDescription&) -> std::string {
    auto p = sample("matmul");
    p.format = "stablehlo:999.0.0";
    const auto got = ask(p, MLS_EFFORT_REWRITE);
    if (got.verdict == Verdict::yes) return "says yes to a format from the future";
    for (const auto& r : got.reasons)
      if (r.code == ReasonCode::version) return "";
    return "gives no reason 'version' for a format from the future";
  });
}

/// A plugin that claims `offload` must find a plan for a model larger than the fast memory of a device, and
/// state the bytes that the link moves.
Result offloads(const Subject& s) {
  const auto services = std::make_shared<KitServices>();
  const auto code =
      detail::open_in_process(std::filesystem::absolute(s.library).string(), s.library.string(), services);
  const auto& d = code->description();
  if (!code->has_feature("offload")) return skip("it does not claim the feature 'offload'");
  std::vector<ZooContribution> texts;
  for (const auto& z : d.zoo) texts.push_back({d.name, z.name, z.text});
  const auto zoo = load_zoo({}, texts);
  for (const auto& b : d.backends) {
    if (b.predict.empty()) continue;
    for (const auto& name : b.devices) {
      const auto* device = zoo.find<HardwareNode>(name);
      const Workload* smallest = nullptr;  // of those that the fast memory does not hold
      if (device == nullptr || !device->memory.capacity) continue;
      for (const auto* w : zoo.all<Workload>())
        if (w->parameters && w->size(Precision::bf16) > *device->memory.capacity &&
            (smallest == nullptr || w->size(Precision::bf16) < smallest->size(Precision::bf16)))
          smallest = w;
      if (smallest == nullptr) continue;
      for (std::size_t i = 0; i < d.resolvers.size(); ++i) {
        if (d.resolvers[i].name != b.predict) continue;
        RawPlugin p(s);
        (void)p.initialize();
        (void)p.register_all();
        auto inputs = sample_inputs(p.services(), d.resolvers[i], 1);
        for (std::size_t k = 0; k < inputs.size(); ++k) {
          if (d.resolvers[i].inputs[k].object_type == "hardware")
            inputs[k].object = p.services().objects().handle({device, "hardware"});
          if (d.resolvers[i].inputs[k].object_type == "workload")
            inputs[k].object = p.services().objects().handle({smallest, "workload"});
        }
        const auto got = solve_by_hand(p, i, inputs);
        const auto where = fmt::format("{} with {} on {}", b.name, smallest->name, name);
        if (!got.error.empty()) return fail(where + ": " + got.error);
        if (got.outcome == MLS_OUTCOME_INFEASIBLE) return fail(where + ": infeasible");
        for (std::size_t k = 0; k < d.resolvers[i].outputs.size(); ++k)
          if (d.resolvers[i].outputs[k].name == "link_traffic" && got.outputs[k].number > 0) return pass();
        return fail(where + ": no result 'link_traffic' says how many bytes the link moves");
      }
    }
  }
  return skip("no model of the zoo is larger than the memory of its devices");
}

Result query_is_quick(const Subject& s) {
  return each_backend(s, [](const auto& ask, const BackendDescription&) -> std::string {
    const auto p = sample("matmul", 10000);
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      const auto start = std::chrono::steady_clock::now();
      (void)ask(p, MLS_EFFORT_NAMES);
      best = std::min(
          best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    return best < 10 ? "" : fmt::format("10,000 operators take {:.1f} ms", best);
  });
}

}  // namespace

std::span<const Check> support_checks() {
  static constexpr Check checks[] = {
      {"S01", Level::required, "support", "an operator that nobody has is not a yes, and has a reason", "R05",
       unknown_op},
      {"S02", Level::required, "support", "every operator that is not known is listed", "S01", lists_all},
      {"S03", Level::required, "support", "more effort turns maybe into yes or no, nothing else", "R05",
       monotone},
      {"S04", Level::required, "support", "the effort that was used is told", "R05", effort_told},
      {"S05", Level::required, "support", "an empty program runs", "R05", empty_program},
      {"S06", Level::required, "support", "a format from the future gives the reason 'version'", "R05",
       too_new},
      {"S07", Level::required, "support",
       "with the feature 'offload', what is larger than the fast memory is a plan with bytes per link", "E01",
       offloads},
      {"P02", Level::recommended, "speed", "names of 10,000 operators take less than 10 ms", "R05",
       query_is_quick}};
  return checks;
}

}  // namespace mlsysim::plugin::check
