#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
// g++ 12 sees a write past the default of a table row that is not there (gcc bug 105562).
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

#include "detail/bare_pass.hpp"

#include <mlsysim/lowering/feed_forward.hpp>
#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/lowering/single_op.hpp>
#include <mlsysim/reflect/join.hpp>
#include <mlsysim/timing/stored_formats.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace mlsysim::detail {
namespace {

/// The device and the format in which it computes.
template <class R> constexpr auto device_rows() {
  return rows(field(&R::hardware, "hardware", "", "device"),
              field(&R::precision, "precision", "", "format of the arithmetic").defaulted("bf16"));
}

/// The work of one call.
template <class R> constexpr auto call_rows() {
  return join(device_rows<R>(),
              rows(field(&R::batch, "batch", "", "sequences").at_least(1),
                   field(&R::new_tokens, "new_tokens", "", "tokens of a sequence in this call")
                       .at_least(1)
                       .counted()
                       .defaulted("1")));
}

struct ProductRow {
  const HardwareNode* hardware = nullptr;
  Precision precision = Precision::bf16;
  double m = 0, n = 0, k = 0, groups = 1;
  double input_bytes = 2;
  bool quantised_inside = false;
  double quantisation_reads = 2;
  double repeats = 1;
  double search_gain = 1;
  const KernelFamily* family = nullptr;
  Time<> duration{};
  static constexpr auto fields() {
    using R = ProductRow;
    return join(
        device_rows<R>(),
        rows(field(&R::family, "family", "", "family of kernels").defaulted("products of the device"),
             field(&R::m, "rows", "", "rows of a group").positive(),
             field(&R::n, "columns", "", "columns").positive(),
             field(&R::k, "depth", "", "depth of the sums").positive(),
             field(&R::groups, "groups", "", "independent products, each with weights of its own")
                 .at_least(1)
                 .defaulted("1"),
             field(&R::input_bytes, "input_bytes", "", "bytes of one value of the left factor")
                 .positive()
                 .defaulted("2"),
             field(&R::quantised_inside, "quantised_inside", "",
                   "the time includes quantising the left factor")
                 .defaulted("no"),
             field(&R::quantisation_reads, "quantisation_reads", "",
                   "times that quantising reads its input: once for the maximum of a row, once for the "
                   "values; 1 "
                   "where blocks have scales of their own")
                 .at_least(1)
                 .defaulted("2"),
             field(&R::repeats, "repeats", "", "executions back to back, of which the time is the mean")
                 .at_least(1)
                 .defaulted("1"),
             field(&R::search_gain, "search_gain", "",
                   "rate of the best of many shapes over that of an ordinary one, where the shape was "
                   "searched for")
                 .at_least(1)
                 .defaulted("1"),
             field(&R::duration, "duration", "us", "measured time of one execution, where power is asked")
                 .non_negative()
                 .defaulted("not needed")));
  }
};

/// Adds the operators of a product, executed `repeats` times.
void add_product(const ProductRow& c, Bare& bare) {
  const Storage stored = inference_storage(c.precision, std::nullopt);
  if (c.quantised_inside)  // activations are counted at 2 B
    elementwise(bare.frame(), "quantisation", OpGroup::feed_forward, c.repeats, c.m * c.k * c.groups,
                c.quantisation_reads, bytes_per_element(c.precision) / 2, 2);
  const double read = c.quantised_inside ? bytes_per_element(c.precision) : c.input_bytes;
  const ProductBytes<> bytes{.a = (stored.activation_bytes + read - 2.0) * unit::B,
                             .b = stored.weight_bytes * unit::B,
                             .c = stored.activation_bytes * unit::B};
  auto& op = bare.ops.push(product_op(c.m, c.n, c.k, bytes, c.repeats, c.groups));
  if (c.groups > 1) op.parts = part::routed;
}

Prediction product_time(const ProductRow& c, const PredictionContext& context) {
  Bare bare(inference_storage(c.precision, std::nullopt));
  add_product(c, bare);
  auto device = context.constants->kernel_device(*c.hardware, c.precision);
  Notes quiet;
  if (c.family != nullptr && context.comparison == Yardstick::operators)
    set_products(device, *c.family, context.constants->device(*c.hardware), c.precision,
                 context.constants->conventions(), quiet);
  auto p = priced(bare.ops, device, context);
  const bool searched = context.comparison == Yardstick::operators;
  const double by = c.repeats * (searched ? c.search_gain : 1.0);
  p.base /= by;
  for (auto& term : p.terms) term.base /= by;
  return p;
}

Prediction product_power(const ProductRow& c, const PredictionContext& context) {
  if (c.duration <= Time<>()) return {0, {}, "no duration"};
  Bare bare(inference_storage(c.precision, std::nullopt));
  add_product(c, bare);
  return drawn(bare.ops, context.constants->kernel_device(*c.hardware, c.precision), c.duration * c.repeats,
               context);
}

Prediction product_rate(const ProductRow& c, const PredictionContext& context) {
  auto p = product_time(c, context);
  p.base = 2 * c.m * c.n * c.k * c.groups / p.base;
  return p;
}

struct AttentionRow {
  const HardwareNode* hardware = nullptr;
  Precision precision = Precision::bf16, kv_precision = Precision::bf16;
  double batch = 1, new_tokens = 1, context = 1;
  double heads = 1, kv_heads = 1, head_dim = 128;
  double kv_lora = 0, rope = 0;
  bool writes_cache = false;
  const KernelFamily* family = nullptr;
  Time<> duration{};
  double settled = 1;
  static constexpr auto fields() {
    using R = AttentionRow;
    return join(
        call_rows<R>(),
        rows(field(&R::kv_precision, "kv_precision", "", "format of keys and values").defaulted("bf16"),
             field(&R::family, "family", "", "family of kernels").defaulted("usual_attention"),
             field(&R::context, "context", "", "tokens that a sequence holds").at_least(1),
             field(&R::heads, "heads", "", "query heads").at_least(1),
             field(&R::kv_heads, "kv_heads", "", "key-value heads").at_least(1),
             field(&R::head_dim, "head_dim", "", "width of a head").positive(),
             field(&R::kv_lora, "kv_lora", "", "width of the latent (MLA)")
                 .non_negative()
                 .defaulted("no latent"),
             field(&R::rope, "rope", "", "width with rotation (MLA)").non_negative().defaulted("0"),
             field(&R::writes_cache, "writes_cache", "", "the time includes writing the new keys and values")
                 .defaulted("no"),
             field(&R::duration, "duration", "us", "measured time of one call, where power is asked")
                 .non_negative()
                 .defaulted("not needed"),
             field(&R::settled, "settled", "",
                   "how far the meter gets from idle power to what is drawn while the calls last")
                 .within(0, 1)
                 .defaulted("1")));
  }
};

/// Adds the attention operator of one layer, as the lowering makes it.
void add_attention(const AttentionRow& c, Bare& bare) {
  auto& s = bare.structure;
  auto& h = bare.stack;
  s.phase = c.new_tokens > 1 || c.context == 1 ? Phase::prefill : Phase::decode;
  h = {};
  h.layers = 1;
  h.hidden = c.heads * c.head_dim;
  MixerView<> mixer{
      GroupedView<>{.heads = c.heads, .kv_heads = c.kv_heads, .qk_dim = c.head_dim, .v_dim = c.head_dim},
      {},
      1.0};
  if (c.kv_lora > 0)
    mixer.rule = LatentView<>{
        .heads = c.heads, .q_rank = 0, .kv_rank = c.kv_lora, .nope = 128, .rope = c.rope, .v_dim = 128};
  h.mixers.push_back(mixer);
  bare.plan.batch = c.batch;
  bare.plan.new_tokens = c.new_tokens;
  bare.plan.context = c.context;
  OpList<> all;
  lower(s, h, {}, bare.plan, all);
  for (const auto& op : all)
    if ((op.kind == OpKind::attention || op.parts & part::core) && op.count > 0) bare.ops.push(op);
  if (c.writes_cache && bare.ops.size() > 0) {
    const double width = c.kv_lora > 0 ? c.kv_lora + c.rope : 2.0 * c.kv_heads * c.head_dim;
    const double values = c.batch * c.new_tokens * width;
    elementwise(bare.frame(), "cache", OpGroup::attention, 1.0, values, 1,
                bytes_per_element(c.kv_precision) / 2, 0);
  }
}

/// The device of a row with a cache, in whose format attention multiplies.
template <class Row> Device<> attention_device(const Row& c, const PredictionContext& context) {
  const KernelFamily* family = nullptr;
  if constexpr (requires { c.family; }) family = c.family;
  auto device = context.constants->kernel_device(*c.hardware, c.precision, family);
  set_cache_format(device, context.constants->device(*c.hardware), c.precision, c.kv_precision);
  return device;
}

Prediction attention_time(const AttentionRow& c, const PredictionContext& context) {
  Bare bare(inference_storage(c.precision, c.kv_precision));
  add_attention(c, bare);
  return priced(bare.ops, attention_device(c, context), context);
}

Prediction attention_power(const AttentionRow& c, const PredictionContext& context) {
  if (c.duration <= Time<>()) return {0, {}, "no duration"};
  Bare bare(inference_storage(c.precision, c.kv_precision));
  add_attention(c, bare);
  return drawn(bare.ops, attention_device(c, context), c.duration, context, c.settled);
}

struct ExpertsRow {
  const HardwareNode* hardware = nullptr;
  const KernelFamily* family = nullptr;
  Precision precision = Precision::bf16;
  std::optional<WeightFormat> weight_format{};
  double tokens = 1, hidden = 1, width = 1, experts = 1, top_k = 1, matrices = 3;
  double tp_size = 1, ep_size = 1, popularity = 0;
  static constexpr auto fields() {
    using R = ExpertsRow;
    return join(
        device_rows<R>(),
        rows(field(&R::family, "family", "", "family of kernels").defaulted("products of the device"),
             field(&R::weight_format, "weight_format", "", "in which the experts are stored"),
             field(&R::tokens, "tokens", "", "tokens of all expert-parallel ranks").at_least(1),
             field(&R::hidden, "hidden", "", "width of the model").at_least(1),
             field(&R::width, "width", "", "width of an expert").at_least(1),
             field(&R::experts, "experts", "", "experts of all ranks").at_least(1),
             field(&R::top_k, "top_k", "", "experts of a token").at_least(1),
             field(&R::matrices, "matrices", "", "matrices of an expert").within(2, 3).defaulted("3, gated"),
             field(&R::tp_size, "tp_size", "", "devices that share an expert").at_least(1).defaulted("1"),
             field(&R::ep_size, "ep_size", "", "devices over which experts lie").at_least(1).defaulted("1"),
             field(&R::popularity, "popularity", "",
                   "exponent of the power law by which the popularity of experts falls; 0: dealt evenly")
                 .within(0, 4)
                 .defaulted("evenly")));
  }
};

/// Rows of each expert of a rank: as many experts as there are choices share them where they are dealt
/// evenly; else those of the source's power law, truncated to [1, 0.8 tokens], to [0.01, 2] where there are
/// fewer choices than experts, at the middle of each expert's quantile.
std::vector<double> rows_of_experts(const ExpertsRow& c, double rows) {
  if (c.popularity <= 0) {
    const double touched = std::max(1.0, std::min(c.experts / c.ep_size, rows));
    return std::vector<double>(static_cast<std::size_t>(std::lround(touched)), rows / touched);
  }
  const bool few = c.tokens * c.top_k <= c.experts;
  const double e = 1 - c.popularity, low = std::pow(few ? 0.01 : 1.0, e),
               high = std::pow(few ? 2.0 : 0.8 * c.tokens, e);
  std::vector<double> out(static_cast<std::size_t>(c.experts));
  double sum = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double quantile = (static_cast<double>(i) + 0.5) / c.experts;
    sum += out[i] = std::pow(low + quantile * (high - low), 1 / e);
  }
  for (double& n : out) n = std::min(n * c.tokens * c.top_k / sum, c.tokens);
  return out;
}

