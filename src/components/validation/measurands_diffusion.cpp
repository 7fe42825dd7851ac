#include "detail/bare_pass.hpp"

#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/timing/fill.hpp>

namespace mlsysim::detail {
namespace {

/// A diffusion transformer that turns noise into images or videos, step after step. Text encoders and the
/// decoder of the latents run once, beside all the steps, and are not counted.
struct DenoiserRow {
  const HardwareNode* hardware = nullptr;
  Precision precision = Precision::bf16;
  AttentionKernel attention_kernel = AttentionKernel::fused;
  double accelerators = 1, ring = 1, ulysses = 1;
  double outputs = 1, steps = 1, evaluations = 1;
  double layers = 1, hidden = 1, heads = 1, width = 1, self_attentions = 1;
  double tokens = 1, text_tokens = 0, cross_tokens = 0;
  double norm_bytes = 0, rotation_bytes = 0;
  static constexpr auto fields() {
    using R = DenoiserRow;
    return rows(
        field(&R::hardware, "hardware", "", "device"),
        field(&R::precision, "precision", "", "format of the arithmetic").defaulted("bf16"),
        field(&R::attention_kernel, "attention_kernel", "",
              "its generation: fused (the present one) or flash2")
            .defaulted("fused"),
        field(&R::accelerators, "accelerators", "", "devices, joined by their own links; tokens are divided")
            .at_least(1)
            .counted()
            .defaulted("1"),
        field(&R::ring, "ring", "", "devices around which keys and values pass").at_least(1).defaulted("1"),
        field(&R::ulysses, "ulysses", "", "devices that exchange tokens for heads around attention")
            .at_least(1)
            .defaulted("1"),
        field(&R::outputs, "outputs", "", "images or videos made together").at_least(1).counted(),
        field(&R::steps, "steps", "", "steps of the sampler").at_least(1).counted(),
        field(&R::evaluations, "evaluations", "",
              "passes a step and output: 2 with and without the text (classifier-free guidance)")
            .at_least(1)
            .counted(),
        field(&R::layers, "layers", "", "blocks").at_least(1).counted(),
        field(&R::hidden, "hidden", "", "width of the model").at_least(1),
        field(&R::heads, "heads", "", "attention heads").at_least(1),
        field(&R::width, "width", "", "width of the feed-forward, two matrices").at_least(1),
        field(&R::self_attentions, "self_attentions", "", "of a block, mean").at_least(1).defaulted("1"),
        field(&R::tokens, "tokens", "", "patches of the latents of one output").at_least(1),
        field(&R::text_tokens, "text_tokens", "", "tokens of the text beside them in every block")
            .non_negative()
            .defaulted("0"),
        field(&R::cross_tokens, "cross_tokens", "", "tokens of a text that attention of its own reads")
            .non_negative()
            .defaulted("0"),
        field(&R::norm_bytes, "norm_bytes", "",
              "bytes that the chain of kernels moves which normalises queries and keys, for each value")
            .non_negative()
            .defaulted("0, no norm"),
        field(&R::rotation_bytes, "rotation_bytes", "", "the same of their rotation")
            .non_negative()
            .defaulted("0, no rotation"));
  }
};

/// Attention of all tokens to a text, whose keys and values each block makes anew.
void add_cross_attention(const DenoiserRow& c, const Frame<double>& f) {
  const double text = f.sequences * c.cross_tokens, head = c.hidden / c.heads;
  matmul(f, "cross_query", OpGroup::attention, c.layers, f.tokens, c.hidden, c.hidden);
  matmul(f, "cross_key_value", OpGroup::attention, c.layers, text, 2 * c.hidden, c.hidden);
  Op<>& op = emit(f.ops, OpKind::attention, OpGroup::attention, "cross_attention", c.layers);
  op.m = f.plan.new_tokens / f.plan.cp;
  op.n = c.cross_tokens;
  op.k = head;
  op.copies = f.sequences * c.heads;
  op.work = flops<double>(4 * op.copies * op.m * op.n * head);
  op.live = f.activations(2 * f.tokens * c.hidden);
  op.traffic = op.unfused_traffic = op.live + f.activations(2 * text * c.hidden);
  matmul(f, "cross_output", OpGroup::attention, c.layers, f.tokens, c.hidden, c.hidden);
}

/// A chain of kernels over queries and keys, each of which reads and writes whole arrays.
void add_chain(const DenoiserRow& c, const Frame<double>& f, std::string_view name, double bytes) {
  constexpr double kernels = 7;  // of a norm in FP32 six, of a rotation eight
  if (bytes <= 0) return;
  auto& op = elementwise(f, name, OpGroup::attention, 2 * kernels * c.layers * c.self_attentions,
                         f.tokens * c.hidden, 0, 0, 1);
  op.live = op.traffic = op.unfused_traffic = f.tokens * c.hidden * (bytes / kernels) * unit::B;
}

/// Passes of all steps. PyTorch launches them kernel by kernel and fuses no chains.
void add_passes(const DenoiserRow& c, Bare& bare) {
  auto& s = bare.structure;
  s.phase = Phase::inference;
  s.architecture = Architecture::encoder;
  s.causal = s.fused = false;
  auto& h = bare.stack;
  h = {};
  h.layers = c.layers;
  h.hidden = c.hidden;
  const double head = c.hidden / c.heads, attentions = c.layers * c.self_attentions;
  h.mixers.push_back(
      {GroupedView<>{.heads = c.heads, .kv_heads = c.heads, .qk_dim = head, .v_dim = head}, {}, attentions});
  h.feed_forwards.push_back({DenseView<>{.width = c.width, .matrices = 2}, c.layers});
  bare.plan.batch = c.outputs * c.evaluations;
  bare.plan.new_tokens = bare.plan.context = c.tokens + c.text_tokens;
  bare.plan.cp = c.accelerators;
  lower(s, h, {}, bare.plan, bare.ops);
  for (std::size_t i = 0; i < bare.ops.size(); ++i) {
    if (bare.ops[i].kind == OpKind::collective) bare.ops[i].ranks = c.ring;
    if (bare.ops[i].name == "rotary_and_cache") bare.ops[i].count = 0;  // as these models do it: below
  }
  const auto f = bare.frame();
  bare.ops.reserve(8);
  // Shift, scale and gate of what enters and leaves the two parts of a block, made of the step and the text.
  elementwise(f, "modulation", OpGroup::norm, 4 * c.layers, f.tokens * c.hidden, 1, 1, 2);
  add_chain(c, f, "query_key_norm", c.norm_bytes);
  add_chain(c, f, "rotation", c.rotation_bytes);
  // Queries, keys, values and outputs of text and image are put together and taken apart.
  if (c.text_tokens > 0)
    elementwise(f, "text_join", OpGroup::attention, 4 * c.layers, f.tokens * c.hidden, 1, 1, 0);
  if (c.cross_tokens > 0) add_cross_attention(c, f);
  // Queries, keys and values on their way to the devices of their heads, and the output back.
  collective(f.ops, "head_exchange", Collective::all_to_all, Traffic::context, 4 * attentions,
             f.activations(f.tokens * c.hidden), c.ulysses, c.ring);
  for (std::size_t i = 0; i < bare.ops.size(); ++i) bare.ops[i].count *= c.steps;
}

struct Denoising {
  Notes quiet;
  Bare bare;
  Device<> device;
  Links<> links;

