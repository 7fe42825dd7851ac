#include "detail/decimal.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

namespace mlsysim::detail {
namespace {

using u64 = std::uint64_t;
constexpr u64 kExact = u64{1} << 53;                       // whole numbers up to here are doubles
constexpr u64 kScaleLimit = 1'000'000'000'000'000'000ULL;  // so that 10 * factor still fits in 64 bits
constexpr int kMaxPow10 = 400;                             // beyond the range of double either way

constexpr std::array<double, 23> kPow10 = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                           1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                           1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// a * b where the product stays within `limit`; 0 is not a factor here.
constexpr std::optional<u64> bounded_product(u64 a, u64 b, u64 limit) {
  if (a > limit / b) return std::nullopt;
  return a * b;
}

/// Clinger's fast path: both sides of one division or product are exact, so that it rounds once.
std::optional<double> scaled_exactly(u64 head, int exp10, const UnitScale& scale) {
  const auto numerator = bounded_product(head, scale.num, kExact);
  if (!numerator || exp10 < -22 || exp10 > 22) return std::nullopt;
  auto top = static_cast<double>(*numerator);
  if (scale.den == 1) {
    const double ten = kPow10[static_cast<std::size_t>(exp10 < 0 ? -exp10 : exp10)];
    return exp10 < 0 ? top / ten : top * ten;
  }
  constexpr double exact = static_cast<double>(kExact);
  auto bottom = static_cast<double>(scale.den);
  if (bottom > exact) return std::nullopt;
  (exp10 < 0 ? bottom : top) *= kPow10[static_cast<std::size_t>(exp10 < 0 ? -exp10 : exp10)];
  if (top > exact || bottom > exact) return std::nullopt;
  return top / bottom;
}

void strip_zeros(Decimal& d) {
  const auto first = d.digits.find_first_not_of('0');
  if (first == std::string::npos) {
    d.digits = "0";
    d.exp10 = 0;
    return;
  }
  const auto last = d.digits.find_last_not_of('0');
  d.exp10 += static_cast<int>(d.digits.size() - 1 - last);
  d.digits = d.digits.substr(first, last - first + 1);
}

void multiply(Decimal& d, u64 factor) {
  if (factor == 1) return;
  u64 carry = 0;
  for (auto it = d.digits.rbegin(); it != d.digits.rend(); ++it) {
    const u64 value = static_cast<u64>(*it - '0') * factor + carry;
    *it = static_cast<char>('0' + value % 10);
    carry = value / 10;
  }
  if (carry > 0) d.digits.insert(0, std::to_string(carry));
}

/// Carries 60 digits; what remains after them becomes a last digit 1, enough to break a tie the right way.
void divide(Decimal& d, u64 divisor) {
  if (divisor == 1) return;
  constexpr std::size_t carried = 60;
  std::string out;
  u64 rest = 0;
  const auto push = [&](u64 digit) {
    rest = rest * 10 + digit;
    const u64 q = rest / divisor;
    rest %= divisor;
    if (q > 0 || !out.empty()) out += static_cast<char>('0' + q);
  };
  for (const char c : d.digits) push(static_cast<u64>(c - '0'));
  while (rest != 0 && out.size() < carried) {
    push(0);
    --d.exp10;
  }
  if (rest != 0) {
    out += '1';
    --d.exp10;
  }
  d.digits = out.empty() ? "0" : std::move(out);
}

Decimal decimal_of(std::string_view text) {
  Decimal d;
  std::size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) d.negative = text[i++] == '-';
  bool after_point = false;
  for (; i < text.size() && (is_digit(text[i]) || text[i] == '.'); ++i) {
    if (text[i] == '.') {
      after_point = true;
    } else {
      d.digits += text[i];
      if (after_point) --d.exp10;
    }
  }
  if (i < text.size()) {  // the exponent; scan_number has already checked its form
    ++i;
    const bool down = text[i] == '-';
    if (text[i] == '-' || text[i] == '+') ++i;
    int e = 0;
    for (; i < text.size(); ++i) e = std::min(e * 10 + (text[i] - '0'), 1'000'000);
    d.exp10 += down ? -e : e;
  }
  strip_zeros(d);
  return d;
}

void apply(Decimal& d, const UnitScale& scale) {
  multiply(d, scale.num);
  divide(d, scale.den);
  d.exp10 += scale.pow10;
}

/// Cuts to `count` significant digits, halves away from zero.
Decimal cut(Decimal d, std::size_t count) {
  if (d.digits.size() <= count) return d;
  const bool up = d.digits[count] >= '5';
  d.exp10 += static_cast<int>(d.digits.size() - count);
  d.digits.resize(count);
  if (up) {
    auto it = d.digits.rbegin();
    while (it != d.digits.rend() && *it == '9') *it++ = '0';
    if (it == d.digits.rend())
      d.digits.insert(0, "1");
    else
      ++*it;
  }
  strip_zeros(d);
  return d;
}

}  // namespace

