#include <mlsysim/resolve/notes.hpp>

#include <mlsysim/units/format.hpp>

#include <utility>

namespace mlsysim {

void Notes::put(std::string_view name, std::string value, std::string_view source) {
  // A resolver that asks others many times makes the same assumption many times: it is one.
  for (const auto& known : book_->assumptions)
    if (known.name == name && known.value == value && known.source == source) return;
  book_->assumptions.push_back({std::string(name), std::move(value), std::string(source)});
}

void Notes::put(std::string_view name, double value, std::string_view source) {
  put(name, pretty(value, 6), source);
}

void Notes::put(std::string_view name, const AnyQuantity& value, std::string_view source) {
  put(name, pretty(value, 6), source);
}

}  // namespace mlsysim
