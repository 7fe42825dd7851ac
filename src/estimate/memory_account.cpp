#include <mlsysim/estimate/memory_account.hpp>

#include "estimate/engine_memory.hpp"

#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/specs/detail/stack_alone.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/software.hpp>
#include <mlsysim/timing/stored_formats.hpp>
#include <mlsysim/timing/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

/// The name of a kind of mixer and what it sees.
std::string mixer_words(const MixerView<>& m) {
  static constexpr std::string_view names[] = {"attention", "latent attention", "compressed attention",
                                               "linear attention", "state space"};
  std::string out(names[m.rule.index()]);
  if (const auto* g = std::get_if<GroupedView<>>(&m.rule); g != nullptr && g->cross)
    out = "attention over the encoder";
  if (m.reach.windowed) out += fmt::format(", window {:g}", m.reach.window);
  if (m.reach.chunked) out += fmt::format(", chunk {:g}", m.reach.chunk);
  if (m.reach.compressed) out += fmt::format(", one entry for {:g} tokens", m.reach.block);
  if (m.reach.selected) out += m.reach.index_shared ? ", choice of an earlier layer" : ", selected";
  return out;
}

/// Adds up what belongs together.
class Items {
 public:
  MemoryItem& at(MemoryPart part, const std::string& what) {
    for (auto& item : items_)
      if (item.part == part && item.what == what) return item;
    return items_.emplace_back(MemoryItem{.part = part, .what = what});
  }
  [[nodiscard]] std::vector<MemoryItem> take() {
    std::erase_if(items_, [](const MemoryItem& i) { return i.bytes == Data<>(); });
    std::stable_sort(items_.begin(), items_.end(),
                     [](const MemoryItem& a, const MemoryItem& b) { return a.part < b.part; });
    return std::move(items_);
  }

 private:
  std::vector<MemoryItem> items_;
};

/// One stack of the model on one device.
class StackAccount {
 public:
  StackAccount(const MemoryQuestion& q, const StoredFormats& formats, const Stack& stack, std::size_t place)
      : q_(q), formats_(formats), stack_(stack), view_(stack_view<double>(stack, place)) {
    structure_.architecture = stack.role == StackRole::encoder || stack.role == StackRole::tower
                                  ? Architecture::encoder
                                  : Architecture::decoder;
    structure_.causal = structure_.architecture == Architecture::decoder;
    plan_.tp = q.tensor_parallel;
    plan_.ep = q.expert_parallel;
    plan_.activation_bytes = std::max(bytes_per_element(formats.base()), 2.0) * unit::B;
    plan_.kv_bytes = (q.kv_precision ? bytes_per_element(*q.kv_precision) : formats.cache()) * unit::B;
    plan_.weight_bytes = formats.vector() * unit::B / unit::param;
    // An encoder of sound takes the same number of frames of every request.
    if (const Stack* encoder = q.model->encoder(); encoder != nullptr && encoder->input.max_tokens)
      plan_.encoded = *encoder->input.max_tokens;
    for (const auto& f : view_->feed_forwards)
      structure_.moe = structure_.moe || std::holds_alternative<ExpertsView<>>(f.rule);
  }

