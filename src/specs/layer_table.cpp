#include <mlsysim/specs/layer_table.hpp>
#include <mlsysim/specs/workload.hpp>

#include <fmt/format.h>

namespace mlsysim {
namespace {

/// Calls `say(part)` for what no lowering rule knows of a layer. `part` is a path below the layer or its
/// stack.
/// @param encoded whether there is an encoder to attend to
template <class F> void mixer_without_law(const Mixer& m, const Reach& reach, bool encoded, F&& say) {
  if (m.state_space && m.state_space->rule != StateSpaceRule::mamba2) say("mixer.state_space.rule");
  if (m.recurrent) say("mixer.recurrent");
  if (m.cross && !encoded) say("mixer.cross");
  if (int{m.grouped.has_value()} + int{m.latent.has_value()} + int{m.linear.has_value()} +
          int{m.state_space.has_value()} >
      1)
    say("mixer (several side by side)");
  const bool compressed = m.grouped && is_compressed(*m.grouped);
  if (m.grouped) {
    const auto& g = *m.grouped;
    if (!compressed && (g.q_lora_rank || g.output_rank || g.output_groups))
      say("mixer.grouped (q_lora_rank, output_rank and output_groups have a rule with shared_kv only)");
    if (g.borrows_kv) say("mixer.grouped.borrows_kv");
    if (reach.compress && !compressed) say("reach.compress");
    if (compressed && !reach.window) say("reach (compressed attention without a window)");
    if (compressed && reach.select && !reach.compress) say("reach.select");
    if (reach.chunk && (compressed || reach.window)) say("reach.chunk");
  }
  if (m.latent && (reach.window || reach.chunk || reach.compress)) say("reach (of latent attention)");
  if (m.state_space && m.state_space->rule != StateSpaceRule::mamba2) say("mixer.state_space.rule");
  if (m.linear && m.linear->rule != LinearRule::gated_delta && m.linear->rule != LinearRule::kda)
    say("mixer.linear.rule");
}

template <class F>
void layer_without_law(const Stack& stack, const LayerPlace& place, bool encoded, F&& say) {
  mixer_without_law(*place.mixer, *place.reach, encoded, say);
  const Residual& r = *place.residual;
  if (r.norm_bias != stack.residual.norm_bias) say("residual.norm_bias (of some layers)");
  if (r.parallel != stack.residual.parallel) say("residual.parallel (of some layers)");
  if (r.parallel && !place.feed_forward->dense) say("residual.parallel (beside experts)");
  if (r.streams != stack.residual.streams) say("residual.streams (of some layers)");
  if (r.memory_every) say("residual.memory_every");
}

template <class F> void stack_without_law(const Stack& stack, bool encoded, F&& say) {
  for_each_place(stack, [&](const LayerPlace& place) { layer_without_law(stack, place, encoded, say); });
  const auto& in = stack.input;
  if (in.merge || in.temporal_patch_size) say("input (merge, temporal_patch_size)");
  if (stack.role == StackRole::decoder && !stack.output.logits) say("output.logits");
}

/// The first layer that has a mixer with heads.
const Mixer* first_attention(const Stack* stack) {
  const Mixer* found = nullptr;
  if (stack != nullptr)
    for_each_place(*stack, [&](const LayerPlace& p) {
      if (found == nullptr && (p.mixer->grouped || p.mixer->latent)) found = p.mixer;
    });
  // How many layers there are may not be known.
  if (stack != nullptr && stack->layers.empty() && (stack->mixer.grouped || stack->mixer.latent))
    found = &stack->mixer;
  return found;
}

double times(const LayerPlace& p) {
  return p.run->times.value_or(1) * (p.layer == nullptr ? 1.0 : p.layer->times.value_or(1));
}

}  // namespace

double Stack::depth() const {
  double sum = 0;
  for_each_place(*this, [&](const LayerPlace& p) { sum += times(p); });
  return sum;
}

const Stack* Workload::main() const {
  for (const auto role : {StackRole::decoder, StackRole::encoder, StackRole::draft})
    for (const auto& s : stacks)
      if (s.role == role) return &s;
  return nullptr;
}

const Stack* Workload::encoder() const {
  const Stack* reader = main();
  if (architecture != Architecture::encoder_decoder || reader == nullptr ||
      reader->role != StackRole::decoder)
    return nullptr;
  for (const auto& s : stacks)
    if (s.role == StackRole::encoder) return &s;
  return nullptr;
}

bool Workload::has_shape() const {
  // Exactly the kinds that the lowering has rules for.
  if (architecture == Architecture::cnn) return !convolution.empty();
  if (architecture == Architecture::program) return !operators.empty();
  const Stack *stack = main(), *other = encoder();
  if (architecture != Architecture::decoder && architecture != Architecture::encoder && other == nullptr)
    return false;
  if (stack == nullptr || !stack->hidden || stack->layers.empty()) return false;
  if (other != nullptr && (!other->hidden || other->layers.empty())) return false;
  bool known = true, works = false, attends = heads().has_value() || head_per_token(*this);
  stack_without_law(*stack, other != nullptr, [&](std::string_view) { known = false; });
  if (other != nullptr) stack_without_law(*other, false, [&](std::string_view) { known = false; });
  for_each_place(*stack, [&](const LayerPlace& p) {
    const auto& f = *p.feed_forward;
    works = works || (f.dense && f.dense->width) || (f.experts && f.experts->width) || p.mixer->state_space;
    attends = attends || p.mixer->state_space;
  });
  return known && works && attends;
}

const Experts* Workload::experts() const {
  const Experts* found = nullptr;
  const auto look = [&](const FeedForward& f) {
    if (found == nullptr && f.experts && f.experts->count) found = &*f.experts;
  };
  const Stack* stack = main();
  if (stack == nullptr) return nullptr;
  for_each_place(*stack, [&](const LayerPlace& p) { look(*p.feed_forward); });
  if (stack->layers.empty()) look(stack->feed_forward);  // how many layers there are may not be known
  return found;
}

double Workload::expert_layers() const {
  double sum = 0;
  if (const Stack* stack = main())
    for_each_place(*stack, [&](const LayerPlace& p) {
      if (p.feed_forward->experts) sum += times(p);
    });
  return sum;
}

std::optional<double> Workload::layers() const {
  const Stack* stack = main();
  if (stack == nullptr || stack->layers.empty()) return std::nullopt;
  return stack->depth();
}
std::optional<double> Workload::hidden() const {
  const Stack* stack = main();
  return stack == nullptr ? std::nullopt : stack->hidden;
}
std::optional<double> Workload::heads() const {
  const Mixer* m = first_attention(main());
  if (m == nullptr) return std::nullopt;
  return m->grouped ? m->grouped->heads : m->latent->heads;
}
std::optional<double> Workload::kv_heads() const {
  const Mixer* m = first_attention(main());
  return m == nullptr || !m->grouped ? std::nullopt : m->grouped->kv_heads;
}
std::optional<double> Workload::head_dim() const {
  const Mixer* m = first_attention(main());
  if (m == nullptr) return std::nullopt;
  if (m->grouped) return m->grouped->head_dim;
  if (!m->latent->nope_head_dim) return std::nullopt;
  return *m->latent->nope_head_dim + m->latent->rope_head_dim.value_or(0);
}

bool head_per_token(const Workload& head) {
  const Stack* stack = head.main();
  if (stack == nullptr || stack->role != StackRole::draft) return false;
  bool mixes = false;
  for_each_place(*stack, [&](const LayerPlace& p) {
    const Mixer& m = *p.mixer;
    mixes = mixes || m.grouped || m.latent || m.linear || m.state_space || m.recurrent || m.cross;
  });
  return !mixes;
}

std::vector<std::string> parts_without_law(const Workload& workload) {
  std::vector<std::string> out;
  if (const Stack* stack = workload.main())
    stack_without_law(*stack, workload.encoder() != nullptr, [&](std::string_view part) {
      auto path = fmt::format("stacks[{}].{}", stack - workload.stacks.data(), part);
      for (const auto& known : out)
        if (known == path) return;
      out.push_back(std::move(path));
    });
  return out;
}

std::vector<std::string> stacks_not_counted(const Workload& workload) {
  std::vector<std::string> out;
  const Stack* main = workload.main();
  for (const auto& s : workload.stacks) {
    if (&s == main || &s == workload.encoder()) continue;
    const bool drafts = s.role == StackRole::draft;
    out.push_back(fmt::format(
        "the layers {} of '{}' are not simulated{}",
        drafts ? std::string("for multi-token prediction (MTP)") : fmt::format("of the {}", name_of(s.role)),
        workload.name,
        drafts                       ? ": engines load them to speculate (--draft-model mtp)"
        : s.role == StackRole::tower ? ": their weights lie in memory, frozen where the rest is trained"
                                     : ""));
  }
  return out;
}

Stack plain_decoder(const PlainDecoder& sizes) {
  Stack s;
  const auto stated = [](double x) { return x > 0 ? std::optional(x) : std::nullopt; };
  s.hidden = stated(sizes.hidden);
  if (sizes.layers > 0) s.layers = {{.times = sizes.layers, .pattern = {}}};
  s.mixer.grouped.emplace();
  s.mixer.grouped->heads = stated(sizes.heads);
  s.mixer.grouped->kv_heads = sizes.kv_heads;
  s.mixer.grouped->head_dim = sizes.head_dim;
  if (sizes.ffn) s.feed_forward.dense = DenseFeedForward{.width = sizes.ffn, .gated = sizes.gated};
  s.input.vocab = stated(sizes.vocab);
  s.output.tied = sizes.tied;
  s.biases = s.residual.norm_bias = sizes.biases;
  return s;
}

}  // namespace mlsysim
