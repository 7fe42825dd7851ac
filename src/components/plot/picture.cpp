#include <mlsysim/plot/picture.hpp>

#include "detail/scale.hpp"

#include <mlsysim/report/detail/markup.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr const char* kPicture{"mlsysim.picture.001"};

/// Every cell of a column suits the axis.
void check_column(const Picture& picture, const PictureMark& mark, const std::string& name,
                  const PictureAxis& axis) {
  if (name.empty()) return;
  const auto c = column_of(mark.data, name);
  for (const auto& row : mark.data.rows) {
    if (axis.scale != Scale::category) {
      (void)number_in(row[c], axis.unit);
      continue;
    }
    const auto words = words_of(row[c]);
    if (std::find(axis.categories.begin(), axis.categories.end(), words) == axis.categories.end())
      throw InputError(
          kPicture,
          fmt::format("the picture '{}' has no such category on its axis '{}'", picture.kind, axis.title), "",
          fmt::format("'{}'", words), fmt::format("one of {}", fmt::join(axis.categories, ", ")));
  }
}

}  // namespace

std::optional<double> number_in(const Table::Cell& cell, std::string_view unit) {
  const auto* x = std::get_if<double>(&cell.value);
  if (x == nullptr || !std::isfinite(*x)) return std::nullopt;
  if (unit.empty()) return *x;
  return AnyQuantity::from_base(*x, cell.exps).in(unit);
}

std::string words_of(const Table::Cell& cell) { return detail::cell_words(cell); }

std::size_t column_of(const Table& table, std::string_view name) {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].name == name) return c;
    names.push_back(table.columns[c].name);
  }
  throw InputError({.id = "mlsysim.picture.002",
                    .message = fmt::format("the table '{}' has no column '{}'", table.title, name),
                    .found = fmt::format("'{}'", name),
                    .expected = fmt::format("one of {}", fmt::join(names, ", ")),
                    .hint = did_you_mean(name, names)});
}

std::string readable_unit(double largest, const Exponents& exps) {
  if (exps.dimensionless()) return {};
  if (!(std::abs(largest) > 0) || !std::isfinite(largest)) return canonical_unit(exps);
  const auto text = pretty(AnyQuantity::from_base(std::abs(largest), exps));
  const auto blank = text.find(' ');
  return blank == std::string::npos ? canonical_unit(exps) : text.substr(blank + 1);
}

void relabel(Picture& picture, std::string_view from, const std::string& to) {
  bool found = from == "x" || from == "y";
  std::vector<std::string> words{"x", "y"};
  const auto take = [&](std::string& text) {
    if (text.empty()) return;
    if (std::find(words.begin(), words.end(), text) == words.end()) words.push_back(text);
    if (text == from) text = to, found = true;
  };
  if (from == "x") picture.x.title = to;
  if (from == "y") picture.y.title = to;
  for (auto* axis : {&picture.x, &picture.y}) {
    take(axis->title);
    for (auto& category : axis->categories) take(category);
  }
  for (auto& mark : picture.marks)
    for (const auto* name : {&mark.x, &mark.y, &mark.series, &mark.label}) {
      if (name->empty()) continue;
      const auto c = column_of(mark.data, *name);
      for (auto& row : mark.data.rows)
        if (auto* text = std::get_if<std::string>(&row[c].value)) take(*text);
    }
  if (!found)
    throw InputError({.id = "mlsysim.picture.073",
                      .message = fmt::format("the picture '{}' says this nowhere", picture.kind),
                      .key = "--label",
                      .found = fmt::format("'{}'", from),
                      .expected = fmt::format("one of {}", fmt::join(words, ", ")),
                      .hint = did_you_mean(from, words)});
}

void check(const Picture& picture) {
  if (picture.title.empty() || picture.description.empty())
    throw InputError(kPicture, fmt::format("the picture '{}' does not say what it shows", picture.kind), "",
                     "no title or no description", "both");
  if (picture.marks.empty())
    throw InputError(kPicture, fmt::format("the picture '{}' draws nothing", picture.kind), "", "no mark",
                     "one at least");
  for (const auto& axis : {&picture.x, &picture.y})
    if (axis->scale == Scale::category && axis->categories.empty())
      throw InputError(
          kPicture, fmt::format("the picture '{}' has nothing on its axis '{}'", picture.kind, axis->title),
          "", "no category", "one at least");
  for (const auto& mark : picture.marks) {
    check_column(picture, mark, mark.x, picture.x);
    check_column(picture, mark, mark.x_end, picture.x);
    check_column(picture, mark, mark.y, picture.y);
    check_column(picture, mark, mark.y_end, picture.y);
    const detail::MarkColumns all(mark);  // says which column there is not
    if (mark.shape == MarkShape::cell && all.amount == detail::kNoColumn)
      throw InputError(kPicture, fmt::format("the cells of the picture '{}' have no amount", picture.kind),
                       "", "no column", "the name of one");
  }
}

}  // namespace mlsysim