std::optional<ScannedNumber> scan_number(std::string_view text) {
  ScannedNumber n;
  std::size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) n.negative = text[i++] == '-';
  std::size_t digits = 0;
  int significant = 0;
  bool after_point = false;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !after_point) {
      after_point = true;
      continue;
    }
    if (!is_digit(c)) break;
    ++digits;
    if (after_point) --n.exp10;
    if (significant == 0 && c == '0') continue;
    if (significant < 19) {
      n.head = n.head * 10 + static_cast<u64>(c - '0');
      ++significant;
    } else {
      ++n.exp10;
      if (c != '0') n.more = true;
    }
  }
  if (digits == 0) return std::nullopt;
  // "1EFLOP" is one EFLOP: an `e` belongs to the number only with digits after it.
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    std::size_t j = i + 1;
    const bool down = j < text.size() && text[j] == '-';
    if (j < text.size() && (text[j] == '-' || text[j] == '+')) ++j;
    if (j < text.size() && is_digit(text[j])) {
      int e = 0;
      for (; j < text.size() && is_digit(text[j]); ++j) e = std::min(e * 10 + (text[j] - '0'), 1'000'000);
      n.exp10 += down ? -e : e;
      i = j;
    }
  }
  n.text = text.substr(0, i);
  return n;
}

std::optional<double> scaled(const ScannedNumber& number, const UnitScale& scale) {
  const double sign = number.negative ? -1.0 : 1.0;
  if (number.head == 0) return sign * 0.0;
  if (!number.more) {
    if (const auto x = scaled_exactly(number.head, number.exp10 + scale.pow10, scale)) return sign * *x;
  }
  Decimal d = decimal_of(number.text);
  apply(d, scale);
  return value_of(d);
}

Decimal rounded_decimal(double x, int count) {
  std::array<char, 64> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::scientific, count - 1)
          .ptr;
  return decimal_of(std::string_view(buffer.data(), static_cast<std::size_t>(end - buffer.data())));
}

Decimal shortest_decimal(double x) {
  std::array<char, 64> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::scientific).ptr;
  return decimal_of(std::string_view(buffer.data(), static_cast<std::size_t>(end - buffer.data())));
}

std::optional<double> value_of(const Decimal& d) {
  if (d.digits == "0") return d.negative ? -0.0 : 0.0;
  std::string text = d.negative ? "-" : "";
  text += d.digits;
  text += 'e';
  text += std::to_string(d.exp10);
  double x = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (status != std::errc{} || end != text.data() + text.size() || x == 0 || !std::isfinite(x))
    return std::nullopt;
  return x;
}

