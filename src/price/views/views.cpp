#include <mlsysim/price/views.hpp>
#include <mlsysim/spec/provenance.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

[[noreturn]] void incomplete(const Workload& workload, std::string_view what) {
  throw InputError({.id = "mlsysim.catalogue.001",
                    .message = fmt::format("the shape of '{}' is not known well enough for operator fidelity",
                                           workload.name),
                    .key = workload.name,
                    .found = "no " + std::string(what),
                    .expected = "a complete shape",
                    .hint = "use fidelity 'textbook', which needs totals only"});
}

double need(const std::optional<double>& value, const Workload& workload, std::string_view what) {
  if (!value) incomplete(workload, what);
  return *value;
}

double flag(bool on) { return on ? 1.0 : 0.0; }

double extra(const Workload& workload, const char* name) {
  const auto found = workload.extra.find(name);
  return found == workload.extra.end() ? 0.0 : found->second;
}

}  // namespace

Precision precision_or_default(std::optional<Precision> precision, const HardwareNode& hardware,
                               Notes& notes) {
  if (precision) return *precision;
  if (notes.wanted())
    notes.assume("precision", hardware.compute.default_precision, "default precision of " + hardware.name);
  return hardware.compute.default_precision;
}

double seq_len_or_default(std::optional<double> seq_len, const Workload& w, double output_tokens,
                          Notes& notes) {
  if (seq_len) return *seq_len;
  constexpr double usual = 2048;
  const double room = w.max_positions ? std::max(1.0, *w.max_positions - output_tokens) : usual;
  const double tokens = std::min(usual, room);
  if (w.architecture != Architecture::cnn)
    notes.assume("seq_len", tokens,
                 tokens < usual ? TextRef("the longest that the model takes (max_positions)")
                                : TextRef("2048 tokens, convention of MLSys-im"));
  return tokens;
}

void warn_of_positions(const Workload& w, double tokens, Notes& notes) {
  if (!w.max_positions || tokens <= *w.max_positions) return;
  notes.warn([&] {
    return fmt::format("'{}' takes at most {:g} tokens (max_positions): {:g} are priced as if it took them",
                       w.name, *w.max_positions, tokens);
  });
}

Fidelity fidelity_or_default(std::optional<Fidelity> fidelity, const Workload& workload, Notes& notes) {
  const bool lowered = workload.has_shape();
  if (fidelity) {
    if (*fidelity == Fidelity::operator_level && !lowered) incomplete(workload, "layers that can be lowered");
    return *fidelity;
  }
  const Fidelity chosen = lowered ? Fidelity::operator_level : Fidelity::textbook;
  notes.assume("fidelity", chosen,
               lowered ? TextRef("operators where the shape is known") : TextRef("only totals are known"));
  return chosen;
}

MemoryLevel memory_level(const HardwareNode& hardware, Data<> weights) {
  const auto& m = hardware.memory;
  // What programs can use, where that is known to be less.
  const Data<> capacity =
      m.usable_capacity ? *m.usable_capacity
                        : m.capacity.value_or(m.sram_capacity.value_or(m.flash_capacity.value_or(Data<>())));
  if (m.sram_capacity && m.sram_bandwidth && weights <= *m.sram_capacity &&
      (weights > Data<>() || !m.bandwidth))
    return {*m.sram_bandwidth, capacity, "sram"};
  if (m.flash_bandwidth && !m.bandwidth) return {*m.flash_bandwidth, capacity, "flash"};
  if (m.flash_bandwidth && weights > Data<>()) return {*m.flash_bandwidth, capacity, "flash"};
  if (m.bandwidth) return {*m.bandwidth, capacity, "memory"};
  throw InputError({.id = "mlsysim.catalogue.002",
                    .message = fmt::format("'{}' has no memory bandwidth", hardware.name),
                    .key = hardware.name,
                    .expected = "memory.bandwidth, or sram_bandwidth or flash_bandwidth",
                    .hint = "give the device a memory bandwidth"});
}

