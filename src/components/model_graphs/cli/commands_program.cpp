#include "cli/commands.hpp"

#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/engine/operator_times.hpp>
#include <mlsysim/model_graphs/model_path.hpp>
#include <mlsysim/model_graphs/program_graph.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

namespace mlsysim::cli {
namespace {

/// "name=8" of an option.
void bind_names(std::map<std::string, double, std::less<>>& into, const std::vector<std::string>& words,
                std::string_view option) {
  for (const auto& word : words) {
    const auto is = word.rfind('=');
    double n = 0;
    const auto text = is == std::string::npos ? std::string_view() : std::string_view(word).substr(is + 1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || !(n >= 0))
      throw InputError({.id = "mlsysim.cli.142",
                        .message = fmt::format("{} takes a name and a number", option),
                        .key = std::string(option),
                        .found = fmt::format("'{}'", word),
                        .expected = "name=number",
                        .hint = fmt::format("write {} batch=8", option)});
    into[word.substr(0, is)] = n;
  }
}

std::string extents_of(const ListedOperator& r) {
  if (!r.rows) return "";
  const auto copies = r.copies.value_or(1);
  return (copies != 1 ? fmt::format("{:g} x ", copies) : std::string()) +
         fmt::format("{:g} x {:g} x {:g}", *r.rows, *r.columns, *r.depth);
}

double macs_of(const ListedOperator& r) {
  return r.rows ? *r.rows * *r.columns * *r.depth * r.copies.value_or(1) * r.times.value_or(1) : 0;
}

/// One line about the whole program.
std::string sums(const mlsysim::Program& p) {
  const auto t = totals_of(p);
  return fmt::format(
      "{}{}{}: {:.0f} operators in {:.0f} kernels, {:.0f} convolutions, {:.0f} products, {:.0f} "
      "multiply-adds, {:.0f} "
      "other operations, {:.0f} transcendental; {:.0f} weights ({:.0f} B); {:.0f} B moved, {:.0f} B where "
      "chains are "
      "fused; {:.0f} B of activations at the peak; most of it in {}",
      p.format, p.version.empty() ? "" : " ", p.version, t.operators, t.kernels, t.convolutions, t.products,
      t.macs, t.flops - 2 * t.macs, t.transcendentals, t.weights, t.weight_bytes, t.traffic, t.fused_traffic,
      t.peak_activations, main_format(p).name);
}

/// Without a device: every record by its multiply-adds.
Table counted(const Workload& w) {
  Table t{.schema = "mlsysim/program@1",
          .columns = {{"operator"}, {"kind"}, {"times"}, {"extents"}, {"multiply_adds"}, {"weights"}}};
  std::vector<const ListedOperator*> records;
  for (const auto& r : w.operators) records.push_back(&r);
  std::stable_sort(records.begin(), records.end(),
                   [](const auto* a, const auto* b) { return macs_of(*a) > macs_of(*b); });
  for (const auto* r : records)
    t.rows.push_back({r->path, name_of(r->op), r->times.value_or(1), extents_of(*r), macs_of(*r),
                      r->stored.value_or(0) * r->times.value_or(1)});
  return t;
}

Table timed(const Workload& w, const HardwareNode& device, const ProgramRequest& request) {
  Table t{.schema = "mlsysim/program@1",
          .columns = {{"operator"},
                      {"kind"},
                      {"times"},
                      {"extents"},
                      {"multiply_adds"},
                      {"traffic", "MB"},
                      {"time", "us"},
                      {"share"},
                      {"bound"}}};
  std::optional<Precision> precision;
  if (!request.precision.empty()) {
    precision = choice_of<Precision>(request.precision);
    if (!precision)
      throw LookupError({.id = "mlsysim.cli.141",
                         .message = fmt::format("there is no precision '{}'", request.precision),
                         .key = request.precision,
                         .found = fmt::format("'{}'", request.precision),
                         .expected = fmt::format("one of {}", fmt::join(Choices<Precision>::names, ", ")),
                         .hint = "choose one of them"});
  }
  const auto times = operator_times(w, device, precision, request.batch_size, conventions_of(zoo()));
  Time<> total;
  for (const auto& o : times) total += o.time;
  for (const auto& o : times) {
    const bool waits = o.overhead > o.compute && o.overhead > o.memory;
    t.rows.push_back({o.record->path, name_of(o.record->op), o.times, extents_of(*o.record),
                      macs_of(*o.record), o.traffic, o.time, o.time / total,
                      waits                  ? "launch"
                      : o.compute > o.memory ? "compute"
                                             : "memory"});
  }
  t.footer =
      fmt::format("{:.6g} us in {} kinds of kernels on {}", total / unit::us, times.size(), device.name);
  return t;
}

}  // namespace

ProgramOptions options_of(const ProgramRequest& request) {
  ProgramOptions o;
  bind_names(o.dims, request.dims, "--dim");
  bind_names(o.trips, request.trips, "--trip-count");
  o.weights = request.weights;
  o.force = request.force;
  return o;
}

Answer program_show(const ProgramRequest& request, const RenderOptions& options) {
  auto program = read_program(request.path, options_of(request));
  Answer out;
  for (const auto& note : program.notes) out.diagnostics += fmt::format("mlsysim: note: {}\n", note);
  std::optional<DrawnGraph> graph;
  if (!request.graph.empty()) graph = graph_of(program, request.depth);
  const auto form = choice_of<GraphForm>(request.graph).value_or(GraphForm::dot);
  if (graph && request.device.empty()) {
    out.payload = drawn(*graph, form);
    return out;
  }
  const auto model = program_model(program);
  FieldReader reader(zoo());
  Table table;
  if (request.device.empty()) {
    table = counted(model.workload);
  } else {
    FieldInfo field;
    field.name = std::string(ObjectType<HardwareNode>::name);
    field.kind = ValueKind::object;
    field.object_type = ObjectType<HardwareNode>::name;
    const auto value = reader.read(field, request.device);
    const auto& device = *static_cast<const HardwareNode*>(std::get<ObjectRef>(value.value).object);
    table = timed(model.workload, device, request);
    if (graph) {
      std::vector<std::pair<std::string, double>> times;
      for (const auto& row : table.rows)
        times.emplace_back(std::get<std::string>(row[0].value), std::get<double>(row[6].value));
      add_shares(*graph, times);
      out.payload = drawn(*graph, form);
      return out;
    }
  }
  table.title = model.workload.name;
  table.footer = table.footer.empty() ? sums(program) : table.footer + "\n" + sums(program);
  out.payload = render(table, options);
  for (std::size_t i = program.notes.size(); i < model.notes.size(); ++i)
    out.diagnostics += fmt::format("mlsysim: note: {}\n", model.notes[i]);
  return out;
}

}  // namespace mlsysim::cli
