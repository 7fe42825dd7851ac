#pragma once
/// How a tool obtained its answer; every result carries one.

#include <cstdint>
#include <string_view>

namespace mlsysim {

/// How an answer was obtained.
enum class Method : std::uint8_t {
  exact,                ///< the law itself, run on the scalar that the question needs
  central_differences,  ///< slopes from neighbouring points of a resolver that is not a law
  scalar_loop,          ///< one call per point, because the resolver is not a law
  sampled,              ///< a range seen at sampled points; an inner estimate, not a bound
};

/// One line for reports.
[[nodiscard]] constexpr std::string_view describe_method(Method method) {
  switch (method) {
    case Method::exact:
      return "exact";
    case Method::central_differences:
      return "central differences (the resolver is not a law)";
    case Method::scalar_loop:
      return "scalar loop (the resolver is not a law)";
    case Method::sampled:
      return "sampled (the resolver is not a law; not a bound)";
  }
  return "";
}

}  // namespace mlsysim
