// The kernels of routed experts and of dense products that a runtime names, as numbers of a device.

#include <mlsysim/specs/device_class.hpp>
#include <mlsysim/specs/software.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/timing/stored_formats.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <variant>

namespace mlsysim {
namespace {

/// Whether a device is of a generation, itself or by what its class is like; any where none is named.
bool is_of(const HardwareNode& hardware, const DeviceClass* generation) {
  if (generation == nullptr) return true;
  for (const auto* c = hardware.device_class; c != nullptr; c = c->like)
    if (c->name == generation->name) return true;
  return false;
}

/// The choice of a runtime and of what it extends: a row of the format goes before one of any format, of two
/// such the nearer runtime's, and of two of one runtime the first.
const ExpertChoice* choice_of(const ServingEngine& runtime, const HardwareNode& hardware,
                              WeightFormat format) {
  const ExpertChoice* found = nullptr;
  for (const auto* r = &runtime; r != nullptr; r = r->extends)
    for (const auto& choice : r->experts) {
      if (!is_of(hardware, choice.generation) || (choice.format && *choice.format != format)) continue;
      if (found == nullptr || (choice.format && !found->format)) found = &choice;
    }
  return found;
}

/// The launches of a chain: its own, or those of the family that it extends for the same rule.
const std::vector<ChainLaunch>& launches_of(const KernelFamily& family, const RecurrenceChain& chain) {
  for (const auto* f = family.extends; f != nullptr && chain.launches.empty(); f = f->extends)
    for (const auto& other : f->recurrences)
      if (other.rule == chain.rule && other.decoding == chain.decoding && !other.launches.empty())
        return other.launches;
  return chain.launches;
}

/// A chain with its constants on a device.
SettledRecurrence settled(const KernelFamily& family, const RecurrenceChain& chain,
                          const RecurrenceRates& rates, Frequency<> clock) {
  const auto& launches = launches_of(family, chain);
  SettledRecurrence k{.known = true,
                      .listed = !launches.empty(),
                      .launches = std::max(1.0, static_cast<double>(launches.size())),
                      .chunk = chain.chunk,
                      .columns = chain.columns,
                      .states = rates.states,
                      .stream = rates.stream,
                      .launch = rates.launch / clock,
                      .row = rates.row / clock,
                      .step = rates.step / clock,
                      .family = family.name,
                      .generation = rates.generation->name};
  for (const auto& launch : launches) {
    auto& sum = launch.in_order ? k.in_order : k.aside;
    sum.keys += launch.keys;
    sum.wide_keys += launch.wide_keys;
    sum.values += launch.values;
    sum.squares += launch.squares;
    sum.cells += launch.cells;
  }
  return k;
}

/// The rule of the first layers of a stack that have a state.
Recurrence recurrence_of(const StackView<>& stack) {
  for (const auto& mixer : stack.mixers) {
    if (const auto* linear = std::get_if<LinearView<>>(&mixer.rule))
      return linear->channel_decay ? Recurrence::kda : Recurrence::gated_delta;
    if (std::holds_alternative<StateSpaceView<>>(mixer.rule)) return Recurrence::state_space;
  }
  return Recurrence::none;
}

}  // namespace

const ExpertRates* expert_rates(const KernelFamily& family, const HardwareNode& hardware, WeightFormat format,
                                std::optional<Precision> multiplies, bool tuned) {
  constexpr double furthest = 1.5;
  const ExpertRates* best = nullptr;
  double nearest = furthest;
  for (const auto* f = &family; f != nullptr; f = f->extends)
    for (const auto& row : f->experts) {
      if (row.tuned != tuned || !is_of(hardware, row.generation) || !hardware.compute.dense[row.multiplies])
        continue;
      if (multiplies && bytes_per_element(*multiplies) != bytes_per_element(row.multiplies)) continue;
      const double ratio = bytes_of(row.format) / bytes_of(format);
      const double away = row.format == format ? 0.0 : std::max(ratio, 1 / ratio);
      if (away >= nearest) continue;
      best = &row;
      nearest = away;
    }
  return best == nullptr && tuned ? expert_rates(family, hardware, format, multiplies) : best;
}

std::vector<ExpertShape> tuned_shapes(const KernelFamily& family, const HardwareNode& hardware,
                                      WeightFormat format) {
  std::vector<ExpertShape> out;
  for (const auto* f = &family; f != nullptr; f = f->extends)
    for (const auto& row : f->tuned)
      if (row.device->name == hardware.name && row.format == format)
        for (const double width : row.widths) out.push_back({row.experts, width});
  return out;
}

void set_expert_kernels(Device<>& device, const ExpertRates& rates, const HardwareNode& hardware,
                        double chained_floor) {
  auto& e = device.experts;
  e.has_family = true;
  e.rate_ratio = *hardware.compute.dense[rates.multiplies] / device.compute.dense;
  e.share = rates.share;
  e.stream = rates.stream;
  e.tile = rates.tile;
  e.launch = rates.floor * chained_floor / kExpertKernels;
}

void set_expert_kernels(Device<>& device, const ServingEngine* runtime, const HardwareNode& hardware,
                        WeightFormat format, const Conventions& conventions, Notes& notes) {
  const auto* choice = runtime == nullptr ? nullptr : choice_of(*runtime, hardware, format);
  const auto* rates = choice == nullptr ? nullptr : expert_rates(*choice->family, hardware, format);
  if (rates == nullptr) {
    if (notes.wanted())
      notes.assume("experts", "as products of the device",
                   choice == nullptr ? std::string("no runtime names kernels of experts for the device")
                                     : fmt::format("{} has no constants for {} experts on {}",
                                                   choice->family->name, name_of(format), hardware.name));
    return;
  }
  set_expert_kernels(device, *rates, hardware, conventions.chained_floor);
  if (auto shapes = tuned_shapes(*choice->family, hardware, format); !shapes.empty()) {
    const auto* tuned = expert_rates(*choice->family, hardware, format, rates->multiplies, true);
    device.experts.tuned = {tuned->share, tuned->stream, tuned->tile,
                            tuned->floor * conventions.chained_floor / kExpertKernels};
    device.experts.shapes = std::make_shared<const std::vector<ExpertShape>>(std::move(shapes));
  }
  if (!notes.wanted()) return;
  notes.assume("experts", choice->family->name,
               rates->format == format
                   ? fmt::format("{} names them for {} experts", runtime->name, name_of(format))
                   : fmt::format("{} names them; constants of {}, the nearest to {} that it has",
                                 runtime->name, name_of(rates->format), name_of(format)));
  notes.assume("chained_floor", conventions.chained_floor, kDefaults);
}

void set_recurrences(Device<>& device, const KernelFamily& family, const HardwareNode& hardware,
                     const Conventions& conventions, Notes& notes) {
  std::shared_ptr<SettledRecurrences> all;
  Frequency<> clock{};
  for (const auto* f = &family; f != nullptr; f = f->extends)
    for (const auto& chain : f->recurrences) {
      const auto rates = std::find_if(chain.rates.begin(), chain.rates.end(), [&](const RecurrenceRates& r) {
        return is_of(hardware, r.generation);
      });
      if (rates == chain.rates.end()) continue;
      if (all == nullptr) {
        clock = needed<Frequency<>>("compute.clock", hardware, conventions, notes);
        all = std::make_shared<SettledRecurrences>();
      }
      auto& k = all->of[static_cast<std::size_t>(chain.rule)][chain.decoding ? 1 : 0];
      if (!k.known) k = settled(*f, chain, *rates, clock);
    }
  device.recurrences = std::move(all);
}

void set_recurrences(Device<>& device, const ModelView<>& model, const HardwareNode& hardware,
                     const Conventions& conventions, Notes& notes) {
  if (!model.structure.known || conventions.recurrences == nullptr) return;
  const auto kind = recurrence_of(model.shape());
  if (kind == Recurrence::none) return;
  set_recurrences(device, *conventions.recurrences, hardware, conventions, notes);
  if (!notes.wanted()) return;
  if (device.recurrences == nullptr) {
    notes.assume("recurrences", "as streams of the device",
                 fmt::format("{} has no constants for {}", conventions.recurrences->name, hardware.name));
    return;
  }
  const auto& k = device.recurrences->of[static_cast<std::size_t>(kind)][0];
  notes.assume("recurrences", k.family,
               fmt::format("{:g} launches for a prompt of {}, constants of class {}", k.launches,
                           name_of(kind), k.generation));
}

Conventions with_kernels(Conventions conventions, const ServingEngine* runtime) {
  if (runtime == nullptr) return conventions;
  if (const auto* family = stated(*runtime, &ServingEngine::fused_attention)) conventions.attention = family;
  if (const auto* family = stated(*runtime, &ServingEngine::recurrences)) conventions.recurrences = family;
  if (const auto* family = stated(*runtime, &ServingEngine::collectives)) conventions.collectives = family;
  return conventions;
}

void set_products(Device<>& device, const KernelFamily& family, const HardwareNode& hardware,
                  Precision precision, const Conventions& conventions, Notes& notes) {
  const ProductRates* rates = nullptr;
  for (const auto* f = &family; f != nullptr && rates == nullptr; f = f->extends)
    for (const auto& row : f->products)
      if (rates == nullptr && row.multiplies == precision && is_of(hardware, row.generation)) rates = &row;
  if (rates == nullptr) return;
  const bool narrow = bytes_per_element(precision) <= 1;
  const auto& figure = *find_figure_row(narrow ? "efficiency.matrix_narrow" : "efficiency.matrix");
  const auto own = filled(figure, hardware, conventions);
  const auto usual = filled_by_class(figure, hardware, conventions);
  constexpr double same = 0.02;
  if (own && own->own() && usual && std::abs(own->base / usual->base - 1) > same) return;
  device.compute.wide_ratio *= device.efficiency.matrix / rates->share;  // wide products keep their rate
  device.efficiency.matrix = rates->share;
  device.efficiency.product_stream = rates->stream;
  // With few loads on their way at once, many units are needed to fill a wide memory.
  if (rates->unit_bytes) {
    const auto clock = needed<Frequency<>>("compute.clock", hardware, conventions, notes);
    const Bandwidth<> most = device.compute.units * *rates->unit_bytes * unit::B * clock;
    auto& stream = device.efficiency.product_stream;
    stream = std::min(stream, most / (device.memory.bandwidth * device.efficiency.memory));
  }
  if (notes.wanted())
    notes.assume("products", family.name,
                 fmt::format("{:g} of the {} peak, {:.3g} of a stream", rates->share, name_of(precision),
                             device.efficiency.product_stream));
}

void set_products(Device<>& device, const ServingEngine* runtime, const HardwareNode& hardware,
                  Precision precision, const Conventions& conventions, Notes& notes) {
  if (runtime == nullptr) return;
  if (const auto* family = stated(*runtime, &ServingEngine::products))
    set_products(device, *family, hardware, precision, conventions, notes);
}

}  // namespace mlsysim