/// The experts of one layer on one device: choice, gathering, products with their activation, weighted sum.
Prediction experts_time(const ExpertsRow& c, const PredictionContext& context) {
  Bare bare(inference_storage(c.precision, std::nullopt));
  bare.stack.hidden = c.hidden;
  const auto& hardware = context.constants->device(*c.hardware);
  Device<> device = context.constants->kernel_device(*c.hardware, c.precision);
  const double bytes = bytes_per_element(c.precision),
               stored = c.weight_format ? bytes_of(*c.weight_format) : bytes;
  bare.structure.widened = stored < bytes;
  const ExpertRates* rates = nullptr;
  if (c.family != nullptr && c.weight_format && context.comparison == Yardstick::operators) {
    const auto shapes = tuned_shapes(*c.family, hardware, *c.weight_format);
    const bool tuned = std::any_of(shapes.begin(), shapes.end(), [&](const ExpertShape& s) {
      return s.experts == c.experts / c.ep_size && s.width == c.width / c.tp_size;
    });
    rates = expert_rates(*c.family, hardware, *c.weight_format, c.precision, tuned);
  }
  if (rates != nullptr) set_expert_kernels(device, *rates, hardware, 1.0);
  const double tokens = std::max(1.0, c.tokens / c.ep_size), rows = c.tokens * c.top_k / c.ep_size;
  const auto loads = rows_of_experts(c, rows);
  double touched = 0, tiles = 0;
  for (const double n : loads) {
    // With uneven popularity, P(an expert with a mean of n rows has any) = 1 - exp(-n) (Poisson).
    const double there = c.popularity > 0 ? 1 - std::exp(-n) : 1.0;
    touched += there;
    tiles += there * std::ceil(std::max(n, 1.0) / device.experts.tile);
  }
  touched = std::max(touched, 1.0);
  auto frame = bare.frame();
  frame.weight_bytes = stored * (unit::B / unit::param);
  elementwise(frame, "expert_choice", OpGroup::experts, 3.0, tokens * c.experts, 1, 0, 4, part::routed);
  elementwise(frame, "expert_gather", OpGroup::experts, 1.0, rows * c.hidden, 1, 1, 0, part::routed);
  const std::size_t first = bare.ops.size();
  feed_forward_pair(frame, OpGroup::experts, "expert_up", "expert_activation", "expert_down", 1.0,
                    rows / touched, c.width / c.tp_size, touched, c.hidden, c.matrices);
  for (std::size_t i = first; i < bare.ops.size(); ++i) {
    auto& op = bare.ops[i];
    op.parts = op.parts | part::routed;
    // Experts of many and of few rows have tiles of their own.
    if (rates != nullptr && op.kind == OpKind::matmul) {
      op.m = device.experts.tile;
      op.copies = tiles;
    }
  }
  auto& sum = elementwise(frame, "expert_sum", OpGroup::experts, 1.0, rows * c.hidden, 1, 0, 2, part::routed);
  sum.memory_bytes += frame.activations(tokens * c.hidden);
  return priced(bare.ops, device, context);
}

