#include <mlsysim/lowering/stack_view.hpp>
#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/scalars/recorded.hpp>
#include <mlsysim/specs/leaves.hpp>
#include <mlsysim/units/unit.hpp>

#include <algorithm>
#include <array>
#include <memory_resource>

namespace mlsysim {
namespace {

/// Reads the numbers of a stack as they are stated.
template <class T> struct AsStated {
  T operator()(const double& stated) const { return T{stated}; }
};

/// Reads numbers that have moved, or that are recorded.
template <class T> struct Moved {
  const StatedNumbers& numbers;
  std::span<const T> values;
  T operator()(const double& stated) const { return values[numbers.position(stated)]; }
};

/// Makes the views of the parts of a stack; a gap that no figure fills is 0.
template <class T, class Read> class StackParts {
 public:
  StackParts(const Stack& stack, const Read& read) : stack_(stack), read_(read) {}

  [[nodiscard]] T number(const std::optional<double>& stated, const T& otherwise = T{0.0}) const {
    return stated ? read_(*stated) : otherwise;
  }
  [[nodiscard]] T number(const double& stated) const { return read_(stated); }
  [[nodiscard]] static T flag(bool on) { return T{on ? 1.0 : 0.0}; }
  [[nodiscard]] T hidden() const { return number(stack_.hidden); }
  /// How often a layer occurs.
  [[nodiscard]] T times(const LayerPlace& p) const {
    const T runs = number(p.run->times, T{1.0});
    return p.layer == nullptr ? runs : runs * number(p.layer->times, T{1.0});
  }

  [[nodiscard]] GroupedView<T> grouped(const GroupedAttention& a) const {
    GroupedView<T> v;
    v.heads = number(a.heads);
    v.kv_heads = number(a.kv_heads, v.heads);
    v.qk_dim = a.head_dim ? number(a.head_dim) : hidden() / v.heads;
    v.v_dim = number(a.value_head_dim, v.qk_dim);
    v.qkv_bias = flag(a.qkv_bias && !stack_.biases);
    v.output_bias = flag(a.output_bias && !stack_.biases);
    v.qk_norm_head = flag(a.qk_norm == QkNorm::head);
    v.qk_norm_full = flag(a.qk_norm == QkNorm::full);
    v.normed = a.qk_norm != QkNorm::none;
    v.sinks = flag(a.sinks);
    v.output_gate = flag(a.output_gate);
    v.own_values = flag(!a.shared_kv);
    return v;
  }
  [[nodiscard]] GroupedView<T> cross(const GroupedAttention& a) const {
    GroupedView<T> v = grouped(a);
    v.cross = true;
    return v;
  }
  [[nodiscard]] StateSpaceView<T> state_space(const StateSpace& s) const {
    StateSpaceView<T> v;
    v.heads = number(s.heads);
    v.head_dim = number(s.head_dim);
    v.state = number(s.state_size);
    v.groups = number(s.groups, T{1.0});
    v.conv_width = number(s.conv_width);
    v.conv_bias = flag(s.conv_bias);
    v.bias = flag(s.projection_bias && !stack_.biases);
    v.state_bytes = Data<T>::from_base(T{bytes_per_element(s.state_precision.value_or(Precision::fp32))});
    return v;
  }
  [[nodiscard]] CompressedView<T> compressed(const GroupedAttention& a) const {
    CompressedView<T> v;
    v.heads = number(a.heads);
    v.width = a.head_dim ? number(a.head_dim) : hidden() / v.heads;
    v.q_rank = number(a.q_lora_rank);
    v.output_rank = number(a.output_rank);
    v.output_groups = number(a.output_groups);
    return v;
  }
  [[nodiscard]] LatentView<T> latent(const LatentAttention& a) const {
    LatentView<T> v;
    v.heads = number(a.heads);
    v.q_rank = number(a.q_lora_rank);
    v.kv_rank = number(a.kv_lora_rank);
    v.nope = number(a.nope_head_dim);
    v.rope = number(a.rope_head_dim);
    v.v_dim = number(a.value_head_dim);
    v.output_gate = flag(a.output_gate);
    return v;
  }
  [[nodiscard]] LinearView<T> linear(const LinearAttention& a) const {
    LinearView<T> v;
    v.key_heads = number(a.key_heads);
    v.value_heads = number(a.value_heads);
    v.key_dim = number(a.key_head_dim);
    v.value_dim = number(a.value_head_dim, v.key_dim);
    v.conv_width = number(a.conv_width);
    v.channel_decay = a.rule == LinearRule::kda;
    v.decay_rank = number(a.decay_rank, v.key_dim);
    v.gate_rank = number(a.gate_rank);
    v.state_bytes = Data<T>::from_base(T{bytes_per_element(a.state_precision.value_or(Precision::fp32))});
    return v;
  }
  [[nodiscard]] ReachView<T> reach(const Reach& r) const {
    ReachView<T> v;
    v.windowed = r.window.has_value();
    v.chunked = r.chunk.has_value();
    v.compressed = r.compress.has_value();
    v.overlapping = r.overlapping;
    v.selected = r.select.has_value();
    v.window = number(r.window);
    v.chunk = number(r.chunk);
    v.block = number(r.compress, T{1.0});
    if (!r.select) return v;
    v.index_heads = number(r.select->heads);
    v.index_dim = number(r.select->head_dim);
    v.top_k = number(r.select->top_k);
    v.index_block = number(r.select->block, T{1.0});
    v.index_pool = number(r.select->pool, T{1.0});
    v.index_key_bytes = number(r.select->key_bytes);
    v.index_shared = r.select->shared;
    return v;
  }
  [[nodiscard]] MixerView<T> mixer(const Mixer& m, const Reach& r) const {
    if (m.linear) return {linear(*m.linear), {}, T{0.0}};
    if (m.state_space) return {state_space(*m.state_space), {}, T{0.0}};
    if (m.latent) return {latent(*m.latent), reach(r), T{0.0}};
    if (is_compressed(*m.grouped)) return {compressed(*m.grouped), reach(r), T{0.0}};
    return {grouped(*m.grouped), reach(r), T{0.0}};
  }

  [[nodiscard]] DenseView<T> dense(const DenseFeedForward& d) const {
    return {number(d.width), T{d.gated ? 3.0 : 2.0}, flag(d.bias && !stack_.biases)};
  }
  [[nodiscard]] ExpertsView<T> experts(const Experts& e) const {
    ExpertsView<T> v;
    v.experts = number(e.count);
    v.top_k = number(e.top_k);
    v.width = number(e.width);
    v.matrices = T{e.gated ? 3.0 : 2.0};
    v.shared = number(e.shared);
    v.shared_width = number(e.shared_width, v.width);
    v.hidden = number(e.latent, hidden());
    v.bias = flag(e.bias);
    v.router_bias = flag(e.router_bias);
    v.shared_gate = flag(e.shared_gate);
    v.latent_norm = flag(e.latent_norm);
    v.groups = number(e.groups, T{1.0});
    v.limited = number(e.limited_groups, v.groups);
    return v;
  }

 private:
  const Stack& stack_;
  const Read& read_;
};

/// One kind of mixer: where it is stated first, what it is there, and the place of its layers.
struct MixerKind {
  LayerPlace first;
  MixerView<> view;
  std::pmr::vector<LayerPlace> places;

