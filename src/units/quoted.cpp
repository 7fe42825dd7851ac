#include <mlsysim/units/detail/quoted.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace mlsysim::detail {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// "-3.5", "+10 %", "-8.2 GB/s", "-".
bool is_amount(std::string_view text) {
  text.remove_prefix(1);
  if (text.empty()) return true;
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc() && error != std::errc::result_out_of_range) return false;
  if (text.front() == '-') return false;
  return std::all_of(end, text.data() + text.size(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c >= 0x80 ||
           std::string_view(" /%^*.$").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

std::string shown(std::string_view text, std::string_view kept) {
  std::string out;
  for (const char c : text) {
    if (is_control(c) && kept.find(c) == std::string_view::npos)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string csv_field(std::string_view text) {
  const char first = text.empty() ? 'x' : text.front();
  const bool runs = first == '=' || first == '@' || first == '\t' || first == '\r' || first == '\n' ||
                    ((first == '+' || first == '-') && !is_amount(text));
  const bool quotes = text.find_first_of(",\"\n\r") != std::string_view::npos;
  const bool controls = std::any_of(text.begin(), text.end(), is_control);
  if (!runs && !quotes && !controls) return std::string(text);
  std::string out = quotes ? "\"" : "";
  if (runs) out += '\'';
  for (const char c : controls ? shown(text, "\t\n\r") : std::string(text)) {
    if (c == '"') out += '"';
    out += c;
  }
  if (quotes) out += '"';
  return out;
}

std::string shell_word(std::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 ||
                        std::string_view("_./:=,-+@%").find(static_cast<char>(c)) != std::string_view::npos);
  });
  if (plain) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string one_line(std::string_view text) { return shown(text, ""); }

}  // namespace mlsysim::detail
