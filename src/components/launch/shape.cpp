// Shapes that flags of training state, and the models of the zoo that have them.

#include "detail/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <vector>

namespace mlsysim::detail {
namespace {

/// A number of the shape: what the flags call it, and what a model has; 0 where it has none.
struct ShapeNumber {
  std::string_view quantity;
  double of_model;
};

std::array<ShapeNumber, 8> shape_of(const Workload& w) {
  std::array<ShapeNumber, 8> out{{{"layers", 0},
                                  {"hidden", 0},
                                  {"heads", 0},
                                  {"kv_heads", 0},
                                  {"experts", 0},
                                  {"feed_forward", 0},
                                  {"expert_width", 0},
                                  {"vocabulary", 0}}};
  if (w.stacks.empty()) return out;
  const Stack& stack = w.stacks.front();
  out[0].of_model = stack.depth();
  out[1].of_model = stack.hidden.value_or(0);
  if (const auto& a = stack.mixer.grouped) {
    out[2].of_model = a->heads.value_or(0);
    out[3].of_model = a->kv_heads.value_or(out[2].of_model);
  }
  if (const auto& e = stack.feed_forward.experts) out[4].of_model = e->count.value_or(0);
  if (const auto& d = stack.feed_forward.dense) out[5].of_model = d->width.value_or(0);
  if (const auto& e = stack.feed_forward.experts) out[6].of_model = e->width.value_or(0);
  out[7].of_model = stack.input.vocab.value_or(0);
  return out;
}

/// Rows of the embedding: Megatron pads the vocabulary, so that every rank has as many.
double padded_vocabulary(const Settings& s, double vocabulary) {
  const double step = s.number_or_usual("vocabulary_step") * std::max(1.0, s.number_or("tp", 1));
  return step > 0 ? std::ceil(vocabulary / step) * step : vocabulary;
}

/// Whether each of `layers` layers has experts, by --moe-layer-freq: every N-th, or a list as Python writes
/// it,
/// "([0]*3+[1]*58)". Empty where the text is neither or has another length.
std::vector<bool> expert_layers(std::string text, double layers) {
  constexpr double most = 10'000;
  if (!(layers >= 1 && layers <= most)) return {};
  const auto count = static_cast<std::size_t>(layers);
  if (text.empty()) text = "1";
  std::vector<bool> out;
  if (const auto every = number_of(text)) {
    if (!(*every >= 1)) return {};
    for (std::size_t i = 0; i < count; ++i) out.push_back(std::fmod(static_cast<double>(i), *every) == 0);
    return out;
  }
  std::erase_if(text, [](char c) { return c == ' ' || c == '(' || c == ')' || c == '"' || c == '\''; });
  for (std::string_view rest = text; !rest.empty();) {
    const auto end = std::min(rest.find('+'), rest.size());
    auto term = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto close = term.find(']');
    if (!term.starts_with('[') || close == std::string_view::npos) return {};
    double times = 1;
    if (const auto behind = term.substr(close + 1); behind.starts_with('*'))
      times = number_of(behind.substr(1)).value_or(0);
    else if (!behind.empty())
      return {};
    if (!(times >= 1 && times <= most)) return {};
    for (double n = 0; n < times && out.size() <= count; ++n)
      for (const char c : term.substr(1, close - 1))
        if (c == '0' || c == '1')
          out.push_back(c == '1');
        else if (c != ',')
          return {};
  }
  return out.size() == count ? out : std::vector<bool>();
}

/// The model that flags of Megatron-LM make: what they do not state is the default of its arguments.
struct StatedModel {
  double layers, hidden, heads, kv_heads, head_dim, width, experts, top_k, vocabulary;
  bool encoder;  ///< BERT
  bool gated, biases, norm_bias, qkv_bias, qk_norm, tied;
  double positions;  ///< that are learned; 0: none
  bool latent;       ///< attention on latents
  double q_rank, kv_rank, nope, rope, value_dim;
  double dense_width, shared_width;  ///< of layers without experts; of all shared experts together
  std::vector<bool> routed;          ///< layers with experts

