#pragma once
// Problems that tests sweep and search.

#include <mlsysim/explore/search/explore.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

namespace mlsysim::test {

inline Question minimize(std::string text, std::vector<std::string> constraints = {}) {
  Question q;
  q.objectives.push_back({Goal::minimize, std::move(text)});
  q.constraints = std::move(constraints);
  return q;
}

inline Scenario scenario(const char* model, const char* device, double devices, Mode mode, double batch) {
  const Zoo& zoo = standard_zoo();
  Scenario s;
  s.workload = &zoo.at<Workload>(model);
  s.hardware = &zoo.at<HardwareNode>(device);
  s.accelerators = devices;
  s.mode = mode;
  s.batch_size = batch;
  return s;
}

/// A ring all-reduce: message, ranks, bandwidth, alpha -> time, a law with a count and a kink-free minimum.
inline std::shared_ptr<const Problem> ring() {
  const auto law = ResolverRegistry::standard().share("RingAllReduce");
  Record in(*law, Side::inputs);
  in.set("message", 1.0 * unit::GB)
      .set("ranks", 8.0)
      .set("bandwidth", 400.0 * unit::GB / unit::s)
      .set("alpha", 5.0 * unit::us);
  return problem_of(law, in.data());
}

inline SpaceAxis axis(const char* text) {
  return parse_axis(
      text, [](std::string_view, std::string_view value) { return DynamicValue(AnyQuantity::parse(value)); });
}

}  // namespace mlsysim::test
