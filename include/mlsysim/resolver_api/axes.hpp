#pragma once
/// Axes of numbers or quantities, and the grid of all their combinations as candidates of a search.
///
///   grid.size() = product of axis sizes      the last axis runs fastest
///
/// Example: `Grid<Plan>{divisors_of(8), range(1, 3)}` has 4 x 3 = 12 points, and `grid[4]` is {2, 2}.

#include <mlsysim/reflect/axis.hpp>
#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/units/quantity.hpp>

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <vector>

namespace mlsysim {

/// An axis of these numbers.
template <class... N>
  requires(std::is_arithmetic_v<N>&&...)
[[nodiscard]] Axis choices(N... numbers) { return {{static_cast<double>(numbers)...}, Exponents{}}; }
/// An axis of these quantities, all of one dimension.
template <class D, class... Q>
  requires(std::is_same_v<Q, Quantity<D, double>>&&...)
[[nodiscard]] Axis choices(const Quantity<D, double>& first, const Q&... more) {
  return {{first.base(), more.base()...}, D::exps};
}
/// first, first + step, ... up to and including `last`. @throws DomainError unless first <= last and step > 0
[[nodiscard]] Axis range(double first, double last, double step = 1);
/// The divisors of a whole number, ascending. @throws DomainError unless n is whole, >= 1 and <= 2^53
[[nodiscard]] Axis divisors_of(double n);

namespace detail {
void check_axes(std::span<const FieldInfo> fields, std::span<const Axis> axes);
}

/// All combinations of axes, as structs `P` with a field table over double. A point is made from its index.
template <class P> class Grid {
 public:
  /// One axis per member of `P`, in the order of its table. @throws InputError or DimensionError where they
  /// do not fit
  Grid(std::initializer_list<Axis> axes) : axes_(axes) {
    static_assert(TableStruct<P>);
    detail::check_axes(describe<P>(), axes_);
    for (const auto& a : axes_) size_ *= a.size();
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] P operator[](std::size_t index) const {
    P point{};
    const auto fields = describe<P>();
    for (std::size_t i = axes_.size(); i-- > 0; index /= axes_[i].size())
      fields[i].write(&point, axes_[i][index % axes_[i].size()]);
    return point;
  }

  class Iterator {
   public:
    using value_type = P;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const Grid& grid, std::size_t index) : grid_(&grid), index_(index) {}
    P operator*() const { return (*grid_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    Iterator operator++(int) {
      auto old = *this;
      ++index_;
      return old;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.index_ == b.index_; }

   private:
    const Grid* grid_ = nullptr;
    std::size_t index_ = 0;
  };
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size_}; }

 private:
  std::vector<Axis> axes_;
  std::size_t size_ = 1;
};

}  // namespace mlsysim