  /// Operators of a decode step of the rank's requests; towers and encoders hold no cache.
  void add_to(Items& items) {
    const double batch = caches() ? q_.requests : 1, context = caches() ? q_.context : 1;
    step(Phase::decode, batch, context, 1);
    const bool mamba = stack_.mixer.state_space && stack_.mixer.state_space->rule == StateSpaceRule::mamba1;
    const MixerView<>* mixer = nullptr;
    std::size_t next = 0;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      Op<> op = ops_[i];
      if (mamba) set_mamba(op);
      if (begins_mixer(op.name) && next < view_->mixers.size()) mixer = &view_->mixers[next++];
      if (op.group != OpGroup::attention) {
        if (op.group == OpGroup::feed_forward || op.group == OpGroup::experts) mixer = nullptr;
      }
      if (op.params > Params<>()) add_weights(items, op, op.group == OpGroup::attention ? mixer : nullptr);
      if (op.state > Data<>() && mixer != nullptr && caches()) add_state(items, op, *mixer);
    }
  }
  /// The demand of one pass, as the memory model takes it.
  [[nodiscard]] MemoryDemand<> demand(Phase phase, double batch, double context, double tokens) {
    const auto made = step(phase, batch, context, tokens);
    return demand_of(structure_, plan_, made.totals.stage(1.0, 1.0), std::max(view_->layers, 1.0));
  }
  [[nodiscard]] bool caches() const {
    return stack_.role == StackRole::decoder || stack_.role == StackRole::draft;
  }
  /// Share of the caches on the device: where the host computes, those of its layers lie with it.
  [[nodiscard]] double cached_here() const { return host_computes() ? 1 - q_.offload_weights : 1; }
  [[nodiscard]] bool latent() const {
    return std::any_of(view_->mixers.begin(), view_->mixers.end(),
                       [](const auto& m) { return m.rule.index() == 1; });
  }
  [[nodiscard]] double vocab() const { return view_->vocab; }
  Params<> weights;  ///< all that were added
  Params<> held;     ///< of them on the device
  Data<> weight_bytes;
  double experts_share = 0;
  Data<> state;  ///< of blocks that have no operator list, see `set_mamba`

 private:
  /// Weights and states of Mamba blocks of the first kind, which the operators of a decode step do not have.
  /// State: h state_size + h (conv_width - 1) values of `expand` x hidden channels. Worked number:
  /// Mamba-2.8B has 2,768,345,600 weights and a state of 24.9 MB in FP32 for each sequence.
  /// @cite gu-2023-mamba, section 3.4
  void set_mamba(Op<>& op) {
    const StateSpace& m = *stack_.mixer.state_space;
    const double h = *stack_.hidden, inner = m.expand.value_or(2) * h / q_.tensor_parallel,
                 cells = m.state_size.value_or(16), rank = m.dt_rank.value_or(std::ceil(h / 16)),
                 width = m.conv_width.value_or(4);
    const Data<> value =
        bytes_per_element(m.state_precision.value_or(Precision::fp32)) * q_.requests * inner * unit::B;
    const double bias = m.projection_bias ? 1 : 0;
    if (op.name == "state_space_input") {
      op.n = 2 * inner;
      op.k = h;
      op.params = 2 * inner * (h + bias) * unit::param;
    } else if (op.name == "state_space_output") {
      op.n = h;
      op.k = inner;
      op.params = h * (inner + bias) * unit::param;
    } else if (op.name == "short_convolution") {
      op.params =
          inner * (width + (m.conv_bias ? 1 : 0) + rank + 2 * cells + rank + 1 + cells + 1) * unit::param;
      op.state = value * (width - 1);
      state += op.state * op.count;
    } else if (op.name == "recurrent_state") {
      op.state = value * cells;
      state += op.state * op.count;
    }
  }
  Lowered<> step(Phase phase, double batch, double context, double tokens) {
    structure_.phase = phase;
    plan_.batch = batch * q_.expert_parallel;
    plan_.context = std::max(context, tokens);
    plan_.new_tokens = tokens;
    return lower(structure_, *view_, {}, plan_, ops_);
  }
  [[nodiscard]] std::string prefix() const {
    return stack_.role == StackRole::decoder ? "" : std::string(name_of(stack_.role)) + ": ";
  }

  void add_weights(Items& items, const Op<>& op, const MixerView<>* mixer) {
    const double all = op.params / unit::param * op.count;
    if (all == 0) return;
    const double matrix = matrix_weights(op);
    const TensorGroup group = tensor_group_of(op, mixer, stack_.role);
    const auto what = prefix() + (op.group == OpGroup::attention && mixer != nullptr ? mixer_words(*mixer)
                                  : group == TensorGroup::all ? std::string("norms and joins")
                                                              : std::string(words(group)));
    auto& item = items.at(MemoryPart::weights, what);
    const Data<> bytes = (matrix * formats_.matrix(group) + (all - matrix) * formats_.vector()) * unit::B;
    const double here = here_of(op);
    item.weights += all * unit::param;
    item.bytes += bytes * here;
    item.layers = std::max(item.layers, mixer != nullptr                      ? mixer->layers
                                        : op.place == StageScope::every_block ? op.count
                                                                              : 0.0);
    weights += all * unit::param;
    held += all * here * unit::param;
    weight_bytes += bytes * here;
    if (here < 1) items.at(MemoryPart::host, what).bytes += bytes * (1 - here);
  }
  [[nodiscard]] bool host_computes() const {
    return q_.engine != nullptr && stated(*q_.engine, &ServingEngine::host_rows) != nullptr;
  }
  /// Share of an operator's weights on the device, as in `memory_of` and `without_embedding`.
  [[nodiscard]] double here_of(const Op<>& op) const {
    if (op.place != StageScope::every_block && host_computes())
      return op.name == "embedding" ? 1 - view_->own_head : 1;
    const bool routed = op.parts & part::routed;
    return (1 - q_.offload_weights) * (routed ? 1 - q_.offload_experts : 1);
  }
  static std::string_view words(TensorGroup group) {
    switch (group) {
      case TensorGroup::dense:
        return "dense feed-forward";
      case TensorGroup::shared_experts:
        return "shared experts";
      case TensorGroup::experts:
        return "routed experts";
      default:
        return name_of(group);
    }
  }

  void add_state(Items& items, const Op<>& op, const MixerView<>& mixer) {
    const bool index = op.name == "index_scores", convolution = op.name == "short_convolution",
               recurrent = op.name == "recurrent_state";
    const auto part = index                      ? MemoryPart::index_keys
                      : convolution || recurrent ? MemoryPart::state
                                                 : MemoryPart::cache;
    const std::string what = prefix() +
                             (convolution ? "convolution of "
                              : recurrent ? "state of "
                              : index     ? "index keys of "
                                          : "keys and values of ") +
                             mixer_words(mixer);
    auto& item = items.at(part, what);
    item.layers = mixer.layers;
    item.bytes += op.state * op.count * cached_here();
    if (part == MemoryPart::state) return;
    if (op.name == "encoder_attention" && plan_.encoded > 0) return;  // no answer makes it grow
    const auto& r = mixer.reach;
    if (!r.compressed && r.windowed) item.cap = r.window;
    if (r.chunked) item.cap = r.chunk;
    // Bytes that one more token of a sequence adds while the cache still grows.
    double kept = std::min(q_.context, item.cap > 0 ? item.cap : q_.context);
    Data<> grows = op.state * op.count * cached_here();
    if (part == MemoryPart::cache && r.compressed) {
      // A window beside a compressed past is full at once, so only the blocks grow.
      const double window = std::min(q_.context, r.window), blocks = q_.context / r.block;
      grows *= blocks / (window + blocks);
      kept = q_.context;
    }
    item.per_token = grows / (q_.requests * kept);
  }

  const MemoryQuestion& q_;
  const StoredFormats& formats_;
  const Stack& stack_;
  std::shared_ptr<const StackView<>> view_;
  Structure structure_;
  Plan<> plan_;
  OpList<> ops_;
};

