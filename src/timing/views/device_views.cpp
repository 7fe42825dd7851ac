// Devices as numbers: the only place where a missing figure is replaced, and each replacement is
// noted.
#include "timing/views/device_figures.hpp"
#include "timing/views/or_convention.hpp"

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/reflect/member.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace mlsysim {
namespace {

/// Properties of a request that decide which parameters of a device are read, as bits.
enum Reads : unsigned {
  kAlways = 1,
  kTiles = 2,      ///< there is a matrix engine, and units to which tiles are dealt
  kWide = 4,       ///< numbers of 16 bits and more
  kNarrow = 8,     ///< numbers of 8 bits and less
  kEager = 16,     ///< kernels are launched one by one
  kTraining = 32,  ///< for ever, and backwards too
  kBrief = 64,     ///< anything else
  kFour = 128,     ///< numbers of 4 bits
  kNever = 0       ///< set by hand below, or read elsewhere
};

/// Figures that only some requests read. All others are always read.
constexpr std::pair<std::string_view, unsigned> kReads[] = {
    {"compute.matrix_rows", kTiles},
    {"tiles.tile_m", kTiles},
    {"tiles.tile_n", kTiles},
    {"kernels.wave", kTiles},
    {"tiles.split_depth", kWide},
    {"efficiency.matrix", kWide},
    {"efficiency.matrix_narrow", kNarrow},
    {"efficiency.product_stream", kWide},
    {"efficiency.product_stream_narrow", kNarrow},
    {"efficiency.product_stream_four", kFour},
    {"tiles.four_bit_tile", kFour},
    {"kernels.issue", kEager},
    {"efficiency.burst", kBrief},
    {"efficiency.attention_backward", kTraining},
    {"efficiency.flash1", kNever},
    {"efficiency.flash2", kNever},
    {"efficiency.link", kNever},
    {"memory.bandwidth", kNever},
    {"memory.capacity", kNever},
    {"power.tdp", kNever},
};

/// A number of the view that is a figure of the device.
struct ViewRow {
  const FigureRow* figure;
  std::size_t offset;  ///< in Device<> [byte]
  unsigned reads;
};

const std::vector<ViewRow>& view_rows() {
  static const std::vector<ViewRow> rows = [] {
    std::vector<ViewRow> out;
    for (const auto& f : describe<Device<>>()) {
      const FigureRow* figure = find_figure_row(f.name);
      if (figure == nullptr) continue;
      const auto* only = std::find_if(std::begin(kReads), std::end(kReads),
                                      [&](const auto& r) { return r.first == f.name; });
      out.push_back({figure, f.offset, only == std::end(kReads) ? unsigned{kAlways} : only->second});
    }
    return out;
  }();
  return rows;
}

/// Fills the figures that a request reads, each noted with who gives it.
void fill(Device<>& d, const HardwareNode& hardware, const Conventions& c, unsigned reads, Notes& notes) {
  const DeviceClass* last = nullptr;  // most figures come from one class, and one family on it
  const KernelFamily* family = nullptr;
  SharedText words;
  const DeviceFigures figures(hardware, c);
  for (const auto& row : view_rows()) {
    if ((row.reads & reads) == 0) continue;
    const auto f = figures(*row.figure);
    if (!f) {
      (void)needed_figure(row.figure->path, hardware, c, notes);  // says what is missing
      continue;
    }
    *reinterpret_cast<double*>(reinterpret_cast<std::byte*>(&d) + row.offset) = f->base;
    if (f->own() || !notes.wanted()) continue;
    const bool by_value = f->origin == FigureOrigin::value;
    if (!by_value || f->device_class != last || f->family != family) {
      words = f->source();
      family = f->family;
      last = by_value ? f->device_class : nullptr;
    }
    notes.assume({SharedText::lasting(row.figure->path),
                  AssumedValue::of(f->base, row.figure->type->inner().exps), words});
  }
}

/// A device that multiplies matrices in fp32 about as fast as in narrower formats does so on its vector
/// units.
bool has_matrix_engine(const ComputeCore& core) {
  return !core.dense[Precision::fp32] || *core.dense[Precision::fp32] < 0.5 * core.peak_flops();
}

ComputeRate<> vector_rate(const HardwareNode& hardware, const Conventions& conventions, Notes& notes) {
  const auto& core = hardware.compute;
  for (const Precision p : {Precision::fp32, Precision::fp16, Precision::int8})
    if (core.vector[p]) return *core.vector[p];
  // Without a matrix engine, and beside one where the rate is well below its rate, dense fp32 is the vector
  // rate.
  if (core.dense[Precision::fp32]) return *core.dense[Precision::fp32];
  return core.peak_flops() * needed_figure("compute.vector_ratio", hardware, conventions, notes);
}

/// How kernels are launched where the request does not say so.
Execution execution_in(Phase phase, std::optional<Execution> asked, Notes& notes) {
  if (asked) return *asked;
  const bool training = phase == Phase::training;
  const Execution mode = training ? Execution::eager : Execution::graph;
  notes.assume("execution", mode,
               training ? TextRef("training launches kernels one by one")
                        : TextRef("serving replays a captured graph"));
  return mode;
}

}  // namespace

Device<> device_view(const HardwareNode& hardware, Precision precision, const Conventions& c, Notes& notes,
                     Phase phase, std::optional<Execution> execution) {
  Device<> d;
  d.compute.dense = rate_at(hardware, precision);
  d.compute.vector = vector_rate(hardware, c, notes);
  const bool narrow = bytes_per_element(precision) <= 1, four = bytes_per_element(precision) < 1;
  static const FigureRow& units = *find_figure_row("compute.units");
  // Without a matrix engine a product is as fine as its rows and columns; without units there are no tiles.
  const auto counted = filled(units, hardware, c);
  const bool tiles =
      counted && counted->origin != FigureOrigin::per_unit && has_matrix_engine(hardware.compute);
  const Execution mode = execution_in(phase, execution, notes);
  fill(d, hardware, c,
       kAlways | (tiles ? kTiles : 0u) | (narrow ? kNarrow : kWide) | (four ? kFour : 0u) |
           (mode == Execution::eager ? kEager : 0u) | (phase == Phase::training ? kTraining : kBrief),
       notes);
  if (narrow) {
    d.efficiency.matrix = d.efficiency.matrix_narrow;
    d.efficiency.product_stream =
        four ? d.efficiency.product_stream_four : d.efficiency.product_stream_narrow;
    if (four && tiles)  // such instructions are wider
      for (double* extent : {&d.tiles.tile_m, &d.tiles.tile_n, &d.compute.matrix_rows})
        *extent = max(*extent, d.tiles.four_bit_tile);
    d.tiles.split_depth = 1e9;
    // Such kernels keep a block scale beside the depth.
    if (tiles)
      notes.assume("tiles.split_depth", "none",
                   "kernels for narrow formats do not split the depth of a product");
  }
  const MemoryLevel level = memory_level(hardware, Data<>());
  d.memory.bandwidth = hardware.memory.bandwidth.value_or(level.bandwidth);
  d.memory.capacity = level.capacity;
  // The context of a framework is a habit of big machines: it never takes more than a twentieth of a small
  // one.
  d.conventions.memory_reserve = min(c.memory_reserve, d.memory.capacity * 0.05);
  d.conventions.memory_fragmentation = c.memory_fragmentation;
  notes.assume("memory_reserve", d.conventions.memory_reserve, kDefaults);
  notes.assume("memory_fragmentation", c.memory_fragmentation, kDefaults);
  d.power.tdp = hardware.power.tdp.value_or(Power<>());
  d.conventions.idle_fraction = hardware.power.idle_share(c.idle_fraction);
  return d;
}

void set_cache_format(Device<>& device, const HardwareNode& hardware, Precision precision,
                      std::optional<Precision> kv_precision) {
  const auto& dense = hardware.compute.dense;
  const Precision wide = dense[Precision::bf16] ? Precision::bf16 : Precision::fp16;
  const Precision cached = kv_precision.value_or(bytes_per_element(precision) < 1 ? wide : precision);
  const Precision multiplied = bytes_per_element(cached) == 2 ? wide : cached;
  const bool other = bytes_per_element(multiplied) != bytes_per_element(precision);
  if (other && (multiplied == wide || multiplied == Precision::fp8) && dense[multiplied])
    device.compute.cache_ratio = *dense[multiplied] / device.compute.dense;
}

std::optional<Execution> execution_of(std::optional<Execution> asked, const ServingEngine* runtime) {
  if (asked || runtime == nullptr) return asked;
  const auto* own = stated(*runtime, &ServingEngine::execution);
  return own == nullptr ? asked : std::optional(*own);
}

/// Sums in fp16 run at a rate of their own where the device has one.
static void set_sums(Device<>& device, const ServingEngine& runtime, const HardwareNode& hardware,
                     Precision precision, Notes& notes) {
  const bool* half = stated(runtime, &ServingEngine::fp16_sums);
  const auto& rate = hardware.compute.dense_fp16_accumulate[precision];
  if (half == nullptr || !*half || precision != Precision::fp16 || !rate) return;
  if (device.compute.cache_ratio != 1) device.compute.cache_ratio *= device.compute.dense / *rate;
  device.compute.dense = *rate;
  notes.assume("compute.dense", *rate, SharedText(fmt::format("{} keeps sums in fp16", runtime.name)));
}

void set_operators(const ServingEngine* runtime, Structure& structure, Plan<>& plan, Notes& notes) {
  if (runtime == nullptr) return;
  if (const auto* attention = stated(*runtime, &ServingEngine::attention); attention && is_unfused(*runtime))
    structure.kernel = *attention;
  const auto* rows = stated(*runtime, &ServingEngine::unpack_rows);
  structure.unpacks = rows != nullptr && structure.widened;
  if (!structure.unpacks) return;
  plan.unpack_rows = *rows;
  notes.assume("unpack_rows", *rows,
               fmt::format("{}: weights of larger products are widened in memory", runtime->name));
}

void set_software(Device<>& device, const ServingEngine* runtime, const HardwareNode& hardware,
                  Precision precision, const ModelView<>& model, const Conventions& c, Notes& notes) {
  if (runtime == nullptr) return;
  set_sums(device, *runtime, hardware, precision, notes);
  static const FigureRow& clock = *find_figure_row("compute.clock");
  auto s = software_of(*runtime, precision);
  if (s && !filled(clock, hardware, c)) {
    notes.warn([&] {
      return fmt::format("the clock of {} is not known: kernels of {} count as fused", hardware.name,
                         runtime->name);
    });
    s.reset();
  }
  if (s) {
    const auto& stack = model.shape();
    s->decoder = model.structure.architecture == Architecture::decoder;
    s->root_mean_square = stack.norm_vectors == 1;
    s->positions = stack.position_rows > 0;
    s->gated = false;
    for (const auto& layer : stack.feed_forwards)
      s->gated = s->gated || std::visit([](const auto& rule) { return rule.matrices > 2; }, layer.rule);
    for (const auto& mixer : stack.mixers)
      if (const auto* grouped = std::get_if<GroupedView<>>(&mixer.rule))
        s->head_norm = s->head_norm || grouped->qk_norm_head > 0;
    s->clock = needed<Frequency<>>("compute.clock", hardware, c, notes);
    // Kernels that compute an address for each value are bound by their instructions, where units are
    // counted.
    static const FigureRow& units = *find_figure_row("compute.units");
    if (const auto counted = filled(units, hardware, c); counted && counted->origin != FigureOrigin::per_unit)
      for (auto& kernel : s->kernels)
        if (kernel.unit_bytes > 0)
          kernel.share = std::min(kernel.share, device.compute.units * kernel.unit_bytes * unit::B *
                                                    s->clock / device.memory.bandwidth);
    if (hardware.memory.l2_cache)
      s->l2_cache = *hardware.memory.l2_cache;
    else
      notes.assume("memory.l2_cache", "none", "not stated; every kernel reads from memory");
    device.software = std::make_shared<Software>(*std::move(s));
  }
  auto launch = stated(*runtime, &FrameworkHost::launch);
  // Where the host does not run ahead, each kernel waits for its launch.
  if (const auto gap = stated(*runtime, &FrameworkHost::gap)) launch = gap;
  // Operators that Python calls one by one are those of passes that were asked to be eager (set_calls).
  const bool called = !is_unfused(*runtime) && stated(*runtime, &FrameworkHost::operation) > Time<>();
  if (launch && device.kernels.issue > Time<>() && !called) device.kernels.issue = *launch;
}

void set_matrix_share(Device<>& device, std::optional<double> share) {
  if (!share) return;
  device.efficiency.matrix = *share;
  device.efficiency.burst = 0;
}

}  // namespace mlsysim