  Denoising(const DenoiserRow& c, const PredictionContext& context)
      : bare(inference_storage(c.precision, std::nullopt)),
        device(device_view(context.constants->device(*c.hardware), c.precision,
                           context.constants->conventions(), quiet, Phase::inference, Execution::eager)),
        links(links_view(context.constants->device(*c.hardware), c.accelerators,
                         context.constants->conventions(), quiet, Phase::inference)) {
    if (c.attention_kernel == AttentionKernel::flash2)
      device.efficiency.attention *=
          needed_figure("efficiency.flash2", context.constants->device(*c.hardware),
                        context.constants->conventions(), quiet);
    add_passes(c, bare);
  }
};

Prediction generation_time(const DenoiserRow& c, const PredictionContext& context) {
  const Denoising d(c, context);
  return priced(d.bare.ops, d.device, context, d.links);
}

Prediction generation_energy(const DenoiserRow& c, const PredictionContext& context) {
  const Denoising d(c, context);
  const Prediction time = priced(d.bare.ops, d.device, context, d.links);
  Prediction energy = drawn(d.bare.ops, d.device, time.base * unit::s, context, d.links);
  energy.base *= time.base * c.accelerators / c.outputs;
  if (context.wants_terms) energy.terms.push_back({"time [s]", time.base, TermRole::fact});
  return energy;
}

}  // namespace

std::vector<const Measurand*> diffusion_measurands() {
  static const RowMeasurand<DenoiserRow, generation_time> a(
      "generation_time", measured("generation_time"), MeasurandKind::time, "s",
      "time in which a diffusion model makes its outputs");
  static const RowMeasurand<DenoiserRow, generation_energy> b(
      "generation_energy", measured("generation_energy"), MeasurandKind::other, "J",
      "energy of one output of a diffusion model");
  return {&a, &b};
}

}  // namespace mlsysim::detail
