#include "cli/commands_compile.hpp"

#include <mlsysim/ops/regression/breaks.hpp>
#include <mlsysim/ops/regression/report.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

namespace mlsysim::cli {

std::string_view verdict_of(const BreakPlace& p) {
  if (p.before == 0) return "new";
  if (p.after == 0) return "gone";
  return p.after > p.before ? "more" : p.after < p.before ? "fewer" : "same";
}

namespace {

Table places_table(const CompileDiff& diff, const RenderOptions& options) {
  Table t{
      .schema = "mlsysim/compile_diff@1",
      .title = "Breaks before and after",
      .columns = {{"model"}, {"what"}, {"before"}, {"after"}, {"type"}, {"category"}, {"place"}, {"hint"}}};
  std::size_t same = 0;
  for (const auto& p : diff.places) {
    if (p.before == p.after && options.verbosity == Verbosity::brief &&
        options.format != OutputFormat::json) {
      ++same;
      continue;
    }
    t.rows.push_back({p.model, verdict_of(p), p.before, p.after, p.type, name_of(p.category),
                      p.place.file.empty()
                          ? std::string()
                          : fmt::format("{}:{} {}", p.place.file, p.place.line, p.place.function),
                      p.hint});
  }
  if (same > 0) t.footer = fmt::format("{} places are as they were", same);
  return t;
}

Table price_table(const Difference& d) {
  Table t{.schema = "mlsysim/compile_price@1",
          .title = in_words(d),
          .columns = {{"cause"}, {"from"}, {"to"}, {"part", d.unit}, {"share"}}};
  const double whole = *d.after - *d.before;
  for (const auto& c : d.causes)
    t.rows.push_back({c.input, c.from, c.to, Table::Cell(Value(c.part), d.exps),
                      whole != 0 ? Table::Cell(c.part / whole) : Table::Cell()});
  t.footer =
      d.exact ? "parts are exact and add up" : "parts are means over a fixed sample of orders, and add up";
  return t;
}

BreakPricing fidelity_model_of(const CompileDiffRequest& request) {
  BreakPricing out{.inputs = {}, .metric = request.metric};
  for (const auto& text : request.inputs) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw InputError("mlsysim.ci.021", "an input of the price cannot be read", "with",
                       fmt::format("'{}'", text), "NAME=VALUE", "e.g. --with arrival_rate='20 request/s'");
    out.inputs[text.substr(0, equals)] = text.substr(equals + 1);
  }
  out.inputs["workload"] = request.workload;
  out.inputs["hardware"] = request.hardware;
  return out;
}

}  // namespace

Answer compile_diff(const CompileDiffRequest& request, const RenderOptions& options) {
  const bool priced = !request.workload.empty() && !request.hardware.empty();
  if (!priced && (!request.workload.empty() || !request.hardware.empty() || !request.inputs.empty()))
    throw InputError("mlsysim.ci.022", "a price needs a model and a device", "workload",
                     request.workload.empty() ? "no --workload" : "no --hardware", "both",
                     "e.g. --workload Llama3_8B --hardware H100");
  const auto before = ingest({request.before}, request.how), after = ingest({request.after}, request.how);
  const auto diff = diff_of(before, after);
  Answer out;
  for (const auto& [only, side] :
       {std::pair{&diff.only_before, "before"}, std::pair{&diff.only_after, "after"}})
    for (const auto& name : *only)
      out.diagnostics += fmt::format("mlsysim: note: {} is in the records {} alone\n", name, side);
  out.payload = render(places_table(diff, options), options);
  double more = 0;
  for (const auto& p : diff.places) more += p.after - p.before;
  bool bad = more > 0;
  if (priced) {
    const auto price = priced_diff(diff, fidelity_model_of(request), zoo());
    const auto text = render(price_table(price), options);
    switch (options.format) {
      case OutputFormat::json:
        out.payload = fmt::format("{{\"places\": {}, \"price\": {}}}\n", out.payload, text);
        break;
      case OutputFormat::csv:
        out.payload = text;
        break;  // one table a file: the places are asked for without a price
      default:
        out.payload += "\n" + in_words(price) + "\n\n" + text;
    }
    bad = price.verdict == Verdict::worse;
  }
  if (bad) out.exit = static_cast<Exit>(1);
  return out;
}

}  // namespace mlsysim::cli