struct LinearRow {
  const HardwareNode* hardware = nullptr;
  Precision precision = Precision::bf16, state_precision = Precision::fp32;
  double batch = 1, new_tokens = 1;
  double key_heads = 1, value_heads = 1, key_dim = 128, value_dim = 128, conv_width = 4;
  bool convolution = false, decoding = false, channel_decay = false;
  double calls = 1;
  const KernelFamily* family = nullptr;
  static constexpr auto fields() {
    using R = LinearRow;
    return join(
        call_rows<R>(),
        rows(field(&R::state_precision, "state_precision", "", "format of the state").defaulted("fp32"),
             field(&R::key_heads, "key_heads", "", "heads of queries and keys; groups of a state space")
                 .at_least(1),
             field(&R::value_heads, "value_heads", "", "heads of values, each with a state").at_least(1),
             field(&R::key_dim, "key_dim", "", "width of a key; of a state space its state").positive(),
             field(&R::value_dim, "value_dim", "", "width of a value").positive(),
             field(&R::conv_width, "conv_width", "", "tokens that the convolution sees")
                 .positive()
                 .defaulted("4"),
             field(&R::convolution, "convolution", "",
                   "the convolution before the state alone, else the state's")
                 .defaulted("no"),
             field(&R::channel_decay, "channel_decay", "", "a decay for each channel, as Kimi's rule has it")
                 .defaulted("one a head"),
             field(&R::decoding, "decoding", "", "a step of decoding, or of checking drafts")
                 .defaulted("a prompt"),
             field(&R::family, "family", "", "family of kernels").defaulted("usual_recurrences"),
             field(&R::calls, "calls", "", "kernels that share the work").at_least(1).defaulted("1")));
  }
};

