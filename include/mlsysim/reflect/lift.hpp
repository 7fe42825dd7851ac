#pragma once
/// Copies a table struct over double into the struct over another scalar, row by row of its table.
///
/// Only members in `fields()` are copied. Categories keep their defaults, see `copy_categories`.
/// Example: a `Plan<double>` with `tp` 8 becomes a `Plan<Recorded>` whose `tp` is the constant 8.

#include <mlsysim/reflect/field.hpp>

#include <utility>

namespace mlsysim {

/// `View<T>` with the numbers of `View<double>`.
template <class T, template <class> class View>
[[nodiscard]] constexpr View<T> lift(const View<double>& from) {
  if constexpr (std::is_same_v<T, double>) {
    return from;
  } else {
    View<T> to{};
    const auto source = View<double>::fields();
    const auto target = View<T>::fields();
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((to.*(target.template get<I>().member) = from.*(source.template get<I>().member)), ...);
    }
    (std::make_index_sequence<decltype(View<double>::fields())::size>{});
    return to;
  }
}

}  // namespace mlsysim
