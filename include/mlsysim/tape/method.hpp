#pragma once
/// How a tool obtained its answer; every result carries one.

#include <array>
#include <cstdint>
#include <string_view>

namespace mlsysim {

/// How an answer was obtained.
enum class Method : std::uint8_t {
  exact,                ///< the law itself, run on the scalar that the question needs
  central_differences,  ///< slopes from neighboring points of a resolver that is not a law
  scalar_loop,          ///< one call per point, because the resolver is not a law
  sampled,              ///< a range seen at sampled points; an inner estimate, not a bound
};

/// One line for reports.
[[nodiscard]] constexpr std::string_view describe_method(Method method) {
  constexpr std::array<std::string_view, 4> kLines{"exact", "central differences (the resolver is not a law)",
                                                   "scalar loop (the resolver is not a law)",
                                                   "sampled (the resolver is not a law; not a bound)"};
  return kLines[static_cast<std::size_t>(method)];
}

}  // namespace mlsysim
