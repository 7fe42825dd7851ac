#pragma once
/// The method behind a tool's answer: exact for laws, numerical for other resolvers.
///
/// Example: `describe_method(Method::scalar_loop)` is "scalar loop (the resolver is not a law)".

#include <array>
#include <cstdint>
#include <string_view>

namespace mlsysim {

/// The method of one answer.
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
