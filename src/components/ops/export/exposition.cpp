#include <mlsysim/ops/export/fetch.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace mlsysim {
namespace {

bool name_char(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
         (!first && c >= '0' && c <= '9');
}

/// Takes parts off the front of a line.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  void blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
  }
  std::string name() {
    std::size_t n = 0;
    while (n < rest_.size() && name_char(rest_[n], n == 0)) ++n;
    std::string out(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return out;
  }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<std::string> quoted() {
    if (!take('"')) return std::nullopt;
    std::string out;
    while (!rest_.empty() && rest_.front() != '"') {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\') {
        if (rest_.empty()) return std::nullopt;
        c = rest_.front() == 'n' ? '\n' : rest_.front();
        rest_.remove_prefix(1);
      }
      out += c;
    }
    return take('"') ? std::optional(std::move(out)) : std::nullopt;
  }
  std::optional<double> number() {
    const auto end = std::min(rest_.find_first_of(" \t"), rest_.size());
    auto text = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (text == "+Inf" || text == "Inf") return std::numeric_limits<double>::infinity();
    if (text == "-Inf") return -std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text.starts_with('+')) text.remove_prefix(1);
    double out = 0;
    const auto [to, bad] = std::from_chars(text.data(), text.data() + text.size(), out);
    return bad == std::errc{} && !text.empty() && to == text.data() + text.size() ? std::optional(out)
                                                                                  : std::nullopt;
  }

 private:
  std::string_view rest_;
};

std::optional<ExposedSample> sample_of(std::string_view line) {
  LineReader in(line);
  in.blanks();
  ExposedSample out{.name = in.name(), .labels = {}};
  if (out.name.empty()) return std::nullopt;
  if (in.take('{')) {
    in.blanks();
    while (!in.take('}')) {
      const auto label = in.name();
      in.blanks();
      if (label.empty() || !in.take('=')) return std::nullopt;
      in.blanks();
      auto value = in.quoted();
      if (!value) return std::nullopt;
      out.labels.insert_or_assign(label, std::move(*value));
      in.blanks();
      if (in.take(',')) in.blanks();
    }
  }
  in.blanks();
  const auto value = in.number();  // a time may follow, which is not looked at
  if (!value) return std::nullopt;
  out.value = *value;
  return out;
}

}  // namespace

Exposition read_exposition(std::string_view text) {
  Exposition out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos || line.front() == '#') continue;
    if (auto sample = sample_of(line))
      out.samples.push_back(std::move(*sample));
    else
      ++out.damaged;
  }
  return out;
}

}  // namespace mlsysim
