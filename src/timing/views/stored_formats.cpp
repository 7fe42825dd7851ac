// Formats of stored weights: named ones, those that a model's files state, and what a device computes in.

#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/timing/stored_formats.hpp>
#include <mlsysim/timing/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mlsysim {
namespace {

/// A value of `block` with its share of a scale of `bytes`.
struct Named {
  WeightFormat format;
  Precision values;
  double block, rows, bytes;
  bool everywhere = false;  ///< embedding and head too
};
constexpr Named kNamed[] = {{WeightFormat::fp8, Precision::fp8, 0, 0, 0},
                            {WeightFormat::fp8_block, Precision::fp8, 128, 128, 4},
                            {WeightFormat::int8, Precision::int8, 0, 0, 0},
                            {WeightFormat::mxfp4, Precision::fp4, 32, 1, 1},
                            {WeightFormat::nvfp4, Precision::fp4, 16, 1, 1},
                            {WeightFormat::int4, Precision::int4, 128, 1, 2.5},
                            {WeightFormat::nf4, Precision::int4, 16384, 1, 260},
                            {WeightFormat::w8a16, Precision::int8, 128, 1, 3},
                            {WeightFormat::q8_0, Precision::int8, 32, 1, 2, true},
                            {WeightFormat::q6_k, Precision::fp6, 256, 1, 18, true},
                            {WeightFormat::q4_k_m, Precision::int4, 256, 1, 27.2, true},
                            {WeightFormat::q4_0, Precision::int4, 32, 1, 2, true}};

/// Means of files of llama.cpp, which mix layouts of blocks: bits of a weight in the blocks of a model, in
/// its embedding and in its head. The blocks follow from files of Llama 3.1 8B.
/// @cite llama-cpp-quantize
struct FileMix {
  WeightFormat format;
  double blocks, embedding, head;
};
constexpr FileMix kMixes[] = {{WeightFormat::q4_1, 5, 5, 6.5625},
                              {WeightFormat::q5_0, 5.5, 5.5, 6.5625},
                              {WeightFormat::q5_1, 6, 6, 6.5625},
                              {WeightFormat::q2_k, 2.943, 2.625, 6.5625},
                              {WeightFormat::q3_k_s, 3.439, 3.4375, 6.5625},
                              {WeightFormat::q3_k_m, 3.845, 3.4375, 6.5625},
                              {WeightFormat::q3_k_l, 4.192, 3.4375, 6.5625},
                              {WeightFormat::q4_k_s, 4.537, 4.5, 6.5625},
                              {WeightFormat::q5_k_s, 5.501, 5.5, 6.5625},
                              {WeightFormat::q5_k_m, 5.654, 5.5, 6.5625},
                              {WeightFormat::iq1_s, 1.694, 2.625, 5.5},
                              {WeightFormat::iq1_m, 1.857, 2.625, 5.5},
                              {WeightFormat::iq2_xxs, 2.129, 2.625, 5.5},
                              {WeightFormat::iq2_xs, 2.366, 2.625, 5.5},
                              {WeightFormat::iq2_s, 2.48, 3.4375, 5.5},
                              {WeightFormat::iq2_m, 2.698, 3.4375, 5.5},
                              {WeightFormat::iq3_xxs, 3.072, 3.4375, 5.5},
                              {WeightFormat::iq3_xs, 3.272, 3.4375, 6.5625},
                              {WeightFormat::iq3_s, 3.459, 3.4375, 6.5625},
                              {WeightFormat::iq3_m, 3.577, 3.4375, 6.5625},
                              {WeightFormat::iq4_xs, 4.317, 4.25, 6.5625},
                              {WeightFormat::iq4_nl, 4.554, 4.5, 6.5625}};

const FileMix* mix_of(WeightFormat format) {
  const auto* found = std::find_if(std::begin(kMixes), std::end(kMixes),
                                   [&](const FileMix& m) { return m.format == format; });
  return found == std::end(kMixes) ? nullptr : found;
}

constexpr TensorGroup kQuantised[] = {TensorGroup::attention,      TensorGroup::linear,  TensorGroup::dense,
                                      TensorGroup::shared_experts, TensorGroup::experts, TensorGroup::draft};

StoredFormat stored(TensorGroup group, const Named& n) {
  StoredFormat f{.tensors = group, .precision = n.values};
  if (n.block > 0) {
    f.block = n.block;
    f.block_rows = n.rows;
    f.scale = n.bytes * unit::B;
  }
  return f;
}

std::optional<Precision> plain(WeightFormat format) {
  switch (format) {
    case WeightFormat::fp32:
      return Precision::fp32;
    case WeightFormat::bf16:
      return Precision::bf16;
    case WeightFormat::fp16:
      return Precision::fp16;
    default:
      return std::nullopt;
  }
}

/// The name of a format of matrices: 16 bits, or the named one of such values and blocks; the nearest in
/// bytes where there is none.
WeightFormat named(Precision values, double block, double bytes) {
  if (bytes_per_element(values) >= 2) return WeightFormat::bf16;
  const Named* best = nullptr;
  double nearest = 0;
  for (const auto& n : kNamed) {
    if (n.values != values || n.everywhere) continue;
    const double away = (n.block == block ? 0.0 : 1.0) + std::abs(bytes_of(n.format) - bytes);
    if (best != nullptr && away >= nearest) continue;
    best = &n;
    nearest = away;
  }
  if (best != nullptr) return best->format;
  return bytes >= 0.75 ? WeightFormat::int8 : WeightFormat::int4;
}

/// Sums of weights and of their bytes.
struct Sum {
  double weights = 0, bytes = 0;
  void operator+=(const Sum& o) {
    weights += o.weights;
    bytes += o.bytes;
  }
  [[nodiscard]] DataPerParam<> each() const {
    return (weights > 0 ? bytes / weights : 0.0) * unit::B / unit::param;
  }
};
struct Sums {
  Sum block, expert, edge;
  std::array<double, kPrecisions> of{};  ///< weights in matrices by the format of a value
};

/// The weights of the stack that is served, each once.
Sums sums_of(const Workload& workload, const StoredFormats& formats) {
  const auto model = model_view(workload, Phase::decode);
  const auto& stack = model.shape();
  const StackRole role = workload.main()->role;
  Plan<> plan;
  OpList<> ops;
  const auto range = lower(model.structure, stack, {}, plan, ops);
  Sums out;
  const MixerView<>* mixer = nullptr;
  std::size_t next = 0;
  for (std::size_t i = 0; i < range.forward_end; ++i) {
    const Op<>& op = ops[i];
    if (begins_mixer(op.name) && next < stack.mixers.size()) mixer = &stack.mixers[next++];
    const double all = op.params / unit::param * op.count;
    if (all == 0) continue;
    const double matrix = matrix_weights(op);
    const TensorGroup group = tensor_group_of(op, op.group == OpGroup::attention ? mixer : nullptr, role);
    const Sum sum{all, matrix * formats.matrix(group) + (all - matrix) * formats.vector()};
    (op.place != StageScope::every_block ? out.edge
     : op.parts & part::routed           ? out.expert
                                         : out.block) += sum;
    const StoredFormat* f = formats.of(group);
    out.of[static_cast<std::size_t>(f != nullptr ? f->precision : formats.base())] += matrix;
  }
  return out;
}

/// The bytes of a weight of each kind, the mean of its tensors.
void store(const Sums& sums, ServedFormat& out) {
  Sum whole = sums.block;
  whole += sums.expert;
  whole += sums.edge;
  out.apart = true;
  out.block = sums.block.each();
  out.expert = sums.expert.each();
  out.edge = sums.edge.each();
  out.whole = whole.each();
}

/// A format of 16 bits that devices compute in.
Precision wide(const HardwareNode& hardware) {
  const auto& c = hardware.compute;
  if (bytes_per_element(c.default_precision) == 2) return c.default_precision;
  for (const Precision p : {Precision::bf16, Precision::fp16})
    if (c.dense[p]) return p;
  return c.default_precision;
}

/// The format in which weights of `values` are multiplied.
Precision arithmetic(Precision values, double block, const HardwareNode& hardware, const HardwareNode* also) {
  if (bytes_per_element(values) >= 2) return values == Precision::fp32 ? values : wide(hardware);
  // Formats of 4 bits with scales for 16 values are made for products of them; others only save memory.
  const bool multiplied = values == Precision::fp8 || (values == Precision::fp4 && block == 16) ||
                          (values == Precision::int8 && block == 0);
  const bool everywhere = hardware.compute.dense[values] && (also == nullptr || also->compute.dense[values]);
  return multiplied && everywhere ? values : wide(hardware);
}

/// The format in which tensors are multiplied: that of most weights decides.
struct Multiplied {
  Precision most, precision;
};
Multiplied multiplied(const Sums& sums, std::span<const StoredFormat> formats, const HardwareNode& hardware,
                      const HardwareNode* also) {
  const auto most =
      static_cast<Precision>(std::max_element(sums.of.begin(), sums.of.end()) - sums.of.begin());
  double block = 0;
  for (const auto& f : formats)
    if (f.precision == most) block = f.block.value_or(0);
  return {most, arithmetic(most, block, hardware, also)};
}

/// Whether the files of a model hold weights in fewer than 16 bits.
bool is_narrow(const Workload& workload) {
  return std::any_of(workload.formats.begin(), workload.formats.end(), [](const StoredFormat& f) {
    return bytes_per_element(f.precision) < 2 && f.tensors != TensorGroup::cache &&
           f.tensors != TensorGroup::index_keys && f.tensors != TensorGroup::state;
  });
}

std::string words_of(std::span<const StoredFormat> formats) {
  std::string out;
  for (const auto& f : formats)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name_of(f.tensors), name_of(f.precision));
  return out;
}

}  // namespace

