#include <mlsysim/resolve/notes.hpp>

#include <mlsysim/units/format.hpp>

#include <utility>

namespace mlsysim {

void Notes::put(std::string_view name, std::string value, std::string_view source) {
  book_->assumptions.push_back({std::string(name), std::move(value), std::string(source)});
}

void Notes::put(std::string_view name, double value, std::string_view source) {
  put(name, pretty(value, 6), source);
}

void Notes::put(std::string_view name, const AnyQuantity& value, std::string_view source) {
  put(name, pretty(value, 6), source);
}

}  // namespace mlsysim
