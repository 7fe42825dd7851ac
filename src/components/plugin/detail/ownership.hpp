#pragma once
/// Exclusive instances: the holder of each resource, in this process and on this machine.

#include <mlsysim/plugin/description.hpp>

#include <memory>
#include <optional>
#include <string>

namespace mlsysim::plugin::detail {

/// The holder of a resource.
struct Holder {
  long pid = 0;
  std::string since;     ///< "2026-11-22 14:03:07 UTC"; empty where the holder has not said
  std::string resolver;  ///< empty where the holder has not said
};

/// The right to the one instance of something; given back when it ends, by the system where the process dies.
class Hold {
 public:
  /// @throws PluginFault UNAVAILABLE naming the holder, RESOURCE_EXHAUSTED when no lock file can be made
  [[nodiscard]] static std::unique_ptr<Hold> take(const ResolverDescription& resolver);
  /// The present holder; nothing when it is free. Creates and changes nothing.
  [[nodiscard]] static std::optional<Holder> holder(const ResolverDescription& resolver);

  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold();

 private:
  Hold(std::string resource, int file) : resource_(std::move(resource)), file_(file) {}
  std::string resource_;
  int file_;  ///< -1 without a lock file
};

/// Throws UNAVAILABLE for a resource that is held.
[[noreturn]] void refuse_held(const ResolverDescription& resolver, const Holder& holder);

}  // namespace mlsysim::plugin::detail