std::vector<StoredFormat> formats_of(const Workload& workload, WeightFormat format) {
  if (format == WeightFormat::as_stored) {
    if (!workload.formats.empty()) return workload.formats;
    throw InputError(
        {.id = "mlsysim.price.060",
         .message = fmt::format("how the weights of '{}' are stored is not known", workload.name),
         .key = "weight_format",
         .found = "as_stored",
         .expected = "a model whose entry has 'formats', or a format by name",
         .hint = "name a format, or give the config.json of the model"});
  }
  if (const auto p = plain(format)) return {{.tensors = TensorGroup::all, .precision = *p}};
  const auto* named =
      std::find_if(std::begin(kNamed), std::end(kNamed), [&](const Named& n) { return n.format == format; });
  const FileMix* mix = mix_of(format);
  if (mix != nullptr || named->everywhere) {
    const bool tied = workload.main() != nullptr && workload.main()->output.tied;
    std::vector<StoredFormat> out{{.tensors = TensorGroup::all, .precision = Precision::fp16}};
    for (std::size_t i = 1; i < Choices<TensorGroup>::names.size(); ++i) {
      const auto group = static_cast<TensorGroup>(i);
      if (group >= TensorGroup::cache || group == TensorGroup::router) continue;
      if (mix == nullptr)
        out.push_back(stored(group, *named));
      else
        out.push_back({.tensors = group,
                       .precision = Precision::int4,
                       .bits = group == TensorGroup::head        ? mix->head
                               : group != TensorGroup::embedding ? mix->blocks
                               : tied                            ? mix->head
                                                                 : mix->embedding});
    }
    return out;
  }
  std::vector<StoredFormat> out{{.tensors = TensorGroup::all, .precision = Precision::bf16}};
  for (const TensorGroup group : kQuantised) out.push_back(stored(group, *named));
  return out;
}

