#include "detail/frame.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {
namespace {

constexpr double kLegendLine = 20, kSwatch = 26;
constexpr double kLeast = 40;  // pixels of height to draw in

double category_pixels(const PlacedAxis& axis) {
  return static_cast<double>(axis.stated().categories.size());
}

double left_margin(const PlacedAxis& y) {
  if (y.stated().scale == Scale::place) return 16;
  double widest = 0;
  for (const auto& tick : y.ticks()) widest = std::max(widest, width_of(tick.text, 12));
  const bool titled = y.stated().scale != Scale::category && !y.heading().empty();
  return std::min(widest, 300.0) + 16 + (titled ? 22 : 0);
}

double plot_height(const PlacedAxis& y) {
  if (y.stated().scale == Scale::category) return std::max(60.0, 25 * category_pixels(y));
  return y.stated().scale == Scale::place ? 400 : 330;
}

}  // namespace

double width_of(std::string_view text, double size) {
  double units = 0;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if ((u & 0xc0) == 0x80) continue;  // within a character of several bytes
    const bool narrow = std::string_view("iljtfrI.,:;|!' ()[]").find(c) != std::string_view::npos;
    const bool wide = u >= 0x80 || std::string_view("mwMW%@").find(c) != std::string_view::npos;
    units += narrow ? 0.40 : wide ? 0.97 : (c >= 'A' && c <= 'Z') ? 0.72 : 0.63;
  }
  return units * size;
}

std::vector<std::string> lines_of(std::string_view text, double size, double width) {
  std::vector<std::string> out;
  std::string line;
  while (!text.empty()) {
    const auto blank = std::min(text.find(' '), text.size());
    const std::string word(text.substr(0, blank));
    text.remove_prefix(std::min(blank + 1, text.size()));
    const auto longer = line.empty() ? word : line + " " + word;
    if (!line.empty() && width_of(longer, size) > width) {
      out.push_back(std::move(line));
      line = word;
    } else {
      line = longer;
    }
  }
  if (!line.empty()) out.push_back(std::move(line));
  return out;
}

PictureFrame::PictureFrame(const Picture& p)
    : scale_(p.style.font / PictureStyle{}.font),
      width_(p.style.width / scale_),
      picture_(&p),
      x_(p, PlacedAxis::Along::x),
      y_(p, PlacedAxis::Along::y),
      series_(series_of(p)),
      title_(lines_of(p.title, 17, width_ - 32)) {
  legend_top_ = 14 + 22 * static_cast<double>(title_.size()) + 8;
  area_.x = left_margin(y_);
  area_.width = width_ - area_.x - 26;
  double top = legend_top_;
  if (const auto places = legend(); !places.empty())
    top += kLegendLine * static_cast<double>(places.back().line + 1);
  area_.y = top + 10;
  area_.height = plot_height(y_);
  for (const auto& note : p.notes)
    for (auto& line : lines_of(note, 11, width_ - 32)) foot_.push_back(std::move(line));
  if (!p.sources.empty())
    for (auto& line : lines_of(fmt::format("Sources: {}", fmt::join(p.sources, "; ")), 11, width_ - 32))
      foot_.push_back(std::move(line));
  const bool bare = x_.stated().scale == Scale::place;
  const double others = area_.y + (bare ? 12 : 46) + 15 * static_cast<double>(foot_.size()) + 8;
  if (p.style.height > 0) area_.height = std::max(kLeast, p.style.height / scale_ - others);
  height_ = others + area_.height;
}

std::vector<PictureFrame::LegendPlace> PictureFrame::legend() const {
  std::vector<LegendPlace> out;
  double at = 16;
  std::size_t line = 0;
  for (const auto& name : series_) {
    const double width = kSwatch + width_of(name, 12) + 18;
    if (at + width > width_ && at > 16) {
      at = 16;
      ++line;
    }
    out.push_back({at, line});
    at += width;
  }
  return out;
}

}  // namespace mlsysim::detail
