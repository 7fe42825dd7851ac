#include "sizing/detail/next_points.hpp"

#include "sizing/detail/size_plans.hpp"

#include <mlsysim/engine/explain.hpp>
#include <mlsysim/engine/requests.hpp>
#include <mlsysim/intervals/model_error.hpp>
#include <mlsysim/sizing/report.hpp>
#include <mlsysim/specs/usual_request.hpp>
#include <mlsysim/timing/stored_formats.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

namespace mlsysim {

using Json = nlohmann::ordered_json;

std::string KernelPoint::text() const {
  std::string out = op;
  for (const auto& [name, size] : sizes) out += fmt::format(" {} {:g}", name, size);
  return out;
}

std::string KernelPoint::json() const {
  Json size = Json::object();
  for (const auto& [name, x] : sizes) size[name] = static_cast<std::int64_t>(x);
  return detail::json_text(Json{{"table", table}, {"op", op}, {"size", std::move(size)}});
}

std::string measure_points(const DecideAnswer& answer) {
  Json points = Json::array();
  for (const auto& m : answer.next) {
    Json point{{"hardware", m.device}};
    point.update(Json::parse(m.kernel->json()));
    point["why"] = m.what;
    points.push_back(std::move(point));
  }
  return detail::json_document(Json{{"schema", "mlsysim/measure-request@1"}, {"points", std::move(points)}});
}

namespace detail {
namespace {

/// Points of `mlsysim measure` that a decision lists.
constexpr std::size_t kPoints = 5;
/// Minutes in which PyTorch starts and times one kernel on one device.
constexpr double kKernelMinutes = 0.5;

/// Error that remains once a machine is measured: the least half-width, in logarithms, of measured bands.
double measured_width(std::string_view metric, int level) {
  const auto& book = ErrorBook::standard_of(metric);
  double least = std::numeric_limits<double>::infinity();
  for (const auto& g : book.groups()) {
    if (const auto band = book.band(g.subject, level); band && band->distance == 0)
      least = std::min(least, std::log(band->high / band->low) / 2);
  }
  return least;
}

/// The product of a row as a point, where a framework has its kernel: in 16 bits, or in fp8.
std::optional<KernelPoint> product_point(const OperatorRow& row, Precision precision, bool widened) {
  const bool wide = row.shape.stays_16bit || precision == Precision::bf16 || precision == Precision::fp16;
  if (row.shape.copies != 1 || widened || !(wide || precision == Precision::fp8)) return std::nullopt;
  const auto whole = [](double x) { return std::max(1.0, std::round(x)); };
  return KernelPoint{"gemm",
                     wide ? "mm" : "scaled_mm",
                     {{"m", whole(row.shape.m)}, {"n", whole(row.shape.n)}, {"k", whole(row.shape.k)}}};
}

/// The attention of a row as a point. @param heads of a device
std::optional<KernelPoint> attention_point(const OperatorRow& row, double heads, bool trains) {
  // Keys and values of latents are one; no fused kernel has wider heads.
  constexpr double widest = 256;
  if (row.shape.k > widest || (!trains && row.shape.m != 1)) return std::nullopt;
  const double batch = std::max(1.0, std::round(row.shape.copies / heads));
  return KernelPoint{"attention",
                     trains ? "forward_backward" : "decode",
                     {{"batch", batch},
                      {"context", std::round(row.shape.n)},
                      {"heads", heads},
                      {"kv_heads", heads / row.shape.group_heads},
                      {"head_dim", row.shape.k}}};
}

/// A run of the plan with its own software: an engine starts in a minute.
NextMeasurement run_of(const std::string& machine, const Scenario& asked, const SizedPlan& plan) {
  const double length = asked.seq_len.value_or(UsualRequest::prompt),
               answer = asked.output_tokens.value_or(UsualRequest::answer);
  NextMeasurement out{.machine = machine, .device = {}, .what = {}, .kernel = {}};
  if (plan.scenario.mode == Mode::train) {
    const double step = asked.batch_size * length / plan.token_throughput.base();
    out.what = fmt::format("20 training steps of {:g} sequences of {:g} tokens, {}", asked.batch_size, length,
                           plan.degrees());
    out.minutes = plan.devices * (60 + 20 * step) / 60;
    return out;
  }
  out.what = fmt::format("200 decode steps of {:.0f} requests at {:.0f} tokens, {}",
                         std::max(1.0, std::round(plan.running)), length + answer / 2, plan.degrees());
  out.minutes = plan.replica_devices() * (60 + 200 * plan.itl.in(unit::s)) / 60;
  return out;
}

/// The end of a machine's interval once its own part of it is smaller; parts of a variance add up.
double end_with(double end, double own, double left) {
  const double total = std::log(end), part = std::log(own), now = std::log(left);
  return std::exp(std::copysign(std::sqrt(std::max(total * total - part * part, 0.0) + now * now), total));
}

/// A box in which the errors of a machine, and of those with the same device, keep a share of their variance.
ErrorBox narrowed(const ErrorBox& box, const std::vector<Costs>& costs,
                  const std::map<std::string, double>& left, double width) {
  ErrorBox out = box;
  for (std::size_t k = 0; k < costs.size(); ++k) {
    const auto share = left.find(costs[k].device());
    if (share == left.end()) continue;
    const double scale = std::sqrt(share->second);
    out.low[k] = std::max(box.low[k], std::min(std::pow(box.low[k], scale), std::exp(-width)));
    out.high[k] = std::min(box.high[k], std::max(std::pow(box.high[k], scale), std::exp(width)));
    out.least[k] = end_with(box.least[k], box.low[k], out.low[k]);
    out.most[k] = end_with(box.most[k], box.high[k], out.high[k]);
  }
  return out;
}

}  // namespace

std::vector<KernelShare> measurable_kernels(const Scenario& busy) try {
  Notes quiet;
  const ResolvedScenario r(busy, quiet);
  const bool trains = r.mode() == Mode::train;
  const double heads = busy.workload->heads().value_or(0) / r.tp_size();
  const auto format = served_format(*busy.workload, {busy.precision, busy.weight_format, busy.weight_bits},
                                    r.hardware(), nullptr, quiet);
  const Precision precision = precision_of(r);
  const bool widened = format.block < bytes_per_element(precision) * (unit::B / unit::param);
  std::vector<KernelShare> out;
  double squares = 0;
  for (const auto& row : operator_table(busy, trains ? "step_latency" : "itl")) {
    squares += row.share * row.share;
    if (row.pass != name_of(Pass::forward)) continue;
    auto point = row.shape.kind == OpKind::matmul ? product_point(row, precision, !trains && widened)
                 : row.shape.kind == OpKind::attention && heads >= 1 && std::floor(heads) == heads
                     ? attention_point(row, heads, trains)
                     : std::nullopt;
    if (!point) continue;
    const auto same = std::ranges::find(out, *point, &KernelShare::point);
    if (same == out.end())
      out.push_back({std::move(*point), row.share, 0});
    else
      same->share += row.share;
  }
  for (auto& kernel : out) kernel.variance = std::min(1.0, kernel.share * kernel.share / squares);
  std::ranges::stable_sort(out, std::greater{}, &KernelShare::share);
  return out;
} catch (const Error&) {  // no operators are listed, or the plan has no such number
  return {};
}

void add_measurements(const std::vector<DecideOption>& options, std::vector<Costs>& costs,
                      const ErrorBox& box, DecideAnswer& out) {
  if (out.regret <= 0 || options.size() < 2) return;
  const bool runs = trains(costs[0].question());
  const double width = measured_width(runs ? "step_latency" : "itl", out.level);
  const auto left_by = [&](const std::map<std::string, double>& left) {
    return certified(costs, narrowed(box, costs, left, width), 16).value;
  };
  struct Candidate {
    std::size_t option;
    KernelShare kernel;
    double gain;  // of the variance of the logarithm of its time
  };
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < options.size(); ++i) {
    auto run = run_of(options[i].machine, costs[i].question().scenario, options[i].size->best);
    run.device = costs[i].device();
    run.regret = left_by({{run.device, 0.0}});
    if (run.regret < out.regret * (1 - 1e-9) && (!out.run || run.regret < out.run->regret)) out.run = run;
    double replicas = 1;
    const double error = std::log(box.high[i] / box.low[i]) / 2;
    for (auto& kernel :
         measurable_kernels(busy_replicas(costs[i].question(), options[i].size->best, &replicas)))
      all.push_back({i, kernel, kernel.variance * error * error});
  }
  std::ranges::stable_sort(all, std::greater{}, &Candidate::gain);
  std::map<std::string, double> left;
  for (const auto& c : all) {
    if (out.next.size() == kPoints) break;
    const auto& device = costs[c.option].device();
    auto& share = left.emplace(device, 1.0).first->second;
    share = std::max(0.0, share - c.kernel.variance);
    out.next.push_back(
        {.machine = options[c.option].machine,
         .device = device,
         .what = fmt::format("{:.0f} % of a {} step, {}", 100 * c.kernel.share, runs ? "training" : "decode",
                             options[c.option].size->best.degrees()),
         .kernel = c.kernel.point,
         .minutes = kKernelMinutes,
         .regret = left_by(left)});
  }
  // Points that leave the regret as it is tell nothing about the choice.
  const auto lowers = [&] {
    const double before = out.next.size() > 1 ? out.next.rbegin()[1].regret : out.regret;
    return out.next.back().regret < before * (1 - 1e-9);
  };
  while (!out.next.empty() && !lowers()) out.next.pop_back();
}

}  // namespace detail
}  // namespace mlsysim