  [[nodiscard]] bool is_cross() const {
    const auto* grouped = std::get_if<GroupedView<>>(&view.rule);
    return grouped != nullptr && grouped->cross;
  }
  /// Attention over the whole context first, then over a part of it, then recurrences, then over an encoder.
  [[nodiscard]] std::pair<int, double> rank() const {
    if (std::holds_alternative<LinearView<>>(view.rule) ||
        std::holds_alternative<StateSpaceView<>>(view.rule))
      return {2, 0};
    if (is_cross()) return {3, 0};
    const bool part = !view.reach.compressed && !std::holds_alternative<CompressedView<>>(view.rule) &&
                      (view.reach.windowed || view.reach.chunked);
    return {part ? 1 : 0, view.reach.block};
  }
};
struct FeedForwardKind {
  LayerPlace first;
  FeedForwardView<> view;
  std::pmr::vector<LayerPlace> places;
};

/// Which layers of a stack are alike. What laws cannot tell apart is one kind, however it is stated. Every
/// evaluation asks this, so that a few kinds are found without an allocation.
class Kinds {
  std::array<std::byte, 4096> buffer_;
  std::pmr::monotonic_buffer_resource memory_{buffer_.data(), buffer_.size()};

 public:
  std::pmr::vector<MixerKind> mixers{&memory_};
  std::pmr::vector<FeedForwardKind> feed_forwards{&memory_};