  explicit StatedModel(const Settings& s)
      : layers(s.number_or("layers", 0)),
        hidden(s.number_or("hidden", 0)),
        heads(s.number_or("heads", 0)),
        kv_heads(s.on("grouped") || s.has("kv_heads") ? s.number_or_usual("kv_heads") : heads),
        head_dim(s.number_or("head_dim", heads > 0 ? hidden / heads : 0)),
        experts(s.number_or("experts", 0)),
        top_k(experts > 0 ? s.number_or_usual("top_k") : 0),
        vocabulary(s.number_or("vocabulary", 0)),
        encoder(s.text("script").find("bert") != std::string::npos),
        gated(s.on("gated")),
        biases(!s.on("no_biases")),
        norm_bias(s.text("norm") != "RMSNorm"),
        qkv_bias(s.on("qkv_bias")),
        qk_norm(s.on("qk_norm")),
        tied(!s.on("untied")),
        positions(0),
        latent(s.on("latent")),
        q_rank(s.number_or("q_rank", 0)),
        kv_rank(s.number_or_usual("kv_rank")),
        nope(s.number_or_usual("nope_dim")),
        rope(s.number_or_usual("rope_dim")),
        value_dim(s.number_or_usual("value_dim")),
        dense_width(s.number_or_usual("feed_forward")),
        shared_width(s.number_or("shared_width", 0)) {
    width = experts > 0 ? s.number_or("expert_width", dense_width) : dense_width;
    routed = expert_layers(experts > 0 ? s.text("expert_layers") : "", layers);
    if (experts == 0) routed.assign(routed.size(), false);
    const auto kind = s.text("position_kind");
    const double rows = s.number_or("positions", 0);
    if (!s.on("rotary") && !s.on("no_positions") && (kind.empty() || kind == "learned_absolute"))
      positions = rows;
  }

  /// Whether an entry of the zoo is this model; a vocabulary that is not stated may be any. The layers of the
  /// flags see every earlier token.
  [[nodiscard]] bool is(const Workload& w) const {
    if (encoder || w.architecture != Architecture::decoder || w.category != "language" ||
        w.stacks.size() != 1)
      return false;
    const Stack& stack = w.stacks.front();
    const Reach& reach = stack.reach;
    if (reach.window || reach.chunk || reach.compress || reach.select) return false;
    return mixes(stack.mixer) && has_layers(stack) && stack.hidden == hidden && stack.biases == biases &&
           stack.residual.norm_bias == norm_bias && stack.output.tied == tied &&
           stack.input.positions.value_or(0) == positions &&
           (vocabulary == 0 || stack.input.vocab == vocabulary);
  }

  /// As an entry of the zoo in one line.
  [[nodiscard]] std::string entry(double padded, std::string_view guess) const {
    const std::string_view kind = name_of(encoder ? Architecture::encoder : Architecture::decoder);
    const std::string fed = experts > 0 ? expert_words() : dense_words();
    return fmt::format(
        "{{name: {}_{}x{}, category: language, architecture: {}, stacks: [{{role: {}, hidden: {}, layers: "
        "[{}], mixer: {{{}}}, feed_forward: {{{}}}, residual: {{norm_bias: {}}}, input: {{vocab: {}{}{}}}, "
        "output: {{tied: {}{}}}, biases: {}}}]{}}}",
        encoder ? "bert" : "gpt", layers, hidden, kind, kind, hidden, layer_words(), mixer_words(), fed,
        truth(norm_bias), padded, positions > 0 ? fmt::format(", positions: {}", positions) : "",
        encoder ? ", token_types: 2" : "", truth(tied), encoder ? ", pooler: true" : "", truth(biases),
        guess.empty() ? "" : fmt::format(", guess: \"{}\"", guess));
  }

