// Shapes that flags of training state, and the models of the zoo that have them.

#include "detail/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mlsysim::detail {
namespace {

/// A number of the shape: what the flags call it, and what a model has; 0 where it has none.
struct ShapeNumber {
  std::string_view quantity;
  double of_model;
};

std::array<ShapeNumber, 7> shape_of(const Workload& w) {
  std::array<ShapeNumber, 7> out{{{"layers", 0},
                                  {"hidden", 0},
                                  {"heads", 0},
                                  {"kv_heads", 0},
                                  {"experts", 0},
                                  {"feed_forward", 0},
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
  if (const auto& e = stack.feed_forward.experts) out[5].of_model = e->width.value_or(0);
  out[6].of_model = stack.input.vocab.value_or(0);
  return out;
}

}  // namespace

namespace {

/// The model that flags of Megatron-LM make: what they do not state is the default of its arguments.
struct StatedModel {
  double layers, hidden, heads, kv_heads, head_dim, width, experts, top_k, vocabulary;
  bool encoder;  ///< BERT
  bool gated, biases, norm_bias, qkv_bias, qk_norm, tied;
  double positions;  ///< that are learned; 0: none

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
        positions(0) {
    width = s.number_or_usual("feed_forward");
    if (experts > 0) width = s.number_or("expert_width", width);
    const auto kind = s.text("position_kind");
    const double rows = s.number_or("positions", 0);
    if (!s.on("rotary") && !s.on("no_positions") && (kind.empty() || kind == "learned_absolute"))
      positions = rows;
  }

  /// Whether an entry of the zoo is this model; a vocabulary that is not stated may be any. The layers of the
  /// flags are all alike and see every earlier token.
  [[nodiscard]] bool is(const Workload& w) const {
    if (encoder || w.architecture != Architecture::decoder || w.category != "language" ||
        w.stacks.size() != 1)
      return false;
    const Stack& stack = w.stacks.front();
    const bool alike = std::all_of(stack.layers.begin(), stack.layers.end(),
                                   [](const LayerRun& run) { return run.pattern.empty(); });
    const Reach& reach = stack.reach;
    if (!alike || reach.window || reach.chunk || reach.compress || reach.select) return false;
    const auto& a = stack.mixer.grouped;
    const auto& dense = stack.feed_forward.dense;
    const auto& routed = stack.feed_forward.experts;
    if (!a || (experts > 0) != routed.has_value()) return false;
    const bool feeds = routed ? routed->count == experts && routed->width == width &&
                                    routed->top_k == top_k && routed->gated == gated
                              : dense && dense->width == width && dense->gated == gated;
    return feeds && stack.depth() == layers && stack.hidden == hidden && a->heads == heads &&
           a->kv_heads.value_or(heads) == kv_heads && a->head_dim.value_or(hidden / heads) == head_dim &&
           (a->qk_norm != QkNorm::none) == qk_norm && a->qkv_bias == (qkv_bias && !biases) &&
           stack.biases == biases && stack.residual.norm_bias == norm_bias && stack.output.tied == tied &&
           stack.input.positions.value_or(0) == positions &&
           (vocabulary == 0 || stack.input.vocab == vocabulary);
  }

  /// As an entry of the zoo in one line.
  [[nodiscard]] std::string entry(double padded, std::string_view guess) const {
    const auto truth = [](bool x) { return x ? "true" : "false"; };
    const std::string_view kind = name_of(encoder ? Architecture::encoder : Architecture::decoder);
    const std::string fed = experts > 0
                                ? fmt::format("experts: {{count: {}, top_k: {}, width: {}, gated: {}}}",
                                              experts, top_k, width, truth(gated))
                                : fmt::format("dense: {{width: {}, gated: {}}}", width, truth(gated));
    return fmt::format(
        "{{name: {}_{}x{}, category: language, architecture: {}, stacks: [{{role: {}, hidden: {}, layers: "
        "[{{times: "
        "{}}}], mixer: {{grouped: {{heads: {}, kv_heads: {}, head_dim: {}, qkv_bias: {}, qk_norm: {}}}}}, "
        "feed_forward: {{{}}}, residual: {{norm_bias: {}}}, input: {{vocab: {}{}{}}}, output: {{tied: "
        "{}{}}}, "
        "biases: {}}}]{}}}",
        encoder ? "bert" : "gpt", layers, hidden, kind, kind, hidden, layers, heads, kv_heads, head_dim,
        truth(qkv_bias), qk_norm ? "head" : "none", fed, truth(norm_bias), padded,
        positions > 0 ? fmt::format(", positions: {}", positions) : "", encoder ? ", token_types: 2" : "",
        truth(tied), encoder ? ", pooler: true" : "", truth(biases),
        guess.empty() ? "" : fmt::format(", guess: \"{}\"", guess));
  }
};

/// Picks among models of one shape: one with this many positions if there is one, then the one with the
/// smallest vocabulary, which the others extend.
const Workload* plainest(const std::vector<const Workload*>& found, double positions) {
  const auto key = [&](const Workload* w) {
    return std::pair(w->max_positions.value_or(0) != positions, w->stacks.front().input.vocab.value_or(0));
  };
  return *std::min_element(found.begin(), found.end(),
                           [&](const auto* a, const auto* b) { return key(a) < key(b); });
}

}  // namespace

std::string model_of_shape(const Settings& s, const Zoo& zoo, std::vector<std::string>& notes) {
  const StatedModel stated(s);
  if (const auto script = s.text("script"); !script.empty() && !stated.encoder)
    throw InputError({.id = "mlsysim.launch.020",
                      .message = "the flags state no model",
                      .key = script,
                      .found = fmt::format("flags of {}", script),
                      .expected = "the shape of a decoder, or of BERT",
                      .hint = "name a model with --model",
                      .where = s.where("script")});
  if (!s.has("layers") || !s.has("hidden")) return {};
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
  // Megatron pads the vocabulary, so that every rank has as many rows.
  const double step = s.number_or_usual("vocabulary_step") * std::max(1.0, s.number_or("tp", 1));
  const double padded = std::ceil(vocabulary / step) * step;
  notes.push_back(fmt::format("the model is the one that the flags state: {} layers of width {}, {} tokens",
                              stated.layers, stated.hidden, padded));
  return stated.entry(padded, guess);
}

void compare_shape(Settings& s, const Workload& model) {
  for (const auto& [quantity, of_model] : shape_of(model))
    if (const auto stated = s.number(quantity); stated && of_model > 0 && *stated != of_model)
      s.end(quantity, FlagUse::contradicts, fmt::format("{} has {}", model.name, of_model));
}

}  // namespace mlsysim::detail
