// Checks of a plugin in a process of its own, and of its speed.

#include "hosted.hpp"

#include <mlsysim/resolver_api/record.hpp>

#include <fmt/format.h>

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>

namespace mlsysim::plugin::check {
namespace {

/// Ends the process of the only isolated plugin of this process.
bool kill_child() {
  std::ifstream children(fmt::format("/proc/self/task/{}/children", ::getpid()));
  pid_t child = 0;
  if (!(children >> child)) return false;
  ::kill(child, SIGKILL);
  return true;
}

/// Results of all resolvers at three scales of their inputs.
std::vector<std::string> answers_of(Hosted& host) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < host.resolvers.size(); ++i)
    for (const double scale : {0.5, 1.0, 2.0})
      out.push_back(host.resolvers[i]->info().name + ": " + bytes_of(host, i, scale));
  return out;
}
std::string differs(const std::vector<std::string>& here, const std::vector<std::string>& there) {
  for (std::size_t i = 0; i < here.size(); ++i)
    if (here[i] != there[i]) return fmt::format("{} here, {} there", here[i], there[i]);
  return {};
}

Result same_when_isolated(const Subject& s) {
  // The calls in this process end before the isolated process starts. A plugin that closes descriptors would
  // close those of both.
  Hosted local(s);
  if (local.resolvers.empty()) return skip("it registers no resolver");
  const auto here = answers_of(local);
  Hosted apart(s, true);
  if (auto why = differs(here, answers_of(apart)); !why.empty()) return fail(std::move(why));
  if (!kill_child()) return pass();
  // One call says that the process is gone; the next one starts it again.
  if (const auto got = bytes_of(apart, 0, 1); !got.starts_with("error: ABORTED"))
    return fail("after its process was killed: " + got);
  const auto why = differs(here, answers_of(apart));
  return why.empty() ? pass() : fail("after its process was killed and started again: " + why);
}

/// Time for one call: a fraction of what the host allows, since what is asked here is small.
constexpr auto kCallTime = std::chrono::seconds(sanitized() ? 60 : 2);

Result answers_in_time(const Subject& s) {
  Hosted apart(s, true, {.timeout = kCallTime});
  if (apart.resolvers.empty()) return skip("it registers no resolver");
  for (std::size_t i = 0; i < apart.resolvers.size(); ++i)
    if (const auto got = bytes_of(apart, i, 1); got.starts_with("error: DEADLINE_EXCEEDED"))
      return fail(apart.resolvers[i]->info().name + ": " + got);
  return pass();
}

Result fits_into_limit(const Subject& s) {
  if (sanitized()) return skip("a sanitizer needs more address space than the limit");
  Hosted free(s, true, {.memory = 0}), limited(s, true);
  if (free.resolvers.empty()) return skip("it registers no resolver");
  for (std::size_t i = 0; i < free.resolvers.size(); ++i)
    if (const auto got = bytes_of(limited, i, 1); got != bytes_of(free, i, 1))
      return fail(fmt::format("{}: with {} bytes of address space: {}", free.resolvers[i]->info().name,
                              IsolationLimits{}.memory, got));
  return pass();
}

/// The answer of a call with a large payload, or its error as text.
template <class F> std::string answer_of(F&& f) {
  try {
    return f();
  } catch (const PluginFault& fault) {
    return fmt::format("error: {} {}", status_name(fault.code()), fault.facts().message);
  } catch (const Error& error) {
    return error.what();
  }
}

Result large_payload(const Subject& s) {
  constexpr std::size_t kPayload = 64'000'000;  // bytes
  Hosted here(s), apart(s, true, {.timeout = std::chrono::seconds(15)});
  const auto& d = here.code->description();
  bool any = false;
  for (std::size_t i = 0; i < d.converters.size(); ++i) {
    if (d.converters[i].direction != MLS_IMPORTER) continue;
    any = true;
    const std::string bytes(kPayload, ' ');
    const auto read = [&](Hosted& h) {
      return answer_of([&] {
        SolveContext context;
        MlsCall call;
        call.context = &context;
        return h.code->convert(i, "large", bytes, nullptr, call);
      });
    };
    if (const auto a = read(here), b = read(apart); a != b)
      return fail(fmt::format("{}: {} here, {} in a process of its own", d.converters[i].name,
                              a.substr(0, 200), b.substr(0, 200)));
  }
  for (std::size_t i = 0; i < d.backends.size(); ++i) {
    any = true;
    Program program{.name = "large",
                    .precision = "bf16",
                    .ops = std::vector<ProgramOp>(
                        1000, ProgramOp{"add", "elementwise", "", std::string(kPayload / 1000, 'x')})};
    const auto ask = [&](Hosted& h) {
      return answer_of([&] {
        SolveContext context;
        std::vector<SupportReason> reasons;
        MlsCall call;
        call.context = &context;
        call.reasons = &reasons;
        const auto device = d.backends[i].devices.empty() ? std::string() : d.backends[i].devices.front();
        const auto [verdict, effort] =
            h.code->query_support(i, program, device, MLS_EFFORT_TYPES, MLS_MODE_CONSERVATIVE, call);
        return fmt::format("{} {} {}", verdict, effort, reasons.size());
      });
    };
    if (const auto a = ask(here), b = ask(apart); a != b)
      return fail(fmt::format("{}: {} here, {} in a process of its own", d.backends[i].name, a, b));
  }
  return any ? pass() : skip("it has no importer and no backend");
}

Result calls_are_cheap(const Subject& s) {
  return each(s, [](Hosted& h, std::size_t i) -> std::string {
    const auto& d = h.code->description().resolvers[i];
    // A call of the host's own: making inputs and reading results is no business of the plugin.
    const auto& r = *h.resolvers[i];
    const auto inputs = sample_inputs(*h.services, d, 1);
    Record in(r, Side::inputs);
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k].kind != MLS_NONE)
        in.set(d.inputs[k].name, detail::from_c(inputs[k], d.inputs[k].unit, h.services->objects()));
    Record out(r, Side::outputs);
    if (d.tier != Tier::model || bytes_of(h, i, 1).starts_with("error: ")) return "";
    double best = 1e9;
    for (int round = 0; round < 20; ++round) {
      const auto start = std::chrono::steady_clock::now();
      SolveContext context;
      (void)r.solve(in.data(), out.data(), context);
      best = std::min(
          best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    return best < 50 || sanitized() ? "" : fmt::format("a call takes {:.0f} us", best);
  });
}

Result load_is_quick(const Subject& s) {
  const auto start = std::chrono::steady_clock::now();
  const Hosted host(s);
  const auto ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return ms < 100 ? pass() : fail(fmt::format("loading takes {:.0f} ms", ms));
}

}  // namespace

std::span<const Check> process_checks() {
  static constexpr Check checks[] = {
      {"X01", Level::required, "isolation",
       "a process of its own gives the same bytes, also after it was killed", "V01 V02 X02 X03",
       same_when_isolated},
      {"X02", Level::required, "isolation", "calls in a process of its own answer in time", "V01 V02",
       answers_in_time},
      {"X03", Level::required, "isolation", "it lives with the memory limit of a process of its own", "X02",
       fits_into_limit},
      {"X04", Level::required, "isolation", "a payload of 64 MB crosses to a process of its own", "X02",
       large_payload},
      {"P03", Level::recommended, "speed", "a call of a model takes less than 50 us", "V01", calls_are_cheap},
      {"P01", Level::recommended, "speed", "it loads within 100 ms", "R05", load_is_quick}};
  return checks;
}

}  // namespace mlsysim::plugin::check