/// The convolution, or the recurrence over the state, of one layer of linear attention, as the lowering makes
/// them. A step that is repeated finds its states in the cache where they fit half of it, and only writes.
Prediction linear_time(const LinearRow& c, const PredictionContext& context) {
  Bare bare(inference_storage(c.precision, std::nullopt));
  bare.structure.phase = c.decoding ? Phase::decode : Phase::prefill;
  bare.stack.hidden = c.value_heads * c.value_dim;
  LinearView<> rule{.key_heads = c.key_heads,
                    .value_heads = c.value_heads,
                    .key_dim = c.key_dim,
                    .value_dim = c.value_dim,
                    .conv_width = c.conv_width,
                    .channel_decay = c.channel_decay};
  rule.state_bytes = bytes_per_element(c.state_precision) * unit::B;
  bare.stack.mixers.push_back({rule, {}, 1.0});
  bare.plan.batch = c.batch;
  bare.plan.new_tokens = bare.plan.context = c.new_tokens;
  const auto& hardware = context.constants->device(*c.hardware);
  const Data<> cache = hardware.memory.l2_cache.value_or(Data<>()) * 0.5;
  OpList<> all;
  lower(bare.structure, bare.stack, {}, bare.plan, all);
  for (auto op : all) {
    const bool wanted = c.convolution ? op.name == "short_convolution" : op.kind == OpKind::recurrence;
    if (!wanted || op.count <= 0) continue;
    op.count *= c.calls;
    op.work = op.work / c.calls;
    if (op.stepping && !c.convolution && op.state <= cache) op.memory_bytes -= op.state;
    op.memory_bytes = op.memory_bytes / c.calls;
    op.working_set = op.working_set / c.calls;
    bare.ops.push(op);
  }
  auto device = context.constants->kernel_device(*c.hardware, c.precision);
  const auto& conventions = context.constants->conventions();
  Notes quiet;
  if (context.comparison == Yardstick::operators)
    set_recurrences(device, c.family != nullptr ? *c.family : *conventions.recurrences, hardware, conventions,
                    quiet);
  return priced(bare.ops, device, context);
}