ModelView<> model_view(const Workload& w, Phase phase) {
  ModelView<> v;
  auto& s = v.structure;
  s.phase = phase;
  s.architecture = w.architecture;
  if (w.architecture == Architecture::cnn) {
    if (w.convolution.empty()) incomplete(w, "layer records (convolution)");
    v.layers = w.convolution;
    s.causal = false;
    return v;
  }
  if (w.architecture != Architecture::decoder && w.architecture != Architecture::encoder)
    incomplete(w, fmt::format("operator list for the architecture '{}'", name_of(w.architecture)));
  const auto& t = w.shape;
  auto& h = v.shape;
  s.attention = w.attention.kind;
  s.causal = w.architecture == Architecture::decoder;
  h.layers = need(t.layers, w, "shape.layers");
  h.hidden = need(t.hidden, w, "shape.hidden");
  h.heads = need(t.heads, w, "shape.heads");
  h.ffn = t.ffn.value_or(0);
  h.kv_heads = t.kv_heads.value_or(h.heads);
  h.qk_dim = h.v_dim = t.head_dim.value_or(h.hidden / h.heads);
  h.vocab = t.vocab.value_or(0);
  if (s.causal && h.vocab == 0) incomplete(w, "shape.vocab");
  h.ffn_matrices = t.gated_ffn ? 3 : 2;
  h.head_params = flag(!t.tied_embeddings);
  h.bias = flag(t.biases);
  h.qkv_bias = flag((t.attention_biases || t.qkv_biases) && !t.biases);
  h.output_bias = flag(t.attention_biases && !t.biases);
  h.expert_bias = flag(t.expert_biases);
  s.biased = t.biases || t.attention_biases || t.qkv_biases;
  h.router_bias = flag(t.router_biases);
  h.shared_gate = flag(t.shared_expert_gate);
  h.sinks = flag(t.attention_sinks);
  h.qk_norm_head = flag(t.qk_norm == QkNorm::head);
  h.qk_norm_full = flag(t.qk_norm == QkNorm::full);
  h.norm_vectors = t.norm_biases ? 2 : 1;
  h.norms_per_layer = t.norms_per_layer;
  h.edge_norms = flag(t.final_norm) + flag(t.embedding_norm);
  h.position_rows = (t.learned_positions ? w.max_positions.value_or(0) : 0) + t.token_types.value_or(0);
  h.pooler = flag(t.pooler);
  h.output_gate = extra(w, "attention_output_gate");
  if (t.patch_size) {
    h.patch_inputs = 3 * *t.patch_size * *t.patch_size;
    h.outputs = t.classes.value_or(0);
  }

  const auto& a = w.attention;
  const double linear = w.linear_attention.layers.value_or(0);
  if (a.sliding_window) {
    h.window = *a.sliding_window;
    h.window_layers = h.layers - linear - a.full_attention_layers.value_or(0);
    s.windowed = h.window_layers > 0;
  }
  if (linear > 0) {
    const auto& l = w.linear_attention;
    s.linear = true;
    s.delta_attention = l.kind == "kda";
    h.linear_layers = linear;
    h.linear_key_heads = need(l.key_heads, w, "linear_attention.key_heads");
    h.linear_value_heads = need(l.value_heads, w, "linear_attention.value_heads");
    h.linear_head_dim = need(l.head_dim, w, "linear_attention.head_dim");
    h.conv_width = l.conv_width.value_or(0);
  }
  if (a.kv_lora_rank) {
    s.attention = AttentionKind::mla;
    h.kv_lora = *a.kv_lora_rank;
    h.q_lora = a.q_lora_rank.value_or(0);
    h.nope = need(a.nope_head_dim, w, "attention.nope_head_dim");
    h.rope = need(a.rope_head_dim, w, "attention.rope_head_dim");
    h.v_dim = need(a.value_head_dim, w, "attention.value_head_dim");
    h.qk_dim = h.nope + h.rope;
  } else if (a.kind == AttentionKind::mla) {
    incomplete(w, "attention.kv_lora_rank");
  }
  h.index_heads = extra(w, "index_heads");
  h.index_dim = extra(w, "index_head_dim");
  h.index_top_k = extra(w, "index_top_k");
  s.indexed = h.index_heads > 0;
  if (a.kind == AttentionKind::compressed) {
    s.attention = AttentionKind::compressed;
    s.windowed = false;  // every layer has its window beside the compressed past
    h.window_layers = 0;
    h.q_lora = need(a.q_lora_rank, w, "attention.q_lora_rank");
    h.compress4_layers = extra(w, "compress4_layers");
    h.compress128_layers = extra(w, "compress128_layers");
    h.output_rank = extra(w, "o_lora_rank");
    h.output_groups = extra(w, "o_groups");
  }

  const auto& m = w.moe;
  if (m.experts) {
    s.moe = true;
    h.experts = *m.experts;
    h.top_k = need(m.top_k, w, "moe.top_k");
    h.routed_hidden =
        extra(w, "routed_expert_hidden_size") > 0 ? extra(w, "routed_expert_hidden_size") : h.hidden;
    h.expert_ffn = need(m.expert_ffn, w, "moe.expert_ffn");
    h.shared_experts = m.shared_experts.value_or(0);
    h.shared_ffn = m.shared_expert_ffn.value_or(h.expert_ffn);
    h.moe_layers = std::floor((h.layers - m.dense_layers.value_or(0)) / m.moe_every.value_or(1));
    if (h.moe_layers < h.layers && h.ffn == 0) incomplete(w, "shape.ffn of the dense layers");
  } else if (h.ffn == 0) {
    incomplete(w, "shape.ffn");
  }
  return v;
}

