// Arithmetic of a shell over whole numbers that are known.

#include "detail/source.hpp"

#include <cctype>
#include <charconv>
#include <cstdint>

namespace mlsysim::detail {
namespace {

/// Sums and products, with the precedence of C.
class Arithmetic {
 public:
  Arithmetic(std::string_view text, const std::map<std::string, std::string>& variables)
      : text_(text), variables_(variables) {}

  std::optional<std::int64_t> value() {
    const auto out = sum();
    return known_ && next() == '\0' ? std::optional(out) : std::nullopt;
  }

 private:
  char next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::int64_t checked(bool good, std::int64_t x) {
    constexpr std::int64_t most = 1'000'000'000;  // products of two still fit
    known_ = known_ && good && x >= -most && x <= most;
    return known_ ? x : 0;
  }
  void pass(char closing) {
    if (next() == closing)
      ++at_;
    else
      known_ = false;
  }
  std::int64_t sum() {
    auto out = product();
    for (char sign = next(); known_ && (sign == '+' || sign == '-'); sign = next()) {
      ++at_;
      const auto x = product();
      out = checked(true, sign == '+' ? out + x : out - x);
    }
    return out;
  }
  std::int64_t product() {
    auto out = factor();
    for (char sign = next(); known_ && (sign == '*' || sign == '/' || sign == '%'); sign = next()) {
      ++at_;
      const auto x = factor();
      if (sign == '*') {
        out = checked(true, out * x);
      } else {
        known_ = known_ && x != 0;
        if (known_) out = sign == '/' ? out / x : out % x;
      }
    }
    return out;
  }
  std::int64_t factor() {
    if (++depth_ > 100) return checked(false, 0);
    const char c = next();
    std::int64_t out = 0;
    if (c == '(') {
      ++at_;
      out = sum();
      pass(')');
    } else {
      out = word();
    }
    --depth_;
    return out;
  }
  /// A number, NAME, $NAME or ${NAME}.
  std::int64_t word() {
    const bool braced = text_.substr(at_).starts_with("${");
    at_ += braced ? 2 : next() == '$' ? 1 : 0;
    const auto begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    std::string name(text_.substr(begin, at_ - begin));
    if (braced) pass('}');
    if (const auto variable = variables_.find(name); variable != variables_.end()) name = variable->second;
    std::int64_t out = 0;
    const auto* end = name.data() + name.size();
    const auto [stop, fault] = std::from_chars(name.data(), end, out);
    const bool octal = name.size() > 1 && name.front() == '0';
    return checked(!name.empty() && fault == std::errc() && stop == end && !octal, out);
  }

  std::string_view text_;
  const std::map<std::string, std::string>& variables_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool known_ = true;
};

}  // namespace

std::optional<std::string> arithmetic(std::string_view text,
                                      const std::map<std::string, std::string>& variables) {
  const auto x = Arithmetic(text, variables).value();
  return x ? std::optional(std::to_string(*x)) : std::nullopt;
}

}  // namespace mlsysim::detail
