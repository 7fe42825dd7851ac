#include <mlsysim/specs/provenance.hpp>
#include <mlsysim/specs/usual_request.hpp>
#include <mlsysim/timing/step.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

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
                    .hint = "use fidelity 'textbook', which needs totals only",
                    .reason = BreakReason::missing_field});
}

/// Refuses a model without a number that a rule needs, and names its path in a file.
void need(const std::optional<double>& value, const Workload& workload, std::string_view part,
          std::string_view name) {
  if (!value) incomplete(workload, fmt::format("{}.{}", part, name));
}

void check_complete(const Workload& w, const LayerPlace& p) {
  if (const auto& m = *p.mixer; m.grouped) {
    need(m.grouped->heads, w, "mixer.grouped", "heads");
  } else if (m.latent) {
    need(m.latent->heads, w, "mixer.latent", "heads");
    need(m.latent->kv_lora_rank, w, "mixer.latent", "kv_lora_rank");
    need(m.latent->nope_head_dim, w, "mixer.latent", "nope_head_dim");
    need(m.latent->rope_head_dim, w, "mixer.latent", "rope_head_dim");
    need(m.latent->value_head_dim, w, "mixer.latent", "value_head_dim");
  }
  if (const auto& linear = p.mixer->linear) {
    need(linear->key_heads, w, "mixer.linear", "key_heads");
    need(linear->value_heads, w, "mixer.linear", "value_heads");
    need(linear->key_head_dim, w, "mixer.linear", "key_head_dim");
  }
  if (const auto& ssm = p.mixer->state_space) {
    need(ssm->state_size, w, "mixer.state_space", "state_size");
    need(ssm->heads, w, "mixer.state_space", "heads");
    need(ssm->head_dim, w, "mixer.state_space", "head_dim");
  }
  if (const auto& select = p.reach->select) {
    need(select->heads, w, "reach.select", "heads");
    need(select->head_dim, w, "reach.select", "head_dim");
    need(select->top_k, w, "reach.select", "top_k");
  }
  if (const auto& dense = p.feed_forward->dense) need(dense->width, w, "feed_forward.dense", "width");
  if (const auto& experts = p.feed_forward->experts) {
    need(experts->count, w, "feed_forward.experts", "count");
    need(experts->top_k, w, "feed_forward.experts", "top_k");
    need(experts->width, w, "feed_forward.experts", "width");
  }
}

/// The main stack, after a look at whether the lowering can do it.
const Stack& complete_stack(const Workload& w) {
  const Stack* stack = w.main();
  if (stack == nullptr || stack->layers.empty()) incomplete(w, "stacks");
  if (!w.has_shape())
    if (const auto parts = parts_without_law(w); !parts.empty())
      incomplete(w, fmt::format("rule for {}", fmt::join(parts, ", ")));
  need(stack->hidden, w, "stacks[0]", "hidden");
  if (w.architecture != Architecture::encoder) need(stack->input.vocab, w, "input", "vocab");
  bool works = false, attends = w.heads().has_value() || head_per_token(w);
  for_each_place(*stack, [&](const LayerPlace& p) {
    check_complete(w, p);
    works = works || p.feed_forward->dense || p.feed_forward->experts || p.mixer->state_space;
    attends = attends || p.mixer->state_space;
  });
  if (!attends) incomplete(w, "heads of attention");
  if (!works) incomplete(w, "feed_forward");
  if (const Stack* encoder = w.encoder())
    for_each_place(*encoder, [&](const LayerPlace& p) { check_complete(w, p); });
  return *stack;
}

/// Categories that the layers of a stack fix.
void set_structure(Structure& s, const Stack& stack) {
  s.biased = stack.biases || stack.output.bias;
  for_each_place(stack, [&](const LayerPlace& p) {
    s.moe = s.moe || p.feed_forward->experts;
    const auto& g = p.mixer->grouped;
    s.biased = s.biased || (g && (g->qkv_bias || g->output_bias));
  });
}

}  // namespace

Precision precision_or_default(std::optional<Precision> precision, const HardwareNode& hardware,
                               Notes& notes) {
  if (precision) return *precision;
  if (notes.wanted())
    notes.assume("precision", hardware.compute.default_precision, "default precision of " + hardware.name);
  return hardware.compute.default_precision;
}

/// Tokens that a sequence takes at most: an encoder has a limit of its own.
static std::optional<double> most_positions(const Workload& w) {
  const Stack* encoder = w.encoder();
  return encoder != nullptr && encoder->input.max_tokens ? encoder->input.max_tokens : w.max_positions;
}

double seq_len_or_default(std::optional<double> seq_len, const Workload& w, double output_tokens,
                          Notes& notes) {
  if (seq_len) return *seq_len;
  constexpr double usual = UsualRequest::prompt;
  const auto most = most_positions(w);
  const double room = most ? std::max(1.0, *most - (w.encoder() != nullptr ? 0 : output_tokens)) : usual;
  const double tokens = std::min(usual, room);
  if (!is_listed(w.architecture))
    notes.assume("seq_len", tokens,
                 tokens < usual ? TextRef("the longest that the model takes (max_positions)")
                                : TextRef("2048 tokens, convention of MLSys-im"));
  return tokens;
}

static void warn_of_parts(const Workload& w, Notes& notes) {
  if (!notes.wanted() || w.stacks.size() < 2) return;
  for (const auto& said : stacks_not_counted(w)) notes.warn(said);
}

static void warn_beyond(const Workload& w, std::optional<double> most, double tokens, std::string_view of,
                        Notes& notes) {
  if (!most || tokens <= *most) return;
  notes.warn(
      [&] {
        return fmt::format("'{}' takes at most {:g} tokens{}: {:g} are priced as if it took them", w.name,
                           *most, of, tokens);
      },
      BreakReason::out_of_domain);
}

