#pragma once
/// Laws: equations written once over a scalar type T.
///
/// A law is a struct with templates `Inputs<T>` and `Result<T>` and a static `solve<T>`. With double it gives
/// values. With `Recorded` it becomes a tape, from which sweeps, bounds, derivatives and derivations are
/// made. A law is pure and never branches on a value. It uses only the closed overload set: `min max select
/// clamp abs ceil floor ceil_div sqrt pow log log2 exp quadrature sum repeat named`.
/// Example: `apply<Roofline, double>` of 10 TFLOP, 40 GB, 1000 TFLOP/s and 2 TB/s gives a time of 20 ms.

#include <mlsysim/reflect/field.hpp>

#include <string_view>

namespace mlsysim {

/// Equation, source and assumptions of a law. Texts are static.
struct LawInfo {
  std::string_view id;             ///< "Roofline"
  std::string_view equation;       ///< one line of plain text: "time = max(work / peak, traffic / bandwidth)"
  std::string_view source;         ///< key of zoo/references.yaml
  std::string_view where{};        ///< "eq. (1)", "section 4.1"
  std::string_view assumptions{};  ///< one line
};

/// A struct that follows the shape of a law.
template <class L>
concept Law = requires(const typename L::template Inputs<double>& in) {
  { L::info } -> std::convertible_to<const LawInfo&>;
  { L::template solve<double>(in) } -> std::same_as<typename L::template Result<double>>;
}
&&TableStruct<typename L::template Inputs<double>>&& TableStruct<typename L::template Result<double>>;

/// Customization point: a scalar that observes law calls (`Recorded`) specializes this with
/// `static constexpr bool active = true` and `template <class L> static auto call(const Inputs<T>&)`.
template <class T> struct LawObserver { static constexpr bool active = false; };

/// Calls a law from another law or from the lowering. A scalar with an observer records the call.
/// Use: `apply<Roofline, T>({.work = w, .peak = p, ...}).time`
template <class L, class T>
[[nodiscard]] constexpr typename L::template Result<T> apply(const typename L::template Inputs<T>& in) {
  if constexpr (LawObserver<T>::active)
    return LawObserver<T>::template call<L>(in);
  else
    return L::template solve<T>(in);
}

}  // namespace mlsysim