 private:
  static std::string_view truth(bool x) { return x ? "true" : "false"; }
  [[nodiscard]] bool mixes(const Mixer& m) const {
    if (latent)
      return m.latent && m.latent->heads == heads && m.latent->q_lora_rank.value_or(0) == q_rank &&
             m.latent->kv_lora_rank == kv_rank && m.latent->nope_head_dim == nope &&
             m.latent->rope_head_dim == rope && m.latent->value_head_dim == value_dim;
    const auto& a = m.grouped;
    return a && a->heads == heads && a->kv_heads.value_or(heads) == kv_heads &&
           a->head_dim.value_or(hidden / heads) == head_dim && (a->qk_norm != QkNorm::none) == qk_norm &&
           a->qkv_bias == (qkv_bias && !biases);
  }
  [[nodiscard]] bool feeds(const FeedForward& f, bool by_experts) const {
    if (!by_experts) return !f.experts && f.dense && f.dense->width == dense_width && f.dense->gated == gated;
    const auto& e = f.experts;
    return e && e->count == experts && e->width == width && e->top_k == top_k && e->gated == gated &&
           e->shared.value_or(0) * e->shared_width.value_or(width) == shared_width;
  }
  /// Whether the layers are those of the flags, one by one.
  [[nodiscard]] bool has_layers(const Stack& stack) const {
    std::size_t at = 0;
    const auto next = [&](const FeedForward& f) { return at < routed.size() && feeds(f, routed[at++]); };
    for (const LayerRun& run : stack.layers)
      for (double n = 0; n < run.times.value_or(1); ++n) {
        if (run.pattern.empty() && !next(stack.feed_forward)) return false;
        for (const Layer& layer : run.pattern) {
          if (layer.mixer || layer.reach || layer.residual) return false;
          for (double k = 0; k < layer.times.value_or(1); ++k)
            if (!next(layer.feed_forward ? *layer.feed_forward : stack.feed_forward)) return false;
        }
      }
    return at == routed.size() && at > 0;
  }

