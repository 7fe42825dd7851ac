#include <mlsysim/ops/export/metrics.hpp>

#include <mlsysim/units/detail/fnv.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace mlsysim {
namespace {

constexpr std::size_t kLongestLabel = 1024;  // [B]

bool is_name(std::string_view name, bool metric) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9') || (!metric && name.starts_with("__"))) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (metric && c == ':');
  });
}

void check(const MetricFamily& family, bool times) {
  const auto message = fmt::format("the metric '{}' cannot be written", family.name);
  const Fault wrong{.id = "mlsysim.telemetry.001", .message = message, .hint = "change what is exported"};
  if (!is_name(family.name, true))
    throw InputError(wrong.with({.found = "its name", .expected = "letters, digits and underscores"}));
  if (family.help.empty())
    throw InputError(wrong.with({.found = "no help text", .expected = "a sentence that says what it is"}));
  if ((family.type == MetricType::counter) != family.name.ends_with("_total"))
    throw InputError(wrong.with({.found = family.type == MetricType::counter ? "a counter" : "no counter",
                                 .expected = "counters, and they alone, end in _total"}));
  std::set<std::string> seen;
  for (const auto& s : family.samples) {
    std::string key;
    for (const auto& [name, value] : s.labels) {
      if (!is_name(name, false) || (family.type == MetricType::histogram && name == "le"))
        throw InputError(wrong.with(
            {.found = fmt::format("the label '{}'", name), .expected = "letters, digits and underscores"}));
      key += name + "\1" + value + "\2";
    }
    if (family.type == MetricType::histogram && s.counts.size() != family.bounds.size() + 1)
      throw InputError(wrong.with({.found = fmt::format("{} counts", s.counts.size()),
                                   .expected = "one for each bound and one for all"}));
    if (s.time && !times)
      throw InputError(wrong.with(
          {.found = "a time", .expected = "none: gateways refuse it, and history has a format of its own"}));
    if (times && s.time) key += std::to_string(*s.time);
    if (!seen.insert(key).second)
      throw InputError(wrong.with({.found = "the same series twice", .expected = "each series once"}));
  }
}

/// Each metric stands once: a second one of its name could be of another type.
void check_all(const std::vector<MetricFamily>& families, bool times) {
  std::set<std::string_view> names;
  for (const auto& f : families) {
    check(f, times);
    if (!names.insert(f.name).second)
      throw InputError("mlsysim.telemetry.017", fmt::format("the metric '{}' is there twice", f.name), "",
                       "two of this name", "each metric once, with one type", "put its samples together");
  }
}

std::string escaped(std::string_view text, bool quote) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else if (c == '"' && quote)
      out += "\\\"";
    else
      out += c;
  }
  return out;
}

std::string number(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", x);
}

/// @param bound of a bucket, as its label; empty for none
std::string labels_text(const MetricSample& s, const std::string& bound = {}) {
  std::string out;
  for (const auto& [name, value] : s.labels)
    out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", name, escaped(label_value(value), true));
  if (!bound.empty()) out += fmt::format("{}le=\"{}\"", out.empty() ? "" : ",", bound);
  return out.empty() ? out : "{" + out + "}";
}

/// The lines of all samples.
std::string samples_text(const MetricFamily& f) {
  std::string out;
  const auto line = [&](std::string_view ending, const std::string& labels, double value,
                        const MetricSample& s) {
    out += fmt::format("{}{}{} {}", f.name, ending, labels, number(value));
    if (s.time) out += fmt::format(" {:.3f}", *s.time);
    out += '\n';
  };
  for (const auto& s : f.samples) {
    if (f.type != MetricType::histogram) {
      line("", labels_text(s), s.value, s);
      continue;
    }
    for (std::size_t i = 0; i <= f.bounds.size(); ++i)
      line("_bucket", labels_text(s, i < f.bounds.size() ? number(f.bounds[i]) : "+Inf"), s.counts[i], s);
    line("_sum", labels_text(s), s.value, s);
    line("_count", labels_text(s), s.counts.back(), s);
  }
  return out;
}

std::string_view type_text(MetricType type) {
  return type == MetricType::counter ? "counter" : type == MetricType::gauge ? "gauge" : "histogram";
}

/// Bytes of the character of UTF-8 that begins here; 0 where none does.
std::size_t character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t n = lead < 0x80                   ? 1
                        : lead >= 0xC2 && lead < 0xE0 ? 2
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xF0 && lead < 0xF5 ? 4
                                                      : 0;
  if (n == 0 || n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  const auto second = n > 1 ? static_cast<unsigned char>(text[1]) : 0;
  // Overlong forms, surrogates and what lies beyond the last plane.
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
      (lead == 0xF4 && second > 0x8F))
    return 0;
  return n;
}

}  // namespace