std::vector<StoredFormat> formats_of(Precision precision) {
  if (bytes_per_element(precision) >= 2) return {{.tensors = TensorGroup::all, .precision = precision}};
  std::vector<StoredFormat> out{{.tensors = TensorGroup::all, .precision = Precision::bf16}};
  for (const TensorGroup group : kQuantised) out.push_back({.tensors = group, .precision = precision});
  return out;
}

bool means_files(const Workload& workload, const FormatRequest& request, const HardwareNode& hardware,
                 const HardwareNode* also) {
  if (request.weight_format || request.weight_bits || !is_narrow(workload) || !workload.has_shape())
    return false;
  if (!request.precision) return true;
  if (request.from_totals) return false;
  const StoredFormats formats(workload.formats);
  return multiplied(sums_of(workload, formats), workload.formats, hardware, also).precision ==
         *request.precision;
}

double bytes_of(WeightFormat format) {
  if (const auto p = plain(format)) return bytes_per_element(*p);
  if (const FileMix* mix = mix_of(format)) return mix->blocks / 8;
  for (const auto& n : kNamed)
    if (n.format == format)
      return bytes_per_element(n.values) + (n.block > 0 ? n.bytes / (n.block * n.rows) : 0.0);
  return 0;
}

const StoredFormat* StoredFormats::of(TensorGroup group) const {
  for (const auto& f : formats_)
    if (f.tensors == group) return &f;
  return nullptr;
}

double StoredFormats::matrix(TensorGroup group) const {
  const StoredFormat* f = of(group);
  if (f == nullptr) return vector();
  if (f->bits) return *f->bits / 8;
  double bytes = bytes_per_element(f->precision);
  if (f->block && f->scale) bytes += *f->scale / unit::B / (*f->block * f->block_rows.value_or(1));
  return bytes;
}

Precision StoredFormats::base() const {
  const StoredFormat* f = of(TensorGroup::all);
  return f == nullptr ? Precision::bf16 : f->precision;
}

double StoredFormats::cache() const {
  if (const StoredFormat* f = of(TensorGroup::cache)) return bytes_per_element(f->precision);
  return std::max(bytes_per_element(base()), 2.0);
}