  [[nodiscard]] std::string dense_words() const {
    return fmt::format("dense: {{width: {}, gated: {}}}", dense_width, truth(gated));
  }
  [[nodiscard]] std::string expert_words() const {
    return fmt::format("experts: {{count: {}, top_k: {}, width: {}, gated: {}{}}}", experts, top_k, width,
                       truth(gated),
                       shared_width > 0 ? fmt::format(", shared: 1, shared_width: {}", shared_width) : "");
  }
  [[nodiscard]] std::string mixer_words() const {
    if (latent)
      return fmt::format(
          "latent: {{heads: {}{}, kv_lora_rank: {}, nope_head_dim: {}, rope_head_dim: {}, value_head_dim: "
          "{}}}",
          heads, q_rank > 0 ? fmt::format(", q_lora_rank: {}", q_rank) : "", kv_rank, nope, rope, value_dim);
    return fmt::format("grouped: {{heads: {}, kv_heads: {}, head_dim: {}, qkv_bias: {}, qk_norm: {}}}", heads,
                       kv_heads, head_dim, truth(qkv_bias), qk_norm ? "head" : "none");
  }
  /// Runs of layers of one kind.
  [[nodiscard]] std::string layer_words() const {
    if (experts == 0 || routed.empty()) return fmt::format("{{times: {}}}", layers);
    std::string out;
    for (std::size_t i = 0, end = 0; i < routed.size(); i = end) {
      while (end < routed.size() && routed[end] == routed[i]) ++end;
      out +=
          fmt::format("{}{{times: {}{}}}", i > 0 ? ", " : "", end - i,
                      routed[i] ? "" : fmt::format(", pattern: [{{feed_forward: {{{}}}}}]", dense_words()));
    }
    return out;
  }
};

/// Picks among models of one shape: one with this many positions if there is one, then one that is published
/// in 16 bits, then the one with the smallest vocabulary, which the others extend.
const Workload* plainest(const std::vector<const Workload*>& found, double positions) {
  const auto key = [&](const Workload* w) {
    const bool narrow = std::any_of(w->formats.begin(), w->formats.end(),
                                    [](const auto& f) { return bytes_per_element(f.precision) < 2; });
    return std::tuple(w->max_positions.value_or(0) != positions, narrow,
                      w->stacks.front().input.vocab.value_or(0));
  };
  return *std::min_element(found.begin(), found.end(),
                           [&](const auto* a, const auto* b) { return key(a) < key(b); });
}

}  // namespace

std::string model_of_shape(const Settings& s, const Zoo& zoo, std::vector<std::string>& notes) {
  if (const auto script = s.text("script"); !script.empty() && script.find("bert") == std::string::npos)
    throw InputError({.id = "mlsysim.launch.020",
                      .message = "the flags state no model",
                      .key = script,
                      .found = fmt::format("flags of {}", script),
                      .expected = "the shape of a decoder, or of BERT",
                      .hint = "name a model with --model",
                      .where = s.where("script")});
  if (!s.has("layers") || !s.has("hidden")) return {};
  const StatedModel stated(s);
  if (stated.experts > 0 && stated.routed.empty())
    throw InputError({.id = "mlsysim.launch.210",
                      .message = "which layers have experts is not understood",
                      .key = "moe-layer-freq",
                      .found = fmt::format("'{}' for {} layers", s.text("expert_layers"), stated.layers),
                      .expected = "a number, or a list of 0 and 1 for every layer, e.g. ([0]*3+[1]*58)",
                      .hint = "write the list for all layers, or name a model with --model",
                      .where = s.where("expert_layers")});
  if (stated.heads <= 0 || std::fmod(stated.heads, stated.kv_heads) != 0)
    throw InputError({.id = "mlsysim.launch.020",
                      .message = "the flags state no model",
                      .key = "num-attention-heads",
                      .found = s.has("heads") ? fmt::format("{} heads, {} of keys and values", stated.heads,
                                                            stated.kv_heads)
                                              : "layers and width without heads",
                      .expected = "heads, and a divisor of them as groups",
                      .hint = "state them, or name a model with --model",
                      .where = s.where("layers")});
  if (stated.encoder) notes.push_back("of BERT the output matrix of masked words is not counted");
  std::vector<const Workload*> found;
  for (const Workload* w : zoo.all<Workload>())
    if (stated.is(*w)) found.push_back(w);
  if (!found.empty()) {
    const Workload* model = plainest(found, s.number_or("positions", 0));
    notes.push_back(fmt::format("the shape is that of {} of the zoo", model->name));
    if (found.size() > 1) notes.push_back(fmt::format("{} others have it too", found.size() - 1));
    if (stated.vocabulary == 0)
      notes.push_back(fmt::format("the vocabulary is not stated and taken from {}", model->name));
    return model->name;
  }
  double vocabulary = stated.vocabulary;
  std::string guess;
  if (vocabulary == 0) {
    vocabulary = s.number_or_usual("vocabulary");
    guess =
        fmt::format("the vocabulary is not stated: {} tokens, {}", vocabulary, s.usual("vocabulary")->source);
    notes.push_back("the shape is a guess: " + guess);
  }
  const double padded = padded_vocabulary(s, vocabulary);
  notes.push_back(fmt::format("the model is the one that the flags state: {} layers of width {}, {} tokens",
                              stated.layers, stated.hidden, padded));
  return stated.entry(padded, guess);
}

void compare_shape(Settings& s, const Workload& model) {
  for (const auto& [quantity, of_model] : shape_of(model)) {
    // Experts are as wide as the feed-forward part where nothing is said of them.
    const auto asked = quantity == "expert_width" && !s.has(quantity) ? "feed_forward" : quantity;
    const auto stated = s.number(asked);
    if (!stated || !(of_model > 0) || *stated == of_model) continue;
    const bool padded = quantity == "vocabulary" && of_model == padded_vocabulary(s, *stated);
    s.end(asked, padded ? FlagUse::used : FlagUse::contradicts,
          padded ? fmt::format("padded to {}, as many rows on every rank", of_model)
                 : fmt::format("{} has {}", model.name, of_model));
  }
}

}  // namespace mlsysim::detail
