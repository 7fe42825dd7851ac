#include <mlsysim/ops/export/compile_metrics.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/detail/quoted.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace mlsysim {
namespace {

using Json = nlohmann::ordered_json;
using Fields = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kMostRecords = 1000;        // of a body
constexpr std::size_t kLargestBody = 900'000;     // [B], below the usual 1 MB
constexpr std::size_t kLongestLine = 256 * 1024;  // [B] of a line that Loki takes

bool is_plain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != '"' && c != '=' && c != '\\' && c != 0x7f;
  });
}

std::string logfmt_value(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else
      out += c;
  }
  return out + "\"";
}

std::string logfmt_line(const Fields& fields) {
  std::string out;
  for (const auto& [key, value] : fields)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", key, logfmt_value(value));
  return out;
}

constexpr Fault kLine{.id = "mlsysim.telemetry.002",
                      .message = "a line is no logfmt",
                      .expected = "key=value, divided by blanks",
                      .hint = "quote values with blanks"};

/// A quoted value from behind its first quote; `at` is left behind the last.
std::string quoted(std::string_view line, std::size_t& at) {
  std::string out;
  for (; at < line.size() && line[at] != '"'; ++at) {
    if (line[at] != '\\') {
      out += line[at];
      continue;
    }
    if (++at == line.size()) throw InputError(kLine.with({.found = std::string(line.substr(0, 60))}));
    const char c = line[at];
    out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
  }
  if (at == line.size()) throw InputError(kLine.with({.found = std::string(line.substr(0, 60))}));
  ++at;
  return out;
}

Fields fields_of_line(std::string_view line) {
  Fields out;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == ' ') {
      ++at;
      continue;
    }
    const auto equal = line.find('=', at);
    if (equal == std::string_view::npos || equal == at)
      throw InputError(kLine.with({.found = std::string(line.substr(0, 60))}));
    const auto key = line.substr(at, equal - at);
    at = equal + 1;
    if (at < line.size() && line[at] == '"') {
      out.emplace_back(key, quoted(line, ++at));
    } else {
      const auto end = std::min(line.find(' ', at), line.size());
      out.emplace_back(key, line.substr(at, end - at));
      at = end;
    }
  }
  return out;
}

Json metadata_of(const Fields& fields) {
  Json out = Json::object();
  for (const auto& [key, value] : fields)
    if (key != "kind" && key != "level" && key != "reason" && !value.empty()) out[key] = label_value(value);
  return out;
}

}  // namespace

std::string logfmt_text(const std::vector<LogRecord>& log) {
  std::string out;
  for (const auto& r : log) out += logfmt_line(r.fields) + "\n";
  return out;
}

std::vector<Fields> read_logfmt(std::string_view text) {
  std::vector<Fields> out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    out.push_back(fields_of_line(text.substr(0, end)));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return out;
}

std::string json_lines(const std::vector<LogRecord>& log) {
  std::string out;
  for (const auto& r : log) {
    Json row{{"time_unix_nano", std::to_string(r.time)}};
    for (const auto& [key, value] : r.fields) row[key] = value;
    out += detail::json_text(row) + "\n";
  }
  return out;
}

std::string csv_text(const std::vector<LogRecord>& log) {
  if (log.empty()) return {};
  std::string out;
  const auto cell = [&](std::string_view text, bool first) {
    if (!first) out += ',';
    out += detail::csv_field(text);
  };
  for (std::size_t i = 0; i < log[0].fields.size(); ++i) cell(log[0].fields[i].first, i == 0);
  out += "\r\n";
  for (const auto& r : log) {
    for (std::size_t i = 0; i < r.fields.size(); ++i) cell(r.fields[i].second, i == 0);
    out += "\r\n";
  }
  return out;
}

namespace {

/// The longest value, halved and marked, so that a line stays one that can be read. @return whether there was
/// one to cut: many short ones stay as they are
bool cut_longest(Fields& fields) {
  auto& value = std::max_element(fields.begin(), fields.end(), [](const auto& a, const auto& b) {
                  return a.second.size() < b.second.size();
                })->second;
  constexpr std::size_t least = 64;  // [B]
  if (value.size() < least) return false;
  auto end = value.size() / 2;
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0U) == 0x80) --end;
  value = value.substr(0, end) + "...[cut]";
  return true;
}

/// A record as an element of `values`; values are cut until a server takes it.
std::string loki_entry(const LogRecord& record, LokiMetadata metadata) {
  auto fields = record.fields;
  for (;;) {
    const auto line = logfmt_line(fields);
    Json entry{std::to_string(record.time), line};
    if (metadata == LokiMetadata::structured) entry.push_back(metadata_of(record.fields));
    auto text = detail::json_text(entry);
    // Control characters become six of JSON, so that a line may be short and its entry long.
    if (line.size() <= kLongestLine && text.size() <= kLargestBody) return text;
    if (!cut_longest(fields)) return text;
  }
}

}  // namespace

std::vector<std::string> loki_bodies(const std::vector<LogRecord>& log, const std::string& job,
                                     const std::string& kind, LokiMetadata metadata) {
  const Json stream{{"service_name", "mlsysim"}, {"job", job}, {"kind", kind}};
  const auto head = R"({"streams":[{"stream":)" + detail::json_text(stream) + R"(,"values":[)";
  std::vector<std::string> out;
  std::string body;
  std::size_t records = 0;
  const auto close = [&] {
    if (records > 0) out.push_back(head + body + "]}]}");
    body.clear();
    records = 0;
  };
  for (const auto& record : log) {
    const auto entry = loki_entry(record, metadata);
    if (records == kMostRecords || body.size() + entry.size() > kLargestBody) close();
    if (records++ > 0) body += ',';
    body += entry;
  }
  close();
  return out;
}

}  // namespace mlsysim