TensorGroup tensor_group_of(const Op<>& op, const MixerView<>* mixer, StackRole role) {
  if (role == StackRole::tower) return TensorGroup::tower;
  switch (op.group) {
    case OpGroup::embedding:
      return TensorGroup::embedding;
    case OpGroup::head:
      return TensorGroup::head;
    case OpGroup::attention:
      return mixer != nullptr && mixer->rule.index() >= 3 ? TensorGroup::linear : TensorGroup::attention;
    case OpGroup::feed_forward:
      return TensorGroup::dense;
    case OpGroup::experts:
      if (op.parts & part::routed) return TensorGroup::experts;
      if (op.name.starts_with("shared_expert")) return TensorGroup::shared_experts;
      return op.name == "router" ? TensorGroup::router : TensorGroup::all;
    default:
      return TensorGroup::all;
  }
}

bool begins_mixer(std::string_view op) {
  return op == "qkv_projection" || op == "latent_down_projection" || op == "query_down_projection" ||
         op == "linear_attention_input" || op == "state_space_input" || op == "encoder_query";
}

double matrix_weights(const Op<>& op) {
  if (op.kind == OpKind::elementwise || op.group == OpGroup::norm) return 0;
  const double all = op.params / unit::param * op.count;
  if (op.name == "encoder_query") return all;  // in a step it has the matrices for keys and values as well
  return op.kind == OpKind::matmul && !(op.parts & part::routed)
             ? std::min(op.n * op.k * op.copies * op.count, all)
             : all;
}

ServedFormat served_format(const Workload& workload, const FormatRequest& request,
                           const HardwareNode& hardware, const HardwareNode* also, Notes& notes) {
  ServedFormat out;
  const bool own = means_files(workload, request, hardware, also);
  const auto format = own ? WeightFormat::as_stored : request.weight_format;
  if (!format || request.weight_bits) {
    out.precision = precision_or_default(request.precision, hardware, notes);
    const double bytes = request.weight_bits ? *request.weight_bits / 8 : bytes_per_element(out.precision);
    out.block = out.expert = out.edge = out.whole = bytes * unit::B / unit::param;
    out.apart = request.weight_bits.has_value();
    if (!out.apart && !request.from_totals && bytes < 2 && workload.has_shape()) {
      const auto narrow = formats_of(out.precision);
      store(sums_of(workload, StoredFormats(narrow)), out);
    }
    const bool widened = bytes < bytes_per_element(out.precision);
    out.experts = !widened       ? named(out.precision, out.precision == Precision::fp4 ? 16 : 0, bytes)
                  : bytes < 0.75 ? WeightFormat::int4
                                 : WeightFormat::int8;
    if (request.from_totals) return out;
    if (const StoredFormat* cache = StoredFormats(workload.formats).of(TensorGroup::cache)) {
      out.kv_precision = cache->precision;
      out.kv_stored = true;
    } else if (bytes_per_element(out.precision) < 2) {
      out.kv_precision = wide(hardware);
    }
    return out;
  }
  const auto all = formats_of(workload, *format);
  const StoredFormats formats(all);
  const Sums sums = sums_of(workload, formats);
  store(sums, out);
  const StoredFormat* experts = formats.of(TensorGroup::experts);
  out.experts = experts == nullptr ? named(formats.base(), 0, formats.vector())
                                   : named(experts->precision, experts->block.value_or(0),
                                           formats.matrix(TensorGroup::experts));
  // Engines keep a cache of 16 bits beside quantized weights unless the files name another.
  const StoredFormat* cache = formats.of(TensorGroup::cache);
  out.kv_precision = cache != nullptr ? cache->precision : formats.base();
  out.kv_stored = true;
  if (own)
    notes.assume("weight_format", "as_stored",
                 fmt::format("the files of {}: {}", workload.name, words_of(all)));
  if (request.precision) {
    out.precision = *request.precision;
    return out;
  }
  const auto [most, precision] = multiplied(sums, all, hardware, also);
  out.precision = precision;
  notes.assume("precision", precision,
               precision == most ? fmt::format("most weights are in {}", name_of(most))
                                 : fmt::format("weights in {} are widened on their way", name_of(most)));
  return out;
}

void set_stored(const ServedFormat& format, bool listed, Plan<>& plan, Structure& structure) {
  const bool uniform = format.expert == format.block && format.edge == format.block;
  structure.mixed_storage = listed && !uniform;
  plan.weight_bytes = structure.mixed_storage ? format.block : format.whole;
  plan.expert_bytes = format.expert;
  plan.edge_bytes = format.edge;
}

}  // namespace mlsysim
