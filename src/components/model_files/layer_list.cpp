#include "detail/layer_list.hpp"

#include <algorithm>
#include <map>

namespace mlsysim::detail {
namespace {

/// The part that most layers have, the first of them where several do.
template <class Part>
const Named<Part>& usual(const std::vector<WholeLayer>& layers, Named<Part> WholeLayer::*member) {
  std::map<std::string, int> often;
  for (const auto& layer : layers) ++often[(layer.*member).name];
  const WholeLayer* best = &layers.front();
  for (const auto& layer : layers)
    if (often[(layer.*member).name] > often[(best->*member).name]) best = &layer;
  return best->*member;
}

/// Equal layers in a row.
struct Row {
  const WholeLayer* layer;
  std::string name;
  std::size_t times;
  friend bool operator==(const Row& a, const Row& b) { return a.name == b.name && a.times == b.times; }
};

std::vector<Row> rows_of(const std::vector<WholeLayer>& layers) {
  std::vector<Row> out;
  for (const auto& l : layers) {
    const auto name = l.mixer.name + "|" + l.reach.name + "|" + l.feed_forward.name + "|" + l.residual.name;
    if (!out.empty() && out.back().name == name)
      ++out.back().times;
    else
      out.push_back({&l, name, 1});
  }
  return out;
}

/// A pattern of `length` rows that occurs `times` in a row.
struct Period {
  std::size_t length = 1, times = 1;
  [[nodiscard]] std::size_t covered() const { return times > 1 ? length * times : 0; }
};

Period period_at(const std::vector<Row>& rows, std::size_t at) {
  Period best;
  for (std::size_t length = 1; length <= 16 && at + 2 * length <= rows.size(); ++length) {
    std::size_t times = 1;
    while (at + (times + 1) * length <= rows.size() &&
           std::equal(rows.begin() + static_cast<std::ptrdiff_t>(at),
                      rows.begin() + static_cast<std::ptrdiff_t>(at + length),
                      rows.begin() + static_cast<std::ptrdiff_t>(at + times * length)))
      ++times;
    if (const Period found{length, times}; found.covered() > best.covered()) best = found;
  }
  return best;
}

}  // namespace

void set_layers(Stack& stack, const std::vector<WholeLayer>& layers) {
  if (layers.empty()) return;
  const auto& mixer = usual(layers, &WholeLayer::mixer);
  const auto& reach = usual(layers, &WholeLayer::reach);
  const auto& feed_forward = usual(layers, &WholeLayer::feed_forward);
  const auto& residual = usual(layers, &WholeLayer::residual);
  stack.mixer = mixer.part;
  stack.reach = reach.part;
  stack.feed_forward = feed_forward.part;
  stack.residual = residual.part;
  const auto stated = [&](const Row& row) {
    Layer out;
    if (row.times > 1) out.times = static_cast<double>(row.times);
    if (row.layer->mixer.name != mixer.name) out.mixer = row.layer->mixer.part;
    if (row.layer->reach.name != reach.name) out.reach = row.layer->reach.part;
    if (row.layer->feed_forward.name != feed_forward.name) out.feed_forward = row.layer->feed_forward.part;
    if (row.layer->residual.name != residual.name) out.residual = row.layer->residual.part;
    return out;
  };
  const auto says_nothing = [](const Layer& l) {
    return !l.mixer && !l.reach && !l.feed_forward && !l.residual;
  };
  const auto rows = rows_of(layers);
  for (std::size_t at = 0; at < rows.size();) {
    const Period period = period_at(rows, at);
    LayerRun run;
    if (period.times > 1) run.times = static_cast<double>(period.times);
    for (std::size_t i = 0; i < period.length; ++i) run.pattern.push_back(stated(rows[at + i]));
    at += period.length * period.times;
    // Equal layers in a row are one run.
    if (run.pattern.size() == 1 && !run.times) {
      run.times = run.pattern.front().times.value_or(1);
      run.pattern.front().times.reset();
      if (says_nothing(run.pattern.front())) run.pattern.clear();
    }
    stack.layers.push_back(std::move(run));
  }
}

}  // namespace mlsysim::detail
