#include "spec_owner.hpp"

#include <mutex>
#include <unordered_map>

namespace mlsysim::python {
namespace {

struct Table {
  std::mutex mutex;
  std::unordered_map<const void*, std::weak_ptr<const void>> owners;
};
Table& table() {
  static auto* t = new Table;  // outlives every object, also those that die while Python shuts down
  return *t;
}

}  // namespace

void remember(const void* address, const std::weak_ptr<const void>& owner) {
  const std::lock_guard lock(table().mutex);
  table().owners[address] = owner;
}

void forget(const void* address) {
  const std::lock_guard lock(table().mutex);
  table().owners.erase(address);
}

Owner owner_of(const void* address) {
  {
    const std::lock_guard lock(table().mutex);
    const auto it = table().owners.find(address);
    if (it != table().owners.end())
      if (auto owner = it->second.lock()) return owner;
  }
  return {address, [](const void*) {}};
}

}  // namespace mlsysim::python
