#include "detail/model_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {
namespace {

/// Reports what two figures of a stack say against each other.
class Rules {
 public:
  Rules(const Entry& entry, const SourceText& source, Problems& problems)
      : entry_(entry), source_(source), problems_(problems) {}

  void stack(const Stack& s, const std::string& path) {
    mixer(s.mixer, path + "mixer.");
    reach(s.reach, path + "reach.");
    feed_forward(s.feed_forward, path + "feed_forward.");
    for (std::size_t r = 0; r < s.layers.size(); ++r)
      for (std::size_t i = 0; i < s.layers[r].pattern.size(); ++i) {
        const Layer& layer = s.layers[r].pattern[i];
        const auto below = fmt::format("{}layers[{}].pattern[{}].", path, r, i);
        if (layer.mixer) mixer(*layer.mixer, below + "mixer.");
        if (layer.reach) reach(*layer.reach, below + "reach.");
        if (layer.feed_forward) feed_forward(*layer.feed_forward, below + "feed_forward.");
      }
  }

 private:
  void mixer(const Mixer& m, const std::string& path) {
    if (m.grouped) {
      at_most(m.grouped->kv_heads, m.grouped->heads, path + "grouped.kv_heads", "heads");
      at_most(m.grouped->rope_dim, m.grouped->head_dim, path + "grouped.rope_dim", "head_dim");
    }
    if (m.cross) at_most(m.cross->kv_heads, m.cross->heads, path + "cross.kv_heads", "heads");
    if (m.linear)
      at_most(m.linear->key_heads, m.linear->value_heads, path + "linear.key_heads", "value_heads");
  }
  void reach(const Reach& r, const std::string& path) {
    if (r.window && r.chunk) fault(path + "chunk", "a layer has a window or a chunk", "one of the two");
  }
  void feed_forward(const FeedForward& f, const std::string& path) {
    if (!f.experts) return;
    const auto& e = *f.experts;
    at_most(e.top_k, e.count, path + "experts.top_k", "count");
    at_most(e.limited_groups, e.groups, path + "experts.limited_groups", "groups");
    if (e.limited_groups && !e.groups)
      fault(path + "experts.limited_groups", "a limit of groups needs groups", "groups: 8");
  }
  void at_most(const std::optional<double>& part, const std::optional<double>& whole, const std::string& path,
               std::string_view name) {
    if (part && whole && *part > *whole)
      fault(path, fmt::format("'{}' is more than '{}'", path, name), fmt::format("at most {:g}", *whole));
  }
  void fault(const std::string& path, std::string message, std::string expected) {
    // The figures are not sorted yet.
    const auto figure = std::find_if(entry_.figures.begin(), entry_.figures.end(),
                                     [&](const Figure& f) { return f.path == path; });
    if (figure == entry_.figures.end()) return;
    problems_.add(
        ZooFault::contradiction, source_,
        {static_cast<std::uint32_t>(figure->where.line), static_cast<std::uint32_t>(figure->where.column)},
        {.message = std::move(message),
         .key = path,
         .found = quoted_text(figure->authored),
         .expected = std::move(expected),
         .hint = "correct one of the two"});
  }

  const Entry& entry_;
  const SourceText& source_;
  Problems& problems_;
};

}  // namespace

void check_model(const Workload& workload, const Entry& entry, const SourceText& source, Problems& problems) {
  Rules rules(entry, source, problems);
  for (std::size_t i = 0; i < workload.stacks.size(); ++i)
    rules.stack(workload.stacks[i], fmt::format("stacks[{}].", i));
}

}  // namespace mlsysim::detail
