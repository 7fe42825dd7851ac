#pragma once
/// Checked sums of exponents, all eleven at once: a byte-wise loop costs more than the whole product around
/// it.

#include <mlsysim/units/dimension.hpp>

#include <cstdint>
#include <cstring>

namespace mlsysim::detail {

/// Eight signed bytes, added or subtracted in one word; `bad` collects lanes that leave [-127, 127].
struct ByteLanes {
  static constexpr std::uint64_t high = 0x8080808080808080ULL, low = 0x7f7f7f7f7f7f7f7fULL,
                                 one = 0x0101010101010101ULL;
  static constexpr std::uint64_t add(std::uint64_t a, std::uint64_t b, std::uint64_t& bad) {
    const std::uint64_t sum = ((a & low) + (b & low)) ^ ((a ^ b) & high);
    bad |= ~(a ^ b) & (a ^ sum) & high;
    return checked(sum, bad);
  }
  static constexpr std::uint64_t subtract(std::uint64_t a, std::uint64_t b, std::uint64_t& bad) {
    const std::uint64_t rest = ((a | high) - (b & low)) ^ ((a ^ ~b) & high);
    bad |= (a ^ b) & (a ^ rest) & high;
    return checked(rest, bad);
  }

 private:
  static constexpr std::uint64_t checked(std::uint64_t x, std::uint64_t& bad) {
    const std::uint64_t zero_where_minimum = x ^ high;
    bad |= (zero_where_minimum - one) & ~zero_where_minimum & high;
    return x;
  }
};

/// Exponents of `a * b` (sign 1) or `a / b` (sign -1); false, and `out` untouched, when one leaves [-127,
/// 127].
[[nodiscard]] inline bool combine_exponents(Exponents& out, const Exponents& a, const Exponents& b,
                                            int sign) {
  // Cut into 8, 2 and 1 bytes, as the compiler itself copies the struct: any other cut reads what several
  // stores wrote, for which the processor waits longer than the whole product takes.
  static_assert(sizeof(Exponents) == 11);
  struct Words {
    std::uint64_t first = 0, rest = 0;
  };
  const auto load = [](const Exponents& e) {
    Words w;
    std::memcpy(&w.first, &e, 8);
    std::uint16_t two = 0;
    std::uint8_t one = 0;
    std::memcpy(&two, reinterpret_cast<const char*>(&e) + 8, 2);
    std::memcpy(&one, reinterpret_cast<const char*>(&e) + 10, 1);
    w.rest = two | std::uint64_t{one} << 16;
    return w;
  };
  const Words x = load(a), y = load(b);
  std::uint64_t bad = 0;
  Words sum;
  if (sign > 0) {
    sum = {ByteLanes::add(x.first, y.first, bad), ByteLanes::add(x.rest, y.rest, bad)};
  } else {
    sum = {ByteLanes::subtract(x.first, y.first, bad), ByteLanes::subtract(x.rest, y.rest, bad)};
  }
  if (bad != 0) return false;
  std::memcpy(static_cast<void*>(&out), &sum.first, 8);
  const auto two = static_cast<std::uint16_t>(sum.rest & 0xffff);
  const auto one = static_cast<std::uint8_t>(sum.rest >> 16 & 0xff);
  std::memcpy(reinterpret_cast<char*>(&out) + 8, &two, 2);
  std::memcpy(reinterpret_cast<char*>(&out) + 10, &one, 1);
  return true;
}

/// Multiplies `e` by `b^power`; false when an exponent leaves [-127, 127].
[[nodiscard]] inline bool accumulate_exponents(Exponents& e, const Exponents& b, int power) {
  for (int i = 0; i < (power < 0 ? -power : power); ++i)
    if (!combine_exponents(e, e, b, power)) return false;
  return true;
}

}  // namespace mlsysim::detail
