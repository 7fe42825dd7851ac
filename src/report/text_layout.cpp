#include <mlsysim/report/detail/text_layout.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {

std::string painted(std::string_view text, Paint paint, Colour colour) {
  if (colour == Colour::off || paint == Paint::plain) return std::string(text);
  static constexpr std::string_view codes[] = {"", "1", "2", "32", "31", "33"};
  std::string out = "\x1b[";
  out += codes[static_cast<std::size_t>(paint)];
  out += 'm';
  out += text;
  return out + "\x1b[0m";
}

std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {  // a color code runs up to its 'm'
      while (i < text.size() && text[i] != 'm') ++i;
      continue;
    }
    width += (static_cast<unsigned char>(text[i]) & 0xC0u) != 0x80u;
  }
  return width;
}

std::string padded(std::string_view text, std::size_t width) {
  const auto shown = shown_width(text);
  return std::string(text) + std::string(width > shown ? width - shown : 0, ' ');
}

std::string padded_left(std::string_view text, std::size_t width) {
  const auto shown = shown_width(text);
  return std::string(width > shown ? width - shown : 0, ' ') + std::string(text);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto blank = std::min(text.find(' ', at), text.size());
    const auto word = text.substr(at, blank - at);
    if (!line.empty() && shown_width(line) + 1 + shown_width(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
    at = blank + 1;
  }
  if (!line.empty() || lines.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string bar(double share, std::size_t width) {
  const double clean = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 1.0;
  const auto full = static_cast<std::size_t>(std::lround(clean * static_cast<double>(width)));
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += i < full ? "█" : "░";
  return out;
}

void Box::line(std::string_view text, std::size_t indent) {
  const auto lead = std::min(text.find_first_not_of(' '), text.size());
  const auto lines = wrapped(text.substr(lead), inner() - std::max(lead, indent));
  for (std::size_t i = 0; i < lines.size(); ++i)
    lines_.push_back(std::string(i == 0 ? lead : indent, ' ') + lines[i]);
}

std::string Box::text(std::string_view title) const {
  const auto fill = [&](std::size_t n) {
    std::string out;
    for (std::size_t i = 0; i < n; ++i) out += "─";
    return out;
  };
  const std::size_t used = shown_width(title) + 5;
  std::string out =
      "╭─ " + painted(title, Paint::bold, colour_) + " " + fill(used < width_ ? width_ - used : 0) + "╮\n";
  for (const auto& l : lines_) {
    if (l == kRule)
      out += "├" + fill(width_ - 2) + "┤\n";
    else
      out += "│ " + padded(l, inner()) + " │\n";
  }
  return out + "╰" + fill(width_ - 2) + "╯\n";
}

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace mlsysim::detail