  explicit Kinds(const Stack& stack) {
    const AsStated<double> read;
    const StackParts<double, AsStated<double>> parts(stack, read);
    for_each_place(stack, [&](const LayerPlace& p) {
      add_mixer(parts, p);
      if (p.feed_forward->dense) add_feed_forward(p, [&] { return parts.dense(*p.feed_forward->dense); });
      if (p.feed_forward->experts)
        add_feed_forward(p, [&] { return parts.experts(*p.feed_forward->experts); });
    });
    if (mixers.size() > 1)
      std::stable_sort(mixers.begin(), mixers.end(),
                       [](const MixerKind& a, const MixerKind& b) { return a.rank() < b.rank(); });
    if (feed_forwards.size() > 1)
      std::stable_sort(feed_forwards.begin(), feed_forwards.end(),
                       [](const FeedForwardKind& a, const FeedForwardKind& b) {
                         return a.view.rule.index() < b.view.rule.index();
                       });
  }

 private:
  template <class P> void add_mixer(const P& parts, const LayerPlace& p) {
    const Mixer& m = *p.mixer;
    if (m.grouped || m.latent || m.linear || m.state_space)
      add_mixer(p, false, [&] { return parts.mixer(m, *p.reach); });
    if (m.cross) add_mixer(p, true, [&] { return MixerView<>{parts.cross(*m.cross), {}, 0.0}; });
  }
  template <class View> void add_mixer(const LayerPlace& p, bool cross, const View& make) {
    for (auto& kind : mixers)
      if (kind.first.mixer == p.mixer && kind.first.reach == p.reach && kind.is_cross() == cross)
        return kind.places.push_back(p);
    const auto view = make();
    for (auto& kind : mixers)
      if (kind.view.rule == view.rule && kind.view.reach == view.reach) return kind.places.push_back(p);
    mixers.push_back({p, view, std::pmr::vector<LayerPlace>(1, p, &memory_)});
  }
  template <class View> void add_feed_forward(const LayerPlace& p, const View& view) {
    const FeedForwardView<> made{view(), 0.0};
    for (auto& kind : feed_forwards)
      if (kind.view.rule == made.rule) return kind.places.push_back(p);
    feed_forwards.push_back({p, made, std::pmr::vector<LayerPlace>(1, p, &memory_)});
  }
};

template <class T, class Read>
std::shared_ptr<StackView<T>> view_of(const Stack& stack, std::size_t place, const Read& read) {
  const StackParts<T, Read> parts(stack, read);
  const Kinds kinds(stack);
  auto made = std::make_shared<StackView<T>>();
  StackView<T>& v = *made;
  v.stated = &stack;
  v.place = place;
  v.hidden = parts.hidden();
  T norms{0.0};
  for_each_place(stack, [&](const LayerPlace& p) {
    const T times = parts.times(p);
    v.layers = v.layers + times;
    norms = norms + times * parts.number(p.residual->norms);
  });
  v.norms = norms / v.layers;
  v.norm_vectors = T{stack.residual.norm_bias ? 2.0 : 1.0};
  v.bias = parts.flag(stack.biases);
  v.several_streams = stack.residual.streams > 1;
  v.parallel = stack.residual.parallel;
  v.streams = parts.number(stack.residual.streams);
  for (const auto& table : stack.input.lookups) {
    const T times = table.per_layer ? v.layers : T{1.0};
    v.looks_up = true;
    v.lookup_values = v.lookup_values + times * parts.number(table.rows) * parts.number(table.width);
    v.lookup_reads = v.lookup_reads + times * parts.number(table.reads, T{1.0}) * parts.number(table.width);
  }
  const auto& in = stack.input;
  v.vocab = parts.number(in.vocab);
  v.position_rows = parts.number(in.positions) + parts.number(in.token_types);
  if (in.patch_size) {
    const T side = parts.number(in.patch_size);
    v.patch_inputs =
        parts.number(in.channels, T{3.0}) * side * side * parts.number(in.temporal_patch_size, T{1.0});
  } else if (in.frame_width) {
    v.patch_inputs = parts.number(in.frame_width);
  }
  const auto& out = stack.output;
  v.edge_norms = T{(out.norm ? 1.0 : 0.0) + (in.norm ? 1.0 : 0.0)};
  v.own_head = parts.flag(!out.tied);
  v.shares_ends = stack.role == StackRole::draft && !stack.own_embedding;
  v.head_bias = parts.flag(out.bias);
  v.pooler = parts.flag(out.pooler);
  v.outputs = parts.number(out.classes);

  const auto layers = [&](const std::pmr::vector<LayerPlace>& places) {
    T sum = parts.times(places.front());
    for (std::size_t i = 1; i < places.size(); ++i) sum = sum + parts.times(places[i]);
    return sum;
  };
  v.mixers.reserve(kinds.mixers.size());
  for (const auto& kind : kinds.mixers) {
    if constexpr (std::is_same_v<Read, AsStated<double>>)
      v.mixers.push_back(kind.view);
    else
      v.mixers.push_back(kind.is_cross() ? MixerView<T>{parts.cross(*kind.first.mixer->cross), {}, T{0.0}}
                                         : parts.mixer(*kind.first.mixer, *kind.first.reach));
    v.mixers.back().layers = layers(kind.places);
    const auto& m = *kind.first.mixer;
    if (&kind == kinds.mixers.data())
      v.heads = parts.number(m.grouped  ? m.grouped->heads
                             : m.latent ? m.latent->heads
                             : m.linear ? m.linear->value_heads
                                        : m.state_space->heads);
  }
  v.feed_forwards.reserve(kinds.feed_forwards.size());
  for (const auto& kind : kinds.feed_forwards) {
    const auto& f = *kind.first.feed_forward;
    if (kind.view.rule.index() == 0) {
      v.feed_forwards.push_back({parts.dense(*f.dense), layers(kind.places)});
      continue;
    }
    const auto experts = parts.experts(*f.experts);
    v.feed_forwards.push_back({experts, layers(kind.places)});
    v.experts = experts.experts;
    v.top_k = experts.top_k;
  }
  return made;
}

}  // namespace

StatedNumbers::StatedNumbers(const Stack& stack) : stack_(&stack) {
  // The walk is written for objects that it may change; this one only reads.
  for_each_member(field_table<Stack>(), const_cast<Stack*>(&stack), [&](const MemberPlace& at) {
    if (const double* x = number_in(at.type, at.member)) order_.push_back(x);
  });
  for (std::size_t i = 0; i < order_.size(); ++i) by_place_.emplace_back(order_[i], i);
  std::sort(by_place_.begin(), by_place_.end());
}

std::size_t StatedNumbers::position(const double& stated) const {
  return std::lower_bound(by_place_.begin(), by_place_.end(), std::pair(&stated, std::size_t{0}))->second;
}

std::vector<double> StatedNumbers::values() const {
  std::vector<double> out;
  for (const double* x : order_) out.push_back(*x);
  return out;
}

std::vector<FieldInfo> StatedNumbers::fields(const std::string& prefix) const {
  std::vector<FieldInfo> out;
  for_each_member(field_table<Stack>(), const_cast<Stack*>(stack_), [&](const MemberPlace& at) {
    if (number_in(at.type, at.member) == nullptr) return;
    FieldInfo f;
    f.name = prefix + at.path;
    f.unit = at.row.unit;
    f.meaning = at.row.meaning;
    f.low = at.row.low;
    f.high = at.row.high;
    f.open_low = at.row.open_low;
    f.integral = true;  // sizes of a model are counts
    out.push_back(std::move(f));
  });
  return out;
}

template <class T>
std::shared_ptr<const StackView<T>> stack_view(const Stack& stack, std::size_t place, const Stack* encoder) {
  auto made = view_of<T>(stack, place, AsStated<T>());
  if (encoder != nullptr) made->encoder = stack_view<T>(*encoder, 0);
  return made;
}
template <class T>
std::shared_ptr<const StackView<T>> stack_view(const Stack& stack, std::size_t place,
                                               const StatedNumbers& numbers, std::span<const T> values,
                                               const Stack* encoder) {
  auto made = view_of<T>(stack, place, Moved<T>{numbers, values});
  if (encoder != nullptr) made->encoder = stack_view<T>(*encoder, 0);
  return made;
}
template std::shared_ptr<const StackView<double>> stack_view(const Stack&, std::size_t, const Stack*);
template std::shared_ptr<const StackView<Recorded>> stack_view(const Stack&, std::size_t, const Stack*);
template std::shared_ptr<const StackView<double>> stack_view(const Stack&, std::size_t, const StatedNumbers&,
                                                             std::span<const double>, const Stack*);
template std::shared_ptr<const StackView<Recorded>> stack_view(const Stack&, std::size_t,
                                                               const StatedNumbers&,
                                                               std::span<const Recorded>, const Stack*);

std::vector<std::size_t> kinds_of_places(const Stack& stack) {
  const Kinds kinds(stack);
  std::vector<std::size_t> out;
  const auto tell = [&](const auto& all) {
    for (const auto& kind : all) {
      out.push_back(kind.places.size());
      for (const auto& p : kind.places)
        for (std::size_t run = 0; run < stack.layers.size(); ++run)
          if (p.run == &stack.layers[run])
            out.push_back(
                run * 65536 +
                (p.layer == nullptr ? 0 : static_cast<std::size_t>(p.layer - p.run->pattern.data()) + 1));
    }
  };
  tell(kinds.mixers);
  tell(kinds.feed_forwards);
  return out;
}

}  // namespace mlsysim