struct BlockRow {
  const Workload* workload = nullptr;
  const HardwareNode* hardware = nullptr;
  Precision precision = Precision::bf16, kv_precision = Precision::bf16;
  double batch = 1, new_tokens = 1, past = 0, heads = 1, compression = 0;
  bool index_shared = false;
  static constexpr auto fields() {
    using R = BlockRow;
    return join(
        call_rows<R>(),
        rows(field(&R::workload, "workload", "", "model of the zoo"),
             field(&R::kv_precision, "kv_precision", "", "format of the cache").defaulted("bf16"),
             field(&R::past, "past", "", "tokens that a sequence held before").non_negative().defaulted("0"),
             field(&R::heads, "heads", "", "query heads on this device").at_least(1),
             field(&R::compression, "compression", "",
                   "tokens of a compressed entry; 1: the kind without; 0: the kind that an index steers")
                 .non_negative()
                 .defaulted("0"),
             field(&R::index_shared, "index_shared", "", "a layer that takes the choice of an earlier one")
                 .defaulted("no")));
  }
};

/// The kind of attention of a model that a row names: null where it has none.
const MixerView<>* kind_of(const BlockRow& c, const StackView<>& stack) {
  for (const auto& mixer : stack.mixers) {
    const auto& reach = mixer.reach;
    const bool same = c.compression > 1    ? reach.compressed && reach.block == c.compression
                      : c.compression == 1 ? !reach.compressed && !reach.selected
                                           : reach.selected && reach.index_shared == c.index_shared;
    if (same) return &mixer;
  }
  return nullptr;
}