void check(const MemoryQuestion& q) {
  for (const auto& [name, x] : {std::pair("context", q.context),
                                {"requests", q.requests},
                                {"tensor_parallel", q.tensor_parallel},
                                {"expert_parallel", q.expert_parallel},
                                {"pass_tokens", q.shares.pass_tokens.value_or(1)},
                                {"block_tokens", q.shares.block_tokens.value_or(1)}})
    if (!(x >= 1) || x > 1e12)
      throw DomainError({.id = "mlsysim.answer.010",
                         .message = fmt::format("'{}' is out of range", name),
                         .key = name,
                         .found = fmt::format("{:g}", x),
                         .expected = "1 to 1e12",
                         .hint = "give a count of at least one"});
  if (const auto f = q.shares.fraction; f && !(*f > 0 && *f <= 1))
    throw DomainError({.id = "mlsysim.answer.012",
                       .message = "the share of the memory is out of range",
                       .key = "fraction",
                       .found = fmt::format("{:g}", *f),
                       .expected = "more than 0, 1 at most",
                       .hint = "give the share that the engine may take"});
  if (q.engine != nullptr && !q.engine->memory)
    throw InputError(
        {.id = "mlsysim.answer.013",
         .message = fmt::format("how '{}' divides the memory of a device is not known", q.engine->name),
         .key = q.engine->name,
         .found = "no 'memory' in its entry",
         .expected = "an engine with a memory rule",
         .hint = "name another engine, or state its rule in an entry of your own",
         .reason = BreakReason::missing_field});
  if (q.model->stacks.empty() && !q.model->parameters)
    throw InputError({.id = "mlsysim.answer.011",
                      .message = fmt::format("the layers of '{}' are not known", q.model->name),
                      .key = q.model->name,
                      .found = "neither stacks nor parameters",
                      .expected = "a model with layers",
                      .hint = "give the config.json of the model",
                      .reason = BreakReason::missing_field});
}

