#include <mlsysim/units/shared_text.hpp>

#include <atomic>
#include <cstring>
#include <new>

namespace mlsysim {
namespace {

using Count = std::atomic<std::uint32_t>;

Count& count_of(const char* data) {
  return *std::launder(reinterpret_cast<Count*>(const_cast<char*>(data) - sizeof(Count)));
}

}  // namespace

SharedText SharedText::copy_of(std::string_view text) {
  SharedText t;
  if (text.empty()) return t;
  char* memory = static_cast<char*>(::operator new(sizeof(Count) + text.size()));
  new (memory) Count(1);
  std::memcpy(memory + sizeof(Count), text.data(), text.size());
  t.data_ = memory + sizeof(Count);
  t.size_ = static_cast<std::uint32_t>(text.size());
  t.counted_ = true;
  return t;
}

void SharedText::retain() const { count_of(data_).fetch_add(1, std::memory_order_relaxed); }

void SharedText::release() const {
  Count& count = count_of(data_);
  if (count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  count.~Count();
  ::operator delete(const_cast<char*>(data_) - sizeof(Count));
}

}  // namespace mlsysim