/// The attention block of one layer on one device, projections included, without norms and exchanges.
Prediction block_time(const BlockRow& c, const PredictionContext& context) {
  const auto model = model_view(*c.workload, c.new_tokens > 1 ? Phase::prefill : Phase::decode);
  StackView<> stack = model.shape();
  const MixerView<>* kind = kind_of(c, stack);
  if (kind == nullptr) return {0, {}, "the model has no such kind of attention"};
  MixerView<> one = *kind;
  one.layers = 1;
  stack.mixers = {one};
  stack.feed_forwards.clear();
  stack.layers = 1;
  Bare bare(inference_storage(c.precision, c.kv_precision));
  bare.plan.tp = std::max(1.0, stack.heads / c.heads);
  bare.plan.batch = c.batch;
  bare.plan.new_tokens = c.new_tokens;
  bare.plan.context = c.past + c.new_tokens;
  Structure structure = model.structure;
  structure.moe = false;
  OpList<> all;
  lower(structure, stack, {}, bare.plan, all);
  for (const auto& op : all)
    if (op.group == OpGroup::attention && op.kind != OpKind::collective && op.count > 0) bare.ops.push(op);
  return priced(bare.ops, attention_device(c, context), context);
}

struct StreamRow {
  const HardwareNode* hardware = nullptr;
  double values = 33554432;
  double reads = 1, writes = 1, value_bytes = 8;
  static constexpr auto fields() {
    using R = StreamRow;
    return rows(
        field(&R::hardware, "hardware", "", "device"),
        field(&R::values, "values", "", "values of one array")
            .positive()
            .defaulted("2^25, the habit of BabelStream"),
        field(&R::reads, "reads", "", "arrays that are read").non_negative(),
        field(&R::writes, "writes", "", "arrays that are written").non_negative(),
        field(&R::value_bytes, "value_bytes", "", "bytes of one value").positive().defaulted("8, doubles"));
  }
};

Prediction stream_rate(const StreamRow& c, const PredictionContext& context) {
  const auto& hardware = context.constants->device(*c.hardware);
  Bare bare({2, c.value_bytes, 2, 0, 0});
  elementwise(bare.frame(), "stream", OpGroup::norm, 1.0, c.values, c.reads, c.writes, 1);
  const Data<> bytes = bare.ops[0].memory_bytes;
  auto p = priced(bare.ops, context.constants->kernel_device(*c.hardware, hardware.compute.default_precision),
                  context);
  p.base = bytes.base() / p.base;
  return p;
}

}  // namespace

std::vector<const Measurand*> kernel_measurands() {
  static const RowMeasurand<ProductRow, product_time> a(
      "matrix_product", measured("matmul"), MeasurandKind::time, "us", "time of one matrix product");
  static const RowMeasurand<AttentionRow, attention_time> b(
      "attention", measured("attention"), MeasurandKind::time, "us", "time of one fused attention kernel");
  static const RowMeasurand<StreamRow, stream_rate> c("memory_stream", measured("memory_stream"),
                                                      MeasurandKind::rate, "GB/s",
                                                      "bandwidth of a stream kernel");
  static const RowMeasurand<ProductRow, product_rate> d("product_rate", measured("matmul"),
                                                        MeasurandKind::rate, "TFLOP/s",
                                                        "arithmetic rate of one matrix product");
  static const RowMeasurand<ProductRow, product_power> e("product_power", measured("matmul_power"),
                                                         MeasurandKind::other, "W",
                                                         "board power while one matrix product is repeated");
  static const RowMeasurand<AttentionRow, attention_power> f(
      "attention_power", measured("attention_power"), MeasurandKind::other, "W",
      "board power while one attention kernel is repeated");
  static const RowMeasurand<ExpertsRow, experts_time> g(
      "expert_layer", measured("expert_layer"), MeasurandKind::time, "us",
      "time of the routed experts of one layer on one device");
  static const RowMeasurand<LinearRow, linear_time> h(
      "linear_attention", measured("linear_attention"), MeasurandKind::time, "us",
      "time of the convolution or of the recurrence of one layer of linear attention");
  static const RowMeasurand<BlockRow, block_time> i(
      "attention_block", measured("attention_block"), MeasurandKind::time, "us",
      "time of the attention block of one layer on one device, projections included");
  return {&a, &b, &c, &d, &e, &f, &g, &h, &i};
}

}  // namespace mlsysim::detail
