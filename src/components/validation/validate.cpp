#include <mlsysim/validation/validate.hpp>

#include <mlsysim/units/unit.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

/// Errors of rows under a context; a row to which it gives no finite answer is skipped.
std::vector<double> errors_of(const MeasuredTable& table, const std::vector<const MeasuredRow*>& rows,
                              const PredictionContext& context) {
  std::vector<double> out;
  out.reserve(rows.size());
  for (const MeasuredRow* row : rows) {
    const auto p = predict(*table.measurand, row->inputs.get(), context);
    if (p.answered()) out.push_back((p.base - row->measured) / row->measured);
  }
  return out;
}

}  // namespace

const std::vector<Ablation>& ablations() {
  static const std::vector<Ablation> all{
      {"launch",
       "kernels start at no cost",
       {{"*", "dispatch_overhead", 0}, {"*", "kernels.launch", 0}, {"*", "kernels.attention_launch", 0}}},
      {"wave", "tiles fill every wave", {{"*", "compute.units", 1}, {"*", "kernels.wave", 0}}},
      {"split",
       "kernels do not split depths and keys",
       {{"*", "kernels.split", 1}, {"*", "kernels.attention_split", 1}}},
      {"shares",
       "kernels sustain the peak rates",
       {{"*", "efficiency.matrix", 1},
        {"*", "efficiency.memory", 1},
        {"default", "efficiency.attention", 1},
        {"default", "link_share", 1},
        {"*", "efficiency.link", 1}}},
      {"latency",
       "messages start at no cost",
       {{"default", "intra_latency", 0},
        {"default", "inter_latency", 0},
        {"*", "device_link.latency", 0},
        {"default", "collective_launch", 0},
        {"default", "collective_hop", 0},
        {"default", "collective_sync", 0},
        {"*", "collectives.launch", 0},
        {"*", "collectives.hop", 0},
        {"*", "collectives.sync", 0}}},
      {"protocol",
       "collectives know the bulk protocol only",
       {{"default", "low_latency_share", 0.001},
        {"default", "pair_share", 0.0001},
        {"*", "collectives.low_latency_share", 0.001},
        {"*", "collectives.pair_share", 0.0001}}},
      {"overlap", "no communication hides", {{"default", "overlap", 0}}}};
  return all;
}

Prediction predict(const Measurand& measurand, const void* inputs, const PredictionContext& context) {
  try {
    auto p = measurand.predict(inputs, context);
    if (p.answered() && !std::isfinite(p.base)) p.reason = "the prediction is not finite";
    return p;
  } catch (const Error& error) {
    return {
        0, {}, error.facts().message + (error.facts().found.empty() ? "" : " (" + error.facts().found + ")")};
  }
}

TableResult validate(const MeasuredTable& table, const Zoo& zoo, Depth depth, const Constants* constants,
                     std::size_t worst) {
  TableResult out;
  out.table = &table;
  out.records = table.data.rows();
  auto rows = rows_of(table, zoo);
  out.left_out = std::move(rows.left_out);
  if (!table.whole && table.sample_of > out.records) {
    out.left_out.push_back(
        {"not in the sample that ships; --tables DIR reads all", table.sample_of - out.records});
    out.records = table.sample_of;
  }
  if (table.measurand == nullptr) return out;
  const Constants standard(conventions_of(zoo));
  if (constants == nullptr) constants = &standard;
  PredictionContext context{&zoo, constants};
  std::vector<double> errors;
  std::vector<const MeasuredRow*> sources;
  for (const auto& row : rows.rows) {
    const auto p = predict(*table.measurand, row.inputs.get(), context);
    if (!p.answered()) {
      const auto same = std::find_if(out.left_out.begin(), out.left_out.end(),
                                     [&](const LeftOut& l) { return l.reason == p.reason; });
      if (same != out.left_out.end())
        same->rows += row.repeats;
      else
        out.left_out.push_back({p.reason, row.repeats});
      continue;
    }
    out.rows.push_back(
        {.row = row.row, .label = {}, .group = row.group, .measured = row.measured, .predicted = p.base});
    errors.push_back(out.rows.back().error());
    sources.push_back(&row);
  }
  out.errors = statistics_of(errors);

  std::vector<std::size_t> order(out.rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto count = std::min(worst, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      const double ea = std::abs(errors[a]), eb = std::abs(errors[b]);
                      return ea != eb ? ea > eb : a < b;
                    });
  context.wants_terms = true;
  for (std::size_t i = 0; i < count; ++i) {
    PredictedRow row = out.rows[order[i]];
    row.label = table.label(row.row);
    row.inputs = sources[order[i]]->inputs;
    row.terms = predict(*table.measurand, row.inputs.get(), context).terms;
    out.worst.push_back(std::move(row));
  }
  if (depth == Depth::ours) return out;

  // Everything below is computed over the rows that the operators answer, so that the figures can be
  // compared.
  context.wants_terms = false;
  context.comparison = Yardstick::textbook;
  out.textbook = statistics_of(errors_of(table, sources, context));
  context.comparison = Yardstick::roofline;
  out.roofline = statistics_of(errors_of(table, sources, context));
  context.comparison = Yardstick::operators;
  for (const auto& a : ablations()) {
    const Constants changed = constants->with(a.neutral);
    context.constants = &changed;
    const auto errors_without = statistics_of(errors_of(table, sources, context));
    if (std::abs(errors_without.mean - out.errors.mean) > 1e-6 * (1 + out.errors.mean))
      out.ablations.push_back({a.name, errors_without});
  }
  return out;
}

}  // namespace mlsysim