std::string label_value(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto n = character(text.substr(i));
    if (n == 0)
      out += "\xEF\xBF\xBD";
    else
      out += text.substr(i, n);
    i += std::max<std::size_t>(n, 1);
  }
  if (out.size() <= kLongestLabel) return out;
  std::size_t end = kLongestLabel - 20;
  while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0) == 0x80) --end;
  return fmt::format("{}...{:016x}", out.substr(0, end), detail::fnv1a(text));
}

std::size_t fold_labels(MetricFamily& family, const Cardinality& limit) {
  std::size_t folded = 0;
  for (const auto& label : limit.folded) {
    if (family.samples.size() <= limit.most) break;
    std::stable_sort(family.samples.begin(), family.samples.end(),
                     [](const MetricSample& a, const MetricSample& b) { return a.value > b.value; });
    std::map<std::map<std::string, std::string>, MetricSample> sums;
    std::vector<MetricSample> kept;
    for (std::size_t i = 0; i < family.samples.size(); ++i) {
      auto& s = family.samples[i];
      if (i < limit.most / 2 || !s.labels.contains(label)) {
        kept.push_back(std::move(s));
        continue;
      }
      s.labels[label] = "other";
      auto& sum = sums[s.labels];
      sum.value += s.value;
      sum.counts.resize(s.counts.size());
      for (std::size_t k = 0; k < s.counts.size(); ++k) sum.counts[k] += s.counts[k];
      ++folded;
    }
    for (auto& [labels, sum] : sums) kept.push_back({labels, sum.value, {}, std::move(sum.counts)});
    family.samples = std::move(kept);
  }
  return folded;
}

std::string prometheus_text(const std::vector<MetricFamily>& families) {
  check_all(families, false);
  std::string out;
  for (const auto& f : families) {
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", f.name, escaped(f.help, false), f.name,
                       type_text(f.type));
    out += samples_text(f);
  }
  return out;
}

std::string open_metrics_text(const std::vector<MetricFamily>& families) {
  check_all(families, true);
  std::string out;
  for (const auto& f : families) {
    const bool counter = f.type == MetricType::counter;
    const auto name = counter ? f.name.substr(0, f.name.size() - 6) : f.name;
    out += fmt::format("# TYPE {} {}\n", name, type_text(f.type));
    if (name.ends_with("_seconds")) out += fmt::format("# UNIT {} seconds\n", name);
    out += fmt::format("# HELP {} {}\n", name, escaped(f.help, true));
    out += samples_text(f);
  }
  return out + "# EOF\n";
}

namespace {

/// OTLP counts what lies between two bounds, as texts: its whole numbers have 64 bits.
void add_histogram(nlohmann::ordered_json& point, const MetricFamily& f, const MetricSample& s) {
  auto counts = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < s.counts.size(); ++i)
    counts.push_back(std::to_string(std::llround(s.counts[i] - (i > 0 ? s.counts[i - 1] : 0))));
  point["count"] = std::to_string(std::llround(s.counts.back()));
  point["sum"] = s.value;
  point["bucketCounts"] = std::move(counts);
  point["explicitBounds"] = f.bounds;
}

}  // namespace

std::string otlp_metrics_json(const std::vector<MetricFamily>& families, std::uint64_t time) {
  using Json = nlohmann::ordered_json;
  const auto attribute = [](const std::string& key, const std::string& value) {
    return Json{{"key", key}, {"value", {{"stringValue", label_value(value)}}}};
  };
  check_all(families, true);
  Json metrics = Json::array();
  for (const auto& f : families) {
    Json points = Json::array();
    for (const auto& s : f.samples) {
      Json attributes = Json::array();
      for (const auto& [name, value] : s.labels) attributes.push_back(attribute(name, value));
      const auto at = s.time ? static_cast<std::uint64_t>(std::llround(*s.time * 1e9)) : time;
      Json point{{"attributes", std::move(attributes)}, {"timeUnixNano", std::to_string(at)}};
      if (f.type == MetricType::histogram)
        add_histogram(point, f, s);
      else
        point["asDouble"] = s.value;
      points.push_back(std::move(point));
    }
    Json metric{{"name", f.name}, {"description", f.help}};
    if (f.type == MetricType::counter)
      metric["sum"] = {
          {"dataPoints", std::move(points)}, {"aggregationTemporality", 2}, {"isMonotonic", true}};
    else if (f.type == MetricType::histogram)
      metric["histogram"] = {{"dataPoints", std::move(points)}, {"aggregationTemporality", 2}};
    else
      metric["gauge"] = {{"dataPoints", std::move(points)}};
    metrics.push_back(std::move(metric));
  }
  const Json out{
      {"resourceMetrics",
       {{{"resource", {{"attributes", {attribute("service.name", "mlsysim")}}}},
         {"scopeMetrics", {{{"scope", {{"name", "mlsysim"}}}, {"metrics", std::move(metrics)}}}}}}}};
  return detail::json_text(out) + "\n";
}

}  // namespace mlsysim
