#include <mlsysim/engine/requests.hpp>
#include <mlsysim/estimate/memory_account.hpp>

#include <mlsysim/timing/figures.hpp>
#include <mlsysim/units/detail/halving.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace mlsysim::detail {
namespace {

/// Memory of the scenario with a change, or nothing where the change makes no sense.
std::optional<Memory> with(const Scenario& changed) {
  try {
    Notes quiet;
    const ResolvedScenario resolved(changed, quiet);
    return memory_needed(resolved);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string effect_of(const Memory& m) {
  return fmt::format("needs {} of {}", pretty(AnyQuantity(m.total)), pretty(AnyQuantity(m.capacity)));
}

void try_change(std::vector<Remedy>& out, const Scenario& changed, std::string words) {
  if (const auto m = with(changed); m && m->fits()) out.push_back({std::move(words), effect_of(*m)});
}

/// The largest whole batch below the asked one that fits.
void smaller_batch(std::vector<Remedy>& out, const Scenario& s) {
  Scenario c = s;
  const double most = last_whole(0.0, s.batch_size, [&](double batch) {
    c.batch_size = batch;
    const auto m = with(c);
    return m && m->fits();
  });
  if (most < 1) return;
  c.batch_size = most;
  try_change(out, c, fmt::format("batch_size {} instead of {}", most, s.batch_size));
}

/// Passes of prompts as engines take them.
void budget_of_pass(std::vector<Remedy>& out, const Scenario& s, Mode mode) {
  if (mode != Mode::serve) return;
  Scenario c = s;
  if (s.chunked_prefill == false) {
    c.chunked_prefill = true;
    return try_change(out, c, "chunked_prefill true");
  }
  if (s.prefill_chunk_tokens) return;
  Notes quiet;
  c.prefill_chunk_tokens = Figures{standard_zoo(), quiet}.number("catalogue.serving.chunk_tokens");
  try_change(out, c, fmt::format("prefill_chunk_tokens {:g}", *c.prefill_chunk_tokens));
}

/// Half the bytes per weight and less, in formats that the device computes in; or of the weights alone.
void lower_precision(std::vector<Remedy>& out, const ResolvedScenario& r) {
  const Scenario& s = r.asked();
  const HardwareNode& hardware = r.hardware();
  if (r.mode() == Mode::train) return;  // training keeps its states at 16 and 32 bits whatever the format
  const double now = bytes_per_element(detail::precision_of(r));
  std::vector<Precision> narrower;
  for (std::size_t i = 0; i < kPrecisions; ++i) {
    const auto p = static_cast<Precision>(i);
    if (bytes_per_element(p) < now && hardware.compute.dense[p]) narrower.push_back(p);
  }
  std::stable_sort(narrower.begin(), narrower.end(),
                   [](Precision a, Precision b) { return bytes_per_element(a) > bytes_per_element(b); });
  if (s.weight_format || s.weight_bits) narrower.clear();  // the precision leaves stated weights as they are
  for (const Precision p : narrower) {
    Scenario c = s;
    c.precision = p;
    const std::size_t before = out.size();
    try_change(out, c, fmt::format("precision {}", name_of(p)));
    if (out.size() > before) return;
  }
  if (r.mode() != Mode::serve || s.weight_bits) return;
  for (const auto f : {WeightFormat::fp8, WeightFormat::int4}) {
    if (s.weight_format == f) continue;
    Scenario c = s;
    c.weight_format = f;
    const std::size_t before = out.size();
    try_change(out, c, fmt::format("weight_format {}", name_of(f)));
    if (out.size() > before) return;
  }
}

/// The least share of the memory above the engine's that is enough.
void larger_share(std::vector<Remedy>& out, const Scenario& s, Mode mode) {
  if (mode != Mode::serve || s.engine == nullptr) return;
  for (const double share : larger_shares(s.memory_fraction)) {
    Scenario c = s;
    c.memory_fraction = share;
    const std::size_t before = out.size();
    try_change(out, c, fmt::format("memory_fraction {:g}", share));
    if (out.size() > before) return;
  }
}

/// Training of less, and states elsewhere, where neither the batch nor sharding nor recomputation is enough.
void less_to_hold(std::vector<Remedy>& out, const Scenario& s) {
  if (s.offload_states < 1) {
    Scenario c = s;
    c.offload_states = 1;
    try_change(out, c, "offload_states 1");
  }
  if (s.lora_rank || s.trainable_fraction < 1) return;
  Scenario c = s;
  c.lora_rank = 16;
  const std::size_t before = out.size();
  try_change(out, c, "lora_rank 16");
  if (out.size() > before) return;
  c.weight_format = WeightFormat::nf4;
  try_change(out, c, "lora_rank 16 and weight_format nf4");
}

/// More devices for one replica: the smallest power of two that fits. Stages of whole layers stay stages.
void more_devices(std::vector<Remedy>& out, const ResolvedScenario& r) {
  const Scenario& s = r.asked();
  if (r.mode() == Mode::infer) return;
  const bool stages = r.mode() == Mode::serve && s.pp_size > 1 && r.tp_size() == 1;
  const double now = stages ? s.pp_size : r.tp_size();
  for (double size = now * 2; size <= 1024; size *= 2) {
    Scenario c = s;
    c.mode = r.mode();
    if (stages)
      c.pp_size = size;
    else
      c.tp_size = size;
    const double tp = stages ? 1 : size;
    const double widest = s.expert_tp_size.value_or(tp);  // folded experts stay as they are
    const double devices = std::max(r.accelerators(), widest * c.pp_size * s.ep_size);
    if (devices > r.accelerators() || s.fleet == nullptr) {
      c.hardware = &r.hardware();
      c.fleet = nullptr;
      c.accelerators = devices;
      c.node_count.reset();
      c.accelerators_per_node.reset();
    }
    const auto field = stages ? "pp_size" : "tp_size";
    const std::size_t before = out.size();
    try_change(out, c,
               devices > r.accelerators() ? fmt::format("{} accelerators (now {}) with {} {}", devices,
                                                        r.accelerators(), field, size)
                                          : fmt::format("{} {} (now {})", field, size, now));
    if (out.size() > before) return;
  }
}

}  // namespace

std::vector<Remedy> remedies_for(const ResolvedScenario& r) {
  const Scenario& s = r.asked();
  std::vector<Remedy> out;
  smaller_batch(out, s);
  larger_share(out, s, r.mode());
  budget_of_pass(out, s, r.mode());
  lower_precision(out, r);
  if (r.mode() == Mode::train) {
    for (double stage = s.zero_stage + 1; stage <= 3; ++stage) {
      Scenario c = s;
      c.zero_stage = stage;
      const std::size_t before = out.size();
      try_change(out, c, fmt::format("zero_stage {}", stage));
      if (out.size() > before) break;
    }
    if (s.recomputation.value_or(Recomputation::selective) != Recomputation::full) {
      Scenario c = s;
      c.recomputation = Recomputation::full;
      try_change(out, c, "recomputation full");
      c.zero_stage = 3;
      if (out.empty()) try_change(out, c, "recomputation full and zero_stage 3");
    }
    if (out.empty()) less_to_hold(out, s);
  }
  more_devices(out, r);
  return out;
}

}  // namespace mlsysim::detail
