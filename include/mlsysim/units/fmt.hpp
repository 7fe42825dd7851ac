#pragma once
/// {fmt} formatters for quantities and shared texts. Only this public header includes fmt.
///
/// `{}` rounds to 4 digits, `{:.6}` to 6. `{:GB/s}` and `{:.6 GB/s}` choose the unit. `{:exact}` is the exact
/// text. A unit that does not fit the quantity throws UnitError or DimensionError when the text is made.
/// Example: `fmt::format("{:.2 GB/s}", q)` of 3.35 TB/s is "3400 GB/s". `{}` of 0.0162 s is "16.2 ms".

#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/shared_text.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>

template <> struct fmt::formatter<mlsysim::SharedText> : fmt::formatter<std::string_view> {
  template <class Context> auto format(const mlsysim::SharedText& text, Context& ctx) const {
    return fmt::formatter<std::string_view>::format(text.view(), ctx);
  }
};

template <> struct fmt::formatter<mlsysim::AnyQuantity> {
  constexpr auto parse(fmt::format_parse_context& ctx) {
    const auto* it = ctx.begin();
    const auto* const end = ctx.end();
    if (it != end && *it == '.') {
      int digits = 0;
      for (++it; it != end && *it >= '0' && *it <= '9' && digits < 100; ++it)
        digits = digits * 10 + (*it - '0');
      if (digits < 1 || digits > 17)
        throw fmt::format_error("a quantity is written with 1 to 17 digits: {:.4 GB/s}");
      digits_ = digits;
      while (it != end && *it == ' ') ++it;
    }
    const auto* const from = it;
    while (it != end && *it != '}') ++it;
    unit_ = std::string_view(from, static_cast<std::size_t>(it - from));
    return it;
  }

  template <class Context> auto format(const mlsysim::AnyQuantity& q, Context& ctx) const {
    const std::string text = unit_ == "exact" ? q.str()
                             : unit_.empty()  ? mlsysim::pretty(q, digits_)
                                              : mlsysim::pretty(q, unit_, digits_);
    return fmt::format_to(ctx.out(), "{}", text);
  }

 private:
  int digits_ = 4;
  std::string_view unit_;  // points into the format string, which outlives the formatting
};

template <class D>
struct fmt::formatter<mlsysim::Quantity<D, double>> : fmt::formatter<mlsysim::AnyQuantity> {
  template <class Context> auto format(const mlsysim::Quantity<D, double>& q, Context& ctx) const {
    return fmt::formatter<mlsysim::AnyQuantity>::format(mlsysim::AnyQuantity(q), ctx);
  }
};
