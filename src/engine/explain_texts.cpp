#include "detail/explain_texts.hpp"

#include <mlsysim/specs/provenance.hpp>
#include <mlsysim/timing/collective.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {
namespace {

template <class D> std::string shown_figure(const Quantity<D>& q) { return pretty(AnyQuantity(q)); }

}  // namespace

std::vector<DeviceFigure> figures_of(const HardwareNode& hardware, Precision precision) {
  std::vector<DeviceFigure> out;
  if (hardware.entry == nullptr) return out;
  const auto add = [&](const std::string& path) {
    const Figure* figure = hardware.entry->figure(path);
    if (figure == nullptr) return;
    const Source& source = hardware.entry->source_of(path);
    out.push_back({hardware.name + "." + path, figure->authored,
                   fmt::format("{}, {}, {}", source.ref, name_of(source.kind),
                               source.verified.empty() ? "recorded " + source.recorded
                                                       : "verified " + source.verified)});
  };
  add("compute.dense." + std::string(name_of(precision)));
  add("memory.bandwidth");
  add("memory.capacity");
  for (const char* share : {"matrix", "matrix_narrow", "burst", "attention", "memory", "link"})
    add(std::string("efficiency.") + share);
  for (const char* time : {"launch", "wave", "split", "attention_launch"})
    add(std::string("kernels.") + time);
  add("device_link.bandwidth");
  return out;
}

std::string figures_text(std::span<const DeviceFigure> figures) {
  if (figures.empty()) return "  (the device was made by hand)\n";
  std::string out;
  for (const auto& f : figures) out += fmt::format("  {:<28} {:<16} {}\n", f.figure, f.value, f.source);
  return out;
}

std::string assumptions_text(const NoteBook& book) {
  std::string out;
  std::vector<std::string> seen;
  for (const auto& a : book.assumptions) {
    const std::string line =
        fmt::format("  {:<28} {:<16} {}\n", a.name.view(), a.value.str(), a.source.view());
    if (std::find(seen.begin(), seen.end(), line) == seen.end()) {
      seen.push_back(line);
      out += line;
    }
  }
  return out;
}

std::string memory_text(const MemoryBreakdown<>& m) {
  std::string out;
  for_each_field<MemoryBreakdown<>>([&](const auto& row) {
    if (row.name == "capacity") return;
    if (m.*(row.member) > Data<>() || row.name == "total")
      out += fmt::format("  {:<24} {:>12}   {}\n", row.name, shown_figure(m.*(row.member)), row.meaning);
  });
  return out + fmt::format("  {:<24} {:>12}   memory of the device\n", "capacity", shown_figure(m.capacity));
}

std::string first_token_text(const ServingEstimate<>& n) {
  std::string out = "  by whom it is owed to\n";
  for_each_row(first_token_rows<ServingEstimate<>>(), [&](const auto& term) {
    const Time<> time = n.*(term.member);
    if (time > Time<>())
      out += fmt::format("  {:<24} {:>12}   {}\n", term.name, shown_figure(time), term.meaning);
  });
  return out + "\n";
}

std::string limit_of_network(const Op<>& op, const Links<>& links) {
  if (op.kind != OpKind::collective) return "network";
  const auto way = collective_way(op, links);
  return way == "nested" || way == "flat" ? fmt::format("network, {}", way) : "network";
}

std::string whole_pass_text(const InferencePassModel::Result& a) {
  const bool in_turn = a.latency_compute + a.latency_memory <= a.latency;
  return fmt::format(
      "  {:g} runs of the network: arithmetic {}, memory {}, software {}: {}\n"
      "  each run reads {} of weights from {}, {} of table rows and {} of state, twice\n",
      a.evaluations, shown_figure(a.latency_compute), shown_figure(a.latency_memory),
      shown_figure(a.latency_overhead),
      in_turn ? "one after the other" : "the slower of the first two, plus the third",
      shown_figure(a.weights), a.weights_in, shown_figure(a.rows_read), shown_figure(a.state));
}

}  // namespace mlsysim::detail