Storage inference_storage(Precision precision, std::optional<Precision> kv_precision) {
  const double b = bytes_per_element(precision);
  const double kv = kv_precision ? bytes_per_element(*kv_precision) : (b < 1 ? 2.0 : b);
  return {b, std::max(b, 2.0), kv, 0, 0};
}

std::string_view kv_format_words(Precision precision) {
  return bytes_per_element(precision) < 1 ? "16 bits" : name_of(precision);
}

Storage training_storage(Precision precision, OptimizerKind optimizer) {
  // Formats below 16 bits are formats of the arithmetic; weights and gradients are then kept at 16 bits.
  const double b = std::max(bytes_per_element(precision), 2.0);
  const double moments = optimizer == OptimizerKind::adam || optimizer == OptimizerKind::adamw ? 8.0 : 0.0;
  const double master = optimizer != OptimizerKind::none && b < 4 ? 4.0 : 0.0;
  return {b, b, b, b, moments + master};
}

void set_storage(Plan<>& plan, const Storage& storage) {
  plan.weight_bytes = storage.weight_bytes * unit::B / unit::param;
  plan.gradient_bytes = storage.gradient_bytes * unit::B / unit::param;
  plan.state_bytes = storage.state_bytes * unit::B / unit::param;
  plan.activation_bytes = storage.activation_bytes * unit::B;
  plan.kv_bytes = storage.kv_bytes * unit::B;
}

namespace {
/// The forward list of one sample on one device.
ListTotals<> counted(const Workload& workload, Phase phase, double tokens, double batch, Precision precision,
                     std::optional<Precision> kv_precision) {
  const auto view = model_view(workload, phase);
  Plan<> plan;
  plan.batch = batch;
  plan.new_tokens = tokens;
  plan.context = tokens;
  set_storage(plan, inference_storage(precision, kv_precision));
  OpList<> ops;
  const auto range = lower(view.structure, view.shape, view.layers, plan, ops);
  return totals_of(ops, range.forward_end);
}
}  // namespace

Params<> parameter_count(const Workload& workload) {
  if (workload.has_shape())
    return counted(workload, Phase::prefill, 1, 1, Precision::fp16, std::nullopt).params();
  if (workload.parameters) return *workload.parameters;
  throw InputError({.id = "mlsysim.catalogue.003",
                    .message = fmt::format("the number of parameters of '{}' is not known", workload.name),
                    .key = workload.name,
                    .expected = "a shape or published parameters",
                    .hint = "add 'parameters' to the entry"});
}

Params<> active_parameter_count(const Workload& workload) {
  if (!workload.has_shape())
    return workload.active_parameters ? *workload.active_parameters : parameter_count(workload);
  const auto total = counted(workload, Phase::prefill, 1, 1, Precision::fp16, std::nullopt);
  if (!workload.is_moe()) return total.params();
  return total.dense_params + total.expert_params * (*workload.moe.top_k / *workload.moe.experts);
}

Data<> kv_cache_bytes(const Workload& workload, double tokens, double batch, Precision precision) {
  return counted(workload, Phase::prefill, tokens, batch, precision, precision).state;
}

}  // namespace mlsysim
