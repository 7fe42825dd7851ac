#include "hosted.hpp"

#include <mlsysim/resolver_api/record.hpp>

#include <fmt/format.h>

namespace mlsysim::plugin::check {

Hosted::Hosted(const Subject& s, bool isolated, IsolationLimits limits) {
  const auto path = std::filesystem::absolute(s.library).string();
  code = isolated ? detail::open_isolated(path, services, limits)
                  : detail::open_in_process(path, path, services);
  publish_units_of(code->description());
  for (std::size_t i = 0; i < code->description().resolvers.size(); ++i)
    resolvers.push_back(std::make_unique<detail::PluginResolver>(
        code->description(), std::make_shared<detail::Generation>(code, i), services->objects(),
        std::span<const detail::OptionSetting>()));
}

std::string bytes_of(Hosted& host, std::size_t i, double scale) {
  const auto& r = *host.resolvers[i];
  const auto& d = host.code->description().resolvers[i];
  const auto inputs = sample_inputs(*host.services, d, scale);
  try {
    Record in(r, Side::inputs);
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k].kind != MLS_NONE)
        in.set(d.inputs[k].name, detail::from_c(inputs[k], d.inputs[k].unit, host.services->objects()));
    const auto answer = evaluate(r, in);
    if (!answer.outcome.feasible()) return "infeasible: " + answer.outcome.why()->reason;
    std::string out;
    for (const auto& f : answer.outcome->fields()) {
      const Value v = f.read(answer.outcome->data());
      if (const auto* x = std::get_if<double>(&v))
        out += fmt::format("{}={:a};", f.name, *x);
      else
        out += fmt::format("{}={};", f.name, DynamicValue(v).text());
    }
    return out;
  } catch (const PluginFault& fault) {
    return fmt::format("error: {} {}", status_name(fault.code()), fault.what());
  } catch (const Error& error) {
    return fmt::format("refused: {}", error.what());
  }
}

}  // namespace mlsysim::plugin::check
