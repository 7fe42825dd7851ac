#pragma once
/// The code of one loaded plugin, in this process or in one of its own.

#include "ownership.hpp"
#include "services.hpp"

#include <mlsysim/plugin/host.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::plugin::detail {

/// Calls into a plugin that was initialized and has registered. Keeps its thread rule. All throw PluginFault.
class PluginCode {
 public:
  PluginCode() = default;
  PluginCode(const PluginCode&) = delete;
  PluginCode& operator=(const PluginCode&) = delete;
  virtual ~PluginCode() = default;

  [[nodiscard]] const PluginDescription& description() const { return description_; }
  [[nodiscard]] virtual Services& services() const = 0;

  /// The turn of a thread, where calls go one after another; empty where they need not. A call may ask the
  /// host, which calls again, so that whoever holds another lock over a call takes its turn before that lock.
  [[nodiscard]] virtual std::unique_lock<std::recursive_mutex> turn() = 0;
  virtual void* create(std::size_t resolver, std::span<const MlsValue> options) = 0;
  virtual void destroy(std::size_t resolver, void* instance) noexcept = 0;
  /// Asks the plugin whether `create` would succeed. Throws the reason if not.
  virtual void can_create(std::size_t resolver, std::span<const MlsValue> options) = 0;
  /// Fills `out`; texts in it live as long as `call`. @return the outcome
  virtual std::int32_t solve(std::size_t resolver, void* instance, std::span<const MlsValue> in,
                             std::span<MlsValue> out, MlsCall& call) = 0;
  virtual void event(std::size_t callback, MlsEvent event) = 0;
  virtual void broke(std::size_t callback, MlsBreak event) = 0;
  virtual void swept(std::size_t callback, MlsSweep event) = 0;
  /// Reasons are those of the call. @return verdict and effort
  virtual std::pair<std::int32_t, std::int32_t> query_support(std::size_t backend, const Program& program,
                                                              std::string_view device, std::int32_t effort,
                                                              std::int32_t mode, MlsCall& call) = 0;
  virtual std::string convert(std::size_t converter, std::string_view file, std::string_view input,
                              const MlsObject* object, MlsCall& call) = 0;
  [[nodiscard]] virtual bool has_feature(std::string_view name) = 0;
  /// Whether the library can be closed, and if not, why not.
  [[nodiscard]] virtual std::string why_it_stays() const = 0;

 protected:
  PluginDescription description_;
};

/// "solve of acme/X": a slot with the name of what it belongs to.
[[nodiscard]] std::string slot_of(const PluginDescription& plugin, std::string_view slot, std::size_t i);
/// Adds the names of plugin and call to a fault that has none.
[[nodiscard]] PluginFault with_names(const PluginFault& fault, std::string_view plugin,
                                     std::string_view call);

/// Opens a library that was vetted: dlopen, the entry symbol, versions, `initialize`, `register_all`.
///
/// @param library what is opened; a private copy when it is reloaded
/// @param path    what it is called in messages
/// @throws PluginFault
[[nodiscard]] std::shared_ptr<PluginCode> open_in_process(const std::string& library, const std::string& path,
                                                          std::shared_ptr<Services> services);

/// Opens a library in a process of its own. The code is the same; a call that kills it or takes too long is a
/// fault.
[[nodiscard]] std::shared_ptr<PluginCode> open_isolated(const std::string& path,
                                                        std::shared_ptr<Services> services,
                                                        const IsolationLimits& limits);

/// One resolver of one version of a plugin, with its instances. A run keeps the one it began with.
class Generation {
 public:
  Generation(std::shared_ptr<PluginCode> code, std::size_t index) : code_(std::move(code)), index_(index) {}
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  ~Generation();

  [[nodiscard]] PluginCode& code() const { return *code_; }
  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] const ResolverDescription& description() const {
    return code_->description().resolvers[index_];
  }
  /// The instance for these options, made on first use; null for a resolver that needs none. An exclusive one
  /// is made only while no other holder has one. @throws PluginFault UNAVAILABLE naming the holder
  [[nodiscard]] void* instance(std::span<const MlsValue> options);
  /// Whether one could be made now; changes nothing. Throws the reason if not.
  void can_create(std::span<const MlsValue> options);

 private:
  struct Made {
    void* instance = nullptr;
    std::unique_ptr<Hold> hold;  ///< of an exclusive one
  };
  std::shared_ptr<PluginCode> code_;
  std::size_t index_;
  std::mutex mutex_;
  std::map<std::string, Made> instances_;
};

}  // namespace mlsysim::plugin::detail