std::string text_of(Decimal d) {
  strip_zeros(d);
  std::string out = d.negative ? "-" : "";
  const int size = static_cast<int>(d.digits.size());
  const int lead = d.exp10 + size - 1;  // exponent of the first digit
  if (d.digits == "0") return out + "0";
  if (lead < -5 || lead > 8) {
    out += d.digits[0];
    if (size > 1) out += '.' + d.digits.substr(1);
    return out + 'e' + std::to_string(lead);
  }
  if (lead < 0) return out + "0." + std::string(static_cast<std::size_t>(-lead - 1), '0') + d.digits;
  if (d.exp10 >= 0) return out + d.digits + std::string(static_cast<std::size_t>(d.exp10), '0');
  const auto whole = static_cast<std::size_t>(lead) + 1;
  return out + d.digits.substr(0, whole) + '.' + d.digits.substr(whole);
}

std::string exact_number(double base, const UnitScale& scale) {
  if (base == 0) return std::signbit(base) ? "-0" : "0";
  if (scale.num == 1 && scale.den == 1) {
    Decimal d = shortest_decimal(base);
    d.exp10 -= scale.pow10;  // shifting the point changes no digit: this is why prefixes are exact
    return text_of(std::move(d));
  }
  Decimal wide = rounded_decimal(base, 26);
  multiply(wide, scale.den);
  divide(wide, scale.num);
  wide.exp10 -= scale.pow10;
  const auto reads_back = [&](const Decimal& d) {
    const std::string text = text_of(d);
    const auto number = scan_number(text);
    const auto back = number ? scaled(*number, scale) : std::nullopt;
    return back && *back == base;
  };
  if (const auto x = value_of(wide)) {
    const Decimal d = shortest_decimal(*x);
    if (reads_back(d)) return text_of(d);
  }
  for (const std::size_t count : {17U, 18U, 19U, 20U, 21U}) {
    const Decimal d = cut(wide, count);
    if (reads_back(d)) return text_of(d);
  }
  return text_of(std::move(wide));
}

UnitScale make_scale(u64 mul, u64 div, int pow10) {
  UnitScale s{mul, div, pow10};
  const u64 g = std::gcd(s.num, s.den);
  s.num /= g;
  s.den /= g;
  for (; s.num % 10 == 0; s.num /= 10) ++s.pow10;
  for (; s.den % 10 == 0; s.den /= 10) --s.pow10;
  return s;
}

bool accumulate(UnitScale& s, const UnitScale& other, int power) {
  s.pow10 += other.pow10 * power;
  if (s.pow10 > kMaxPow10 || s.pow10 < -kMaxPow10) return false;
  if (other.num == 1 && other.den == 1) return true;
  const u64 top = power > 0 ? other.num : other.den, bottom = power > 0 ? other.den : other.num;
  for (int i = 0; i < (power > 0 ? power : -power); ++i) {
    const u64 a = std::gcd(top, s.den), b = std::gcd(bottom, s.num);
    const auto num = bounded_product(s.num / b, top / a, kScaleLimit);
    const auto den = bounded_product(s.den / a, bottom / b, kScaleLimit);
    if (!num || !den) return false;
    s = make_scale(*num, *den, s.pow10);
  }
  return true;
}

ScaleFactors factors(const UnitScale& scale) {
  __extension__ typedef unsigned __int128 u128;
  constexpr u128 limit = ~u128{0} / 10;
  u128 top = scale.num, bottom = scale.den;
  int left = scale.pow10;
  for (; left > 0 && top <= limit; --left) top *= 10;
  for (; left < 0 && bottom <= limit; ++left) bottom *= 10;
  u128 a = top, b = bottom;
  while (b != 0) {
    const u128 r = a % b;
    a = b;
    b = r;
  }
  const auto wide = [](u128 v, int exp10) {
    Decimal d{false, {}, exp10};
    for (; v != 0; v /= 10)
      d.digits.insert(d.digits.begin(), static_cast<char>('0' + static_cast<int>(v % 10)));
    return value_of(d).value_or(HUGE_VAL);
  };
  return {wide(top / a, std::max(left, 0)), wide(bottom / a, std::max(-left, 0))};
}

}  // namespace mlsysim::detail