/// A format by name, one for all, or what the files of the model say. One for all is theirs too where the
/// device would multiply them in it, and it leaves the cache as they have it.
std::vector<StoredFormat> stored_of(const MemoryQuestion& q) {
  const Workload& w = *q.model;
  if (q.weight_format) return formats_of(w, *q.weight_format);
  if (!q.precision) return w.formats;
  if (q.device != nullptr && means_files(w, {.precision = q.precision}, *q.device, nullptr)) return w.formats;
  std::vector<StoredFormat> out = formats_of(*q.precision);
  if (const StoredFormat* cache = StoredFormats(w.formats).of(TensorGroup::cache)) out.push_back(*cache);
  return out;
}

/// Adds the weights of a model that states their number and no layers: one of iterated denoising.
Data<> add_total(const MemoryQuestion& q, const StoredFormats& formats, Items& items, MemoryAccount& out) {
  out.not_modelled.push_back("activations: no layers are listed");
  if (q.tensor_parallel * q.expert_parallel > 1)
    out.not_modelled.push_back("a division of the weights: no layers are listed");
  auto& item = items.at(MemoryPart::weights, "all weights");
  item.weights = out.parameters = *q.model->parameters;
  return item.bytes = item.weights / unit::param * formats.matrix(TensorGroup::dense) * unit::B;
}

/// Lists memory that no item counts, whatever the model.
void note_gaps(const MemoryQuestion& q, std::vector<std::string>& gaps) {
  if (q.engine == nullptr) {
    gaps.push_back("captured graphs and an engine's own reserve (name one with --engine)");
  } else {
    for (const auto& part : q.engine->memory->not_modelled)
      gaps.push_back(fmt::format("{}: {}", q.engine->name, part));
  }
  gaps.push_back("workspaces of kernels and buffers of collectives beyond the device's reserve");
  if (q.tensor_parallel > 1) gaps.push_back("padding of heads and experts that the ranks do not divide");
}

}  // namespace

Data<> MemoryAccount::sum(MemoryPart part) const {
  Data<> out;
  for (const auto& item : items)
    if (item.part == part) out += item.bytes;
  return out;
}

std::vector<double> larger_shares(std::optional<double> fraction) {
  std::vector<double> out;
  for (double percent = std::floor(100 * fraction.value_or(0.89)) + 1; percent <= 98; ++percent)
    out.push_back(percent / 100);
  return out;
}

Data<> tower_weights(MemoryQuestion q) {
  q.tensor_parallel = q.expert_parallel = 1;
  q.offload_weights = q.offload_experts = 0;
  const std::vector<StoredFormat> stored = stored_of(q);
  const StoredFormats formats(stored);
  Data<> out;
  Items items;
  for (std::size_t i = 0; i < q.model->stacks.size(); ++i) {
    const Stack& stack = q.model->stacks[i];
    if (stack.role != StackRole::tower || !stack.hidden || stack.layers.empty()) continue;
    StackAccount account(q, formats, stack, i);
    account.add_to(items);
    out += account.weight_bytes;
  }
  return out;
}

