#pragma once
// Places and ticks of an axis.

#include <mlsysim/plot/picture.hpp>

#include <span>
#include <string>
#include <vector>

namespace mlsysim::detail {

struct Tick {
  double place;  ///< within [0, 1]
  std::string text;
};

/// An axis with its ends settled by everything that is drawn along it.
class PlacedAxis {
 public:
  enum class Along : std::uint8_t { x, y };
  PlacedAxis(const Picture& picture, Along along);

  /// Place of a cell within [0, 1]; of categories the middle of their band. Empty where it has none.
  [[nodiscard]] std::optional<double> place(const Table::Cell& cell) const;
  [[nodiscard]] double place(double value) const;
  /// Width of one category, of 1.
  [[nodiscard]] double band() const;
  [[nodiscard]] const std::vector<Tick>& ticks() const { return ticks_; }
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }
  [[nodiscard]] const PictureAxis& stated() const { return *axis_; }
  /// "arithmetic intensity [FLOP/B]"
  [[nodiscard]] std::string heading() const;

 private:
  void settle_ends(double low, double high);
  void make_ticks();

  const PictureAxis* axis_;
  double low_ = 0, high_ = 1;
  std::vector<Tick> ticks_;
};

/// The distinct texts of the series columns, in order of appearance.
[[nodiscard]] std::vector<std::string> series_of(const Picture& picture);
/// Index of the series of a row; 0 where the mark has none.
[[nodiscard]] std::size_t series_at(const PictureMark& mark, std::span<const Table::Cell> row,
                                    std::span<const std::string> all);
/// Whether the bars of a mark stand at categories of the y axis.
[[nodiscard]] bool lies(const Picture& picture, const PictureMark& mark);

/// A column of a mark, found once; `npos` where the mark names none.
inline constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);
struct MarkColumns {
  explicit MarkColumns(const PictureMark& mark);
  std::size_t x, y, x_end, y_end, series, label, amount;
};

}  // namespace mlsysim::detail
