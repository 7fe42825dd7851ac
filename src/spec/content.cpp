#include <mlsysim/spec/content.hpp>

#include <mlsysim/spec/conventions.hpp>
#include <mlsysim/spec/leaves.hpp>
#include <mlsysim/units/format.hpp>

#include <bit>

namespace mlsysim {
namespace {

/// FNV-1a. Not cryptographic: it tells an edited figure from the one before.
class Digest {
 public:
  void add(std::uint64_t word) {
    for (int k = 0; k < 8; ++k) byte(static_cast<unsigned char>(word >> (8 * k)));
  }
  void add(double x) { add(std::bit_cast<std::uint64_t>(x)); }
  void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));  // "ab","c" is not "a","bc"
    for (const char c : text) byte(static_cast<unsigned char>(c));
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void byte(unsigned char b) { value_ = (value_ ^ b) * 1099511628211ull; }
  std::uint64_t value_ = 14695981039346656037ull;
};

template <class T>
void add_spec(Digest& d, const T& spec);

template <class M>
void add_leaf(Digest& d, const M& member) {
  if constexpr (detail::is_optional_v<M>) {
    if (member) add_leaf(d, *member);
    else d.add(std::string_view("absent"));
  } else if constexpr (std::is_same_v<M, bool>) {
    d.add(std::uint64_t{member});
  } else if constexpr (std::is_same_v<M, double>) {
    d.add(member);
  } else if constexpr (std::is_same_v<M, std::string>) {
    d.add(std::string_view(member));
  } else if constexpr (Choice<M>) {
    d.add(name_of(member));
  } else if constexpr (std::is_pointer_v<M>) {
    // Specs point to specs of other types only, so this ends.
    if (member != nullptr) add_spec(d, *member);
    else d.add(std::string_view("absent"));
  } else if constexpr (std::is_same_v<M, AnyQuantity>) {
    d.add(member.base());
    d.add(canonical_unit(member.exponents()));
  } else {
    d.add(member.base());
  }
}

template <class T>
void add_spec(Digest& d, const T& spec) {
  d.add(ObjectType<T>::name);
  for_each_spec_leaf(spec, [&](std::string_view path, const auto& member) {
    d.add(path);
    add_leaf(d, member);
  });
}

}  // namespace

std::uint64_t content_digest(const ObjectRef& object) {
  if (object.object == nullptr) return 0;
  if (object.type == ObjectType<Zoo>::name) return content_digest(*static_cast<const Zoo*>(object.object));
  Digest d;
  const auto add = [&]<class T>() { add_spec(d, *static_cast<const T*>(object.object)); };
  if (object.type == ObjectType<Conventions>::name) add.template operator()<Conventions>();
  else if (!with_spec_type(object.type, add)) return 0;
  return d.value();
}

std::uint64_t content_digest(const Zoo& zoo) {
  Digest d;
  ZooSpecs::for_each([&]<class T>() {
    for (const T* spec : zoo.all<T>()) add_spec(d, *spec);
  });
  for (const Entry* entry : zoo.entries()) {
    d.add(std::string_view(entry->name));
    for (const auto& alias : entry->aliases) d.add(std::string_view(alias));
    for (const auto& figure : entry->figures) {
      if (figure.low) d.add(*figure.low);
      if (figure.high) d.add(*figure.high);
    }
  }
  return d.value();
}

}  // namespace mlsysim