void warn_of_positions(const Workload& w, double prompt, double answer, Notes& notes) {
  warn_of_parts(w, notes);
  if (w.encoder() == nullptr)
    return warn_beyond(w, w.max_positions, prompt + answer, " (max_positions)", notes);
  warn_beyond(w, most_positions(w), prompt, " in its encoder", notes);
  warn_beyond(w, w.max_positions, answer, " in its decoder (max_positions)", notes);
}

Fidelity fidelity_or_default(std::optional<Fidelity> fidelity, const Workload& workload, Notes& notes) {
  const bool lowered = workload.has_shape();
  if (fidelity) {
    if (*fidelity == Fidelity::operator_level && !lowered) incomplete(workload, "layers that can be lowered");
    return *fidelity;
  }
  const Fidelity chosen = lowered ? Fidelity::operator_level : Fidelity::textbook;
  if (const auto parts = lowered ? std::vector<std::string>() : parts_without_law(workload); !parts.empty())
    notes.assume("fidelity", chosen, fmt::format("no rule is known for {}", fmt::join(parts, ", ")));
  else
    notes.assume("fidelity", chosen,
                 lowered ? TextRef("operators where the shape is known") : TextRef("only totals are known"));
  return chosen;
}

MemoryLevel memory_level(const HardwareNode& hardware, Data<> weights) {
  const auto& m = hardware.memory;
  // The capacity that programs can use takes precedence, where it is stated.
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
                    .hint = "give the device a memory bandwidth",
                    .reason = BreakReason::missing_field});
}

ModelView<> model_view(const Workload& w, Phase phase) {
  ModelView<> v;
  auto& s = v.structure;
  s.phase = phase;
  // A decoder that reads an encoder is one with a list in front of its own.
  s.architecture = w.encoder() != nullptr ? Architecture::decoder : w.architecture;
  s.causal = s.architecture == Architecture::decoder;
  if (is_listed(w.architecture)) {
    if (!w.has_shape())
      incomplete(
          w, w.architecture == Architecture::cnn ? "layer records (convolution)" : "operators (operators)");
    v.layers = w;
    return v;
  }
  if (s.architecture != Architecture::decoder && s.architecture != Architecture::encoder)
    incomplete(w, fmt::format("operator list for the architecture '{}'", name_of(w.architecture)));
  const Stack& stack = complete_stack(w);
  set_structure(s, stack);
  v.stack = stack_view<double>(stack, static_cast<std::size_t>(&stack - w.stacks.data()), w.encoder());
  return v;
}

Storage inference_storage(Precision precision, std::optional<Precision> kv_precision) {
  const double b = bytes_per_element(precision);
  const double kv = kv_precision ? bytes_per_element(*kv_precision) : (b < 1 ? 2.0 : b);
  return {b, std::max(b, 2.0), kv, 0, 0, 0};
}

std::string_view kv_format_words(Precision precision) {
  return bytes_per_element(precision) < 1 ? "16 bits" : name_of(precision);
}

Storage training_storage(Precision precision, OptimizerKind optimizer) {
  // Formats below 16 bits are formats of the arithmetic; weights and gradients are then kept at 16 bits.
  const double b = std::max(bytes_per_element(precision), 2.0);
  const double moments = optimizer == OptimizerKind::adam || optimizer == OptimizerKind::adamw ? 8.0 : 0.0;
  const double master = optimizer != OptimizerKind::none && b < 4 ? 4.0 : 0.0;
  if (optimizer == OptimizerKind::muon) return {b, b, b, b, 8.0 + master, 4.0 + master};
  return {b, b, b, b, moments + master, moments + master};
}

void set_storage(Plan<>& plan, const Storage& storage) {
  plan.weight_bytes = storage.weight_bytes * unit::B / unit::param;
  plan.gradient_bytes = storage.gradient_bytes * unit::B / unit::param;
  plan.state_bytes = storage.state_bytes * unit::B / unit::param;
  plan.matrix_state_bytes = storage.matrix_state_bytes * unit::B / unit::param;
  plan.activation_bytes = storage.activation_bytes * unit::B;
  plan.dispatch_bytes = plan.activation_bytes;
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
  const auto range = lower(view.structure, view.shape(), view.layers, plan, ops);
  return totals_of(ops, range.forward_end);
}

/// A phase whose list has all weights: when serving, those of an encoder lie beside it.
Phase of_weights(const Workload& workload) {
  return workload.encoder() != nullptr ? Phase::inference : Phase::prefill;
}
}  // namespace

Params<> parameter_count(const Workload& workload) {
  if (workload.has_shape())
    return counted(workload, of_weights(workload), 1, 1, Precision::fp16, std::nullopt).params();
  if (workload.parameters) return *workload.parameters;
  throw InputError({.id = "mlsysim.catalogue.003",
                    .message = fmt::format("the number of parameters of '{}' is not known", workload.name),
                    .key = workload.name,
                    .expected = "a shape, published parameters or model_size",
                    .hint = "add 'parameters' to the entry",
                    .reason = BreakReason::missing_field});
}

Params<> active_parameter_count(const Workload& workload) {
  if (!workload.has_shape())
    return workload.active_parameters ? *workload.active_parameters : parameter_count(workload);
  const auto total = counted(workload, of_weights(workload), 1, 1, Precision::fp16, std::nullopt);
  if (!workload.is_moe()) return total.params();
  return total.dense_params + total.expert_params * (*workload.experts()->top_k / *workload.experts()->count);
}

Data<> kv_cache_bytes(const Workload& workload, double tokens, double batch, Precision precision) {
  return counted(workload, Phase::prefill, tokens, batch, precision, precision).state;
}

}  // namespace mlsysim
