// Shapes that flags of training state, and the models of the zoo that have them.

#include "detail/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

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

std::string model_of_shape(const Settings& s, const Zoo& zoo) {
  if (!s.has("layers") || !s.has("hidden")) return {};
  std::vector<std::string> found;
  for (const Workload* w : zoo.all<Workload>()) {
    bool same = true;
    for (const auto& [quantity, of_model] : shape_of(*w)) {
      // A width of the keys counts only where several queries share them.
      if (quantity == "kv_heads" && !s.on("grouped") && !s.has("kv_heads")) continue;
      same = same && s.number_or(quantity, quantity == "experts" ? 0 : of_model) == of_model &&
             (of_model > 0 || quantity == "experts");
    }
    if (same) found.push_back(w->name);
  }
  if (found.size() == 1) return found.front();
  throw LookupError({.id = "mlsysim.launch.020",
                     .message = found.empty() ? "no model of the zoo has this shape"
                                              : "several models of the zoo have this shape",
                     .key = s.flag_name("layers"),
                     .found = found.empty()
                                  ? fmt::format("{} layers of width {}", s.text("layers"), s.text("hidden"))
                                  : fmt::format("{}", fmt::join(found, ", ")),
                     .expected = "one model",
                     .hint = "name it with --model: an entry of the zoo, or its config.json",
                     .where = s.where("layers"),
                     .reason = BreakReason::unknown_model});
}

void compare_shape(Settings& s, const Workload& model) {
  for (const auto& [quantity, of_model] : shape_of(model))
    if (const auto stated = s.number(quantity); stated && of_model > 0 && *stated != of_model)
      s.end(quantity, FlagUse::contradicts, fmt::format("{} has {}", model.name, of_model));
}

}  // namespace mlsysim::detail
