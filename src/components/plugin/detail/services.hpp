#pragma once
/// Services that the host offers to plugins behind the C table. One implementation lives in the host, one in
/// the process of an isolated plugin, which asks the host.

#include <mlsysim/plugin/description.hpp>
#include <mlsysim/plugin/fault.hpp>
#include <mlsysim/plugin/support.hpp>
#include <mlsysim/resolver_api/dynamic_value.hpp>
#include <mlsysim/resolver_api/resolver.hpp>
#include <mlsysim/specs/zoo.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

/// An error, made by the host.
struct MlsError {
  MlsStatus code;
  std::string message;
  std::vector<std::pair<std::string, std::string>> payload;
};

/// One call of a resolver: where notes go, and texts that live until its end.
struct MlsCall {
  mlsysim::SolveContext* context = nullptr;
  mlsysim::Tier tier = mlsysim::Tier::model;
  std::optional<mlsysim::Infeasible> why;
  std::vector<std::unique_ptr<std::string>> kept;
  std::vector<mlsysim::plugin::SupportReason>* reasons = nullptr;  ///< of a support query
};

/// One call of register_all. Refusals are kept, so that a plugin that ignores them is not half registered.
struct MlsRegistration {
  mlsysim::plugin::PluginDescription* into = nullptr;
  std::vector<MlsResolver> resolvers;
  std::vector<MlsCallback> callbacks;
  std::vector<MlsBackend> backends;
  std::vector<MlsConverter> converters;
  std::optional<mlsysim::plugin::PluginFault> refusal;
};

namespace mlsysim::plugin::detail {

using Visit = std::function<void(std::string_view name, const MlsValue& value)>;

/// The services; all throw, the table turns exceptions into errors.
class Services {
 public:
  Services();
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;
  virtual ~Services();

  /// The C table of these services.
  [[nodiscard]] const MlsHostApi* api() const;
  /// The same for a host of an older minor version; for tests.
  void pretend_minor(std::uint32_t minor, std::uint32_t size);

  virtual void log(std::int32_t level, std::string_view text) = 0;
  virtual std::uint64_t zoo_count(std::string_view type) = 0;
  virtual const MlsObject* zoo_at(std::string_view type, std::uint64_t index) = 0;
  virtual const MlsObject* zoo_find(std::string_view type, std::string_view name) = 0;
  virtual void object_field(const MlsObject* object, std::string_view path, const Visit& visit) = 0;
  virtual void object_read(const MlsObject* object, const Visit& visit) = 0;
  virtual double convert(double number, std::string_view from, std::string_view to) = 0;
  virtual void evaluate(MlsCall* call, std::string_view resolver, std::span<const MlsNamed> inputs,
                        const Visit& visit) = 0;
  virtual bool cancel_requested(MlsCall* call) = 0;

  /// Errors that were made and not destroyed.
  [[nodiscard]] std::size_t live_errors() const;
  MlsError* make_error(MlsStatus code, std::string message);
  void destroy_error(MlsError* error);
  /// Whether an address is an error of these services.
  [[nodiscard]] bool knows(const MlsError* error) const;

  /// The services behind a table.
  [[nodiscard]] static Services& of(const MlsHostApi* api);

 private:
  struct Table;
  std::unique_ptr<Table> table_;
  mutable std::mutex mutex_;
  std::unordered_set<const MlsError*> errors_;
};

/// Throws what a plugin gave as an error, after destroying it; nothing for null.
void raise(Services& services, MlsError* error, std::string_view plugin, std::string_view call);
/// Throws a PluginFault.
[[noreturn]] void fail(MlsStatus code, ErrorFacts facts, std::string_view plugin = {},
                       std::string_view call = {});

/// A text from a plugin. @throws PluginFault INVALID_ARGUMENT when it is no UTF-8 or holds a zero
[[nodiscard]] std::string read_text(MlsString text, std::string_view what);
/// Bytes of an output of a converter, at most.
inline constexpr std::uint64_t kLongestOutput = 64ULL << 20;
/// Whether a text is UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text);
/// Whether a text may be a name: letters, digits, '_', '-', '.', first a letter.
[[nodiscard]] bool is_name(std::string_view text);

// Reading what a plugin registers. @throws PluginFault with what is wrong
[[nodiscard]] ResolverDescription describe_resolver(const MlsResolver& resolver);
[[nodiscard]] MlsResolver adopt(const MlsResolver* resolver);
[[nodiscard]] MlsCallback adopt(const MlsCallback* callback);
[[nodiscard]] MlsUnit adopt(const MlsUnit* unit);
[[nodiscard]] MlsBackend adopt(const MlsBackend* backend);
[[nodiscard]] MlsConverter adopt(const MlsConverter* converter);
[[nodiscard]] BackendDescription describe_backend(const MlsBackend& backend);
[[nodiscard]] SupportReason read_reason(const MlsReason* reason);

/// Size rule of a callee: at least `smallest`. @throws PluginFault INVALID_ARGUMENT naming the struct and
/// both sizes
void check_size(const char* name, std::uint32_t got, std::size_t smallest);

}  // namespace mlsysim::plugin::detail
