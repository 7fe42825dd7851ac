#include <mlsysim/timing/detail/failure.hpp>

namespace mlsysim {
namespace {

Time<> given_or(const std::optional<Time<>>& given, std::string_view name, const Figures& figures) {
  return given ? *given : figures.figure<dim::time>(name);
}

/// Power supplies whose failure stops the node: one alone does. Of several, the others carry the load until
/// it is replaced.
double psus_in_series(const Node& node, Notes& notes) {
  const double psus = node.psus_per_node.value_or(2.0);
  if (!node.psus_per_node) notes.assume("psus_per_node", psus, "convention of MLSys-im");
  if (psus <= 1) return psus;
  notes.assume("power supplies", "redundant", "one of them may fail without stopping the node");
  return 0;
}

NodeParts textbook_parts(const Node& node, const PartMtbf& given, const Figures& figures) {
  NodeParts p;
  p.rates.accelerators = node.accelerators_per_node;
  p.rates.accelerator_mtbf = given_or(given.accelerator, "Gpu", figures);
  p.rates.nics = node.nics_per_node.value_or(1.0);
  p.rates.nic_mtbf = given_or(given.nic, "Nic", figures);
  p.rates.psu_mtbf = given_or(given.psu, "Psu", figures);
  if (!node.nics_per_node) figures.notes().assume("nics_per_node", p.rates.nics, "convention of MLSys-im");
  p.rates.psus = psus_in_series(node, figures.notes());
  return p;
}

NodeParts operator_parts(const Node& node, const PartMtbf& given, const Figures& figures) {
  NodeParts p;
  auto& r = p.rates;
  r.accelerators = node.accelerators_per_node;
  r.accelerator_mtbf = given_or(given.accelerator, "Gpu_Llama3", figures);
  r.nics = node.nics_per_node.value_or(node.accelerators_per_node);
  r.nic_mtbf = given_or(given.nic, "Nic_Llama3", figures);
  r.psu_mtbf = given_or(given.psu, "Psu", figures);
  if (!node.nics_per_node) figures.notes().assume("nics_per_node", r.nics, "one adapter for each device");
  // The observed failures of all other parts: switches, cables, hosts, power and software.
  const auto any = 1.0 / figures.figure<dim::time>("GpuAnyCause_Llama3");
  const auto own =
      1.0 / figures.figure<dim::time>("Gpu_Llama3") + 1.0 / figures.figure<dim::time>("Nic_Llama3");
  // The observed rest contains the power supplies, unless the request gives their own rate.
  r.psus = given.psu ? psus_in_series(node, figures.notes()) : 0.0;
  r.other_rate = max(any - own, Frequency<>()) * r.accelerators;
  p.cables = min(1.0 / figures.figure<dim::time>("Network_Llama3") * r.accelerators, r.other_rate);
  return p;
}

}  // namespace

NodeParts node_parts(Fidelity fidelity, const Node& node, const PartMtbf& given, const Figures& figures) {
  return fidelity == Fidelity::textbook ? textbook_parts(node, given, figures)
                                        : operator_parts(node, given, figures);
}

}  // namespace mlsysim