MemoryAccount memory_account(const MemoryQuestion& q, const Conventions& conventions) {
  check(q);
  const Workload& w = *q.model;
  const std::vector<StoredFormat> stored = stored_of(q);
  const StoredFormats formats(stored);
  MemoryAccount out;
  Items items;
  Device<> device;
  Notes notes;
  if (q.device != nullptr)
    device = device_view(*q.device, q.device->compute.default_precision, conventions, notes);
  const EngineMemoryRule* rule = q.engine != nullptr ? &*q.engine->memory : nullptr;
  const double pass_tokens = q.shares.pass_tokens.value_or(
      rule != nullptr ? detail::batched_tokens(*rule, device.memory.capacity) : 1);
  MemoryDemand<> demand;
  Data<> prompt;
  Params<> all;
  Data<> weight_bytes;
  double vocab = 0;
  bool latent = false;
  for (std::size_t i = 0; i < w.stacks.size(); ++i) {
    const Stack& stack = w.stacks[i];
    for (const auto& part : detail::stack_without_law(stack))
      if (part != "mixer.cross" && !part.starts_with("input ("))
        out.not_modelled.push_back(fmt::format("stacks[{}].{}", i, part));
    if (!stack.hidden || stack.layers.empty()) continue;
    // Layers that draft are loaded where an engine speculates with them, and then they are a draft of its
    // own.
    if (stack.role == StackRole::draft && &stack != w.main()) {
      out.not_modelled.push_back("layers for multi-token prediction (MTP): engines load them to speculate");
      continue;
    }
    StackAccount account(q, formats, stack, i);
    account.add_to(items);
    const bool main = stack.role == StackRole::decoder || (stack.role == StackRole::encoder);
    if (main) out.parameters += account.weights;
    all += account.held;
    weight_bytes += account.weight_bytes;
    if (!account.caches()) continue;
    const auto d = account.demand(Phase::decode, q.requests, q.context, 1);
    demand.kv_cache += account.state > Data<>() ? account.state : d.kv_cache * account.cached_here();
    if (stack.role == StackRole::draft) continue;
    demand.activations = max(demand.activations, d.activations);
    prompt = account.demand(Phase::prefill, 1, pass_tokens, pass_tokens).activations;
    vocab = account.vocab();
    latent = account.latent();
  }
  if (w.stacks.empty()) weight_bytes = add_total(q, formats, items, out), all = out.parameters;
  demand.dense_params = all;
  // Sampling works on the logits of each request, in fp32.
  const Data<> logits = q.requests * vocab / q.tensor_parallel * (4.0 * unit::B);
  demand.buffers = logits;
  Structure structure;
  Plan<> plan;
  plan.weight_bytes = all > Params<>() ? weight_bytes / all : DataPerParam<>();
  out.memory = memory_of(structure, plan, device, demand);
  items.at(MemoryPart::activations, "working set of a step").bytes = demand.activations;
  items.at(MemoryPart::logits, "logits in fp32").bytes = logits;
  items.at(MemoryPart::reserve, "framework, context and workspaces").bytes = out.memory.reserve;
  items.at(MemoryPart::reserve, "fragmentation").bytes = out.memory.fragmentation;
  out.items = items.take();
  if (rule != nullptr && q.device != nullptr) {
    const Data<> state = out.sum(MemoryPart::state);
    out.engine = detail::engine_memory(*rule,
                                       {.total = device.memory.capacity,
                                        .weights = weight_bytes,
                                        .state = state,
                                        .reserve = device.conventions.memory_reserve,
                                        .cache = out.sum(MemoryPart::cache) + out.sum(MemoryPart::index_keys),
                                        .requests = q.requests,
                                        .context = q.context,
                                        .ranks = q.tensor_parallel,
                                        .tensor_parallel = q.tensor_parallel,
                                        .latent = latent,
                                        .shares = q.shares},
                                       prompt + logits);
  }
  note_gaps(q, out.not_modelled);
  return out;
}

}  // namespace mlsysim
