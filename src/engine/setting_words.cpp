#include <mlsysim/engine/detail/settle.hpp>

#include <mlsysim/reflect/detail/aliases.hpp>
#include <mlsysim/specs/usual_request.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace mlsysim {
namespace {

/// Names that vary, of which a title says nothing.
class Varied {
 public:
  explicit Varied(std::span<const std::string> names) : names_(names) {}
  [[nodiscard]] bool any_of(std::initializer_list<std::string_view> names) const {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      return std::any_of(names_.begin(), names_.end(), [&](const std::string& varied) {
        return varied == name || canonical_name(varied) == name;
      });
    });
  }

 private:
  std::span<const std::string> names_;
};

/// Standard deviation over mean of lengths.
double spread_of(std::optional<double> cv, std::optional<TrafficLaw> law) {
  if (law == TrafficLaw::constant) return 0;
  return law == TrafficLaw::exponential ? 1 : cv.value_or(0);
}

/// "2048", or "2454 ± 2700" where lengths differ.
std::string length_text(double mean, double spread) {
  return spread > 0 ? fmt::format("{:.0f} \u00b1 {:.0f}", mean, spread * mean) : fmt::format("{:.0f}", mean);
}

/// "16 requests kept in flight", without the number where it varies.
std::string arrival_words(const ResolvedScenario& r, const Varied& varied) {
  const Scenario& s = r.asked();
  const bool counted = !varied.any_of({"batch_size", "concurrency", "burst"});
  const auto requests =
      !counted ? std::string("requests")
               : fmt::format("{:g} {}", s.batch_size, s.batch_size == 1 ? "request" : "requests");
  switch (r.load()) {
    case Load::concurrency:
      return requests + " kept in flight";
    case Load::burst:
      return requests + " at once";
    case Load::rate:
      break;
  }
  if (varied.any_of({"arrival_rate"}) || !s.arrival_rate) return "random arrivals";
  return fmt::format("random arrivals at {}", pretty(AnyQuantity(*s.arrival_rate), 3));
}

}  // namespace

std::string length_words(const Scenario& s, Load load, std::span<const std::string> names) {
  const Varied varied(names);
  const bool steady = load != Load::burst;
  const auto answer = s.output_tokens || !steady ? s.output_tokens : std::optional(UsualRequest::answer);
  const double in = steady ? spread_of(s.seq_len_cv, s.seq_len_law) : 0,
               out = steady ? spread_of(s.output_tokens_cv, s.output_tokens_law) : 0;
  Notes quiet;
  std::vector<std::string> parts;
  if (!varied.any_of({"seq_len"}))
    parts.push_back(length_text(seq_len_or_default(s.seq_len, *s.workload, answer.value_or(0), quiet), in) +
                    " tokens in");
  if (!varied.any_of({"output_tokens"}))
    parts.push_back(answer ? length_text(*answer, out) + " tokens out" : "no answers");
  if (steady && in == 0 && out == 0) parts.emplace_back("all alike");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string setting_words(const ResolvedScenario& r, std::span<const std::string> names) {
  const Varied varied(names);
  std::string out;
  if (r.mode() == Mode::serve)
    out += fmt::format(", {}, {}", arrival_words(r, varied), length_words(r.asked(), r.load(), names));
  else if (!varied.any_of({"batch_size"}))
    out += fmt::format(", batch of {:g}", r.asked().batch_size);
  if (r.mode() == Mode::train && r.asked().workload->hidden() && !varied.any_of({"seq_len"}))
    out += fmt::format(", sequences of {:.0f} tokens", r.seq_len());
  if (const auto* engine = r.asked().engine; engine != nullptr)
    out += fmt::format(", {} engine", engine->name);
  return out;
}

}  // namespace mlsysim
