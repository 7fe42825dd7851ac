// The component joins the kernel: whoever links it wants the symbol below, and answers then name the launch
// of a plan.

#include "detail/planned.hpp"
#include "detail/pools.hpp"

#include <mlsysim/engine/detail/launch_writer.hpp>
#include <mlsysim/launch/launch.hpp>
#include <mlsysim/specs/serving_engine.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace mlsysim {
namespace {

/// The engine of a plan, or the one that most people start.
LaunchFormat format_of(const Scenario& s) {
  const std::string_view engine = s.engine != nullptr ? std::string_view(s.engine->name) : "";
  if (engine.starts_with("sglang")) return LaunchFormat::sglang;
  if (engine.starts_with("trtllm") || engine.starts_with("tensorrt")) return LaunchFormat::trtllm;
  return s.mode == Mode::train ? LaunchFormat::megatron : LaunchFormat::vllm;
}

/// The command of a script in one line, without its comments.
std::string one_line(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with('#')) continue;
    while (!line.empty() && (line.back() == '\\' || line.back() == ' ')) line.remove_suffix(1);
    while (line.starts_with(' ')) line.remove_prefix(1);
    if (!line.empty()) out += (out.empty() ? "" : " ") + std::string(line);
  }
  return out;
}

const bool registered = [] {
  detail::set_launch_writer([](const Scenario& asked) {
    const Scenario s = detail::with_requests(asked);
    const auto format = format_of(s);
    if (!s.prefill_replicas) return one_line(export_launch(s, format, {}).text);
    std::string out;
    for (const auto& pool : detail::launched_pools(s, format))
      out += fmt::format("{}{}: {}{}", out.empty() ? "" : "; ", pool.name,
                         one_line(export_launch(pool.each, format, {}).text), pool.flags);
    return out;
  });
  return true;
}();

}  // namespace
}  // namespace mlsysim

extern "C" int mlsysim_launches_component();
extern "C" int mlsysim_launches_component() { return mlsysim::registered ? 1 : 0; }
