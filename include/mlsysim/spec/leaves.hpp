#pragma once
/// Every figure of a spec under its path, as the zoo's files name it: "memory.bandwidth", "compute.dense.fp16",
/// "convolution[2].kernel". Plugins get objects this way, and the digest of a zoo is made so.

#include <mlsysim/spec/hardware.hpp>
#include <mlsysim/table/describe.hpp>
#include <mlsysim/units/any_quantity.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mlsysim {

namespace detail {
template <class M> inline constexpr bool is_list_v = false;
template <class M> inline constexpr bool is_list_v<std::vector<M>> = true;

/// Shape of a list or map before its items are visited, for readers that fill an object.
struct NoResize {
  template <class M> void operator()(const std::string&, M&) const {}
};

template <class M, class F, class R> void visit_leaf(M& member, std::string& path, F& f, R& resize);

template <class S, class F, class R> void visit_struct(S& object, std::string& path, F& f, R& resize) {
  using Plain = std::remove_const_t<S>;
  for_each_field<Plain>([&](const auto& row) {
    const auto size = path.size();
    if (size > 0) path += '.';
    path += row.name;
    visit_leaf(object.*row.member, path, f, resize);
    path.resize(size);
  });
}

template <class M, class F, class R> void visit_leaf(M& member, std::string& path, F& f, R& resize) {
  using Plain = std::remove_const_t<M>;
  const auto size = path.size();
  if constexpr (std::is_same_v<Plain, RatePerPrecision>) {
    for (std::size_t i = 0; i < kPrecisions; ++i) {
      (path += '.') += name_of(static_cast<Precision>(i));
      f(std::string_view(path), member.rates[i]);
      path.resize(size);
    }
  } else if constexpr (std::is_same_v<Plain, std::map<std::string, double>>) {
    resize(path, member);
    for (auto& [key, value] : member) {
      (path += '.') += key;
      f(std::string_view(path), value);
      path.resize(size);
    }
  } else if constexpr (is_list_v<Plain>) {
    resize(path, member);
    for (std::size_t i = 0; i < member.size(); ++i) {
      ((path += '[') += std::to_string(i)) += ']';
      visit_leaf(member[i], path, f, resize);
      path.resize(size);
    }
  } else if constexpr (HasFields<Plain>) {
    visit_struct(member, path, f, resize);
  } else {
    f(std::string_view(path), member);
  }
}
}  // namespace detail

/// Calls `f(path, member)` for every leaf: a quantity, a number, a flag, a text, a choice, an AnyQuantity, a pointer
/// to a spec, or an optional of these. `resize(path, list)` is called before the items of a list or map.
template <class S, class F, class R = detail::NoResize> void for_each_spec_leaf(S& object, F&& f, R&& resize = {}) {
  std::string path;
  detail::visit_struct(object, path, f, resize);
}

}  // namespace mlsysim
