#pragma once
/// Owners that keep specs alive. Specs of the zoo live as long as the process. Specs made in Python live in
/// boxes that a table of addresses leads back to, so that a bare pointer of the library becomes a safe Python
/// object again.

#include <memory>
#include <utility>
#include <vector>

namespace mlsysim::python {

using Owner = std::shared_ptr<const void>;

/// Remembers that `address` lives as long as `owner`.
void remember(const void* address, const std::weak_ptr<const void>& owner);
void forget(const void* address);
/// The owner that keeps the object at this address alive. For objects of the zoo it does nothing.
[[nodiscard]] Owner owner_of(const void* address);

/// A spec made in Python, with everything that it points to.
template <class T> struct SpecBox {
  T value;
  std::vector<Owner> keeps;

  explicit SpecBox(T v) : value(std::move(v)) {}
  SpecBox(const SpecBox&) = delete;
  SpecBox& operator=(const SpecBox&) = delete;
  ~SpecBox() { forget(&value); }

  static std::shared_ptr<SpecBox> make(T value) {
    auto box = std::make_shared<SpecBox>(std::move(value));
    remember(&box->value, box);
    return box;
  }
};

}  // namespace mlsysim::python
