#pragma once
/// Copies a table struct over double into the same struct over another scalar.

#include <mlsysim/reflect/field.hpp>

#include <utility>

namespace mlsysim {

/// `View<T>` with the numbers of `View<double>`. Members that hold no scalar are copied.
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
