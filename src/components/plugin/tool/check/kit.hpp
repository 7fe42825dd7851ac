#pragma once
/// The conformance kit: checks with ids, each run in a process of its own, so that a crash is a result.

#include "../../detail/code.hpp"
#include "../../detail/elf.hpp"
#include "../../detail/objects.hpp"

#include <mlsysim/plugin/manifest.hpp>

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mlsysim::plugin::check {

/// The version of the list of checks; a change of the list or of what a check demands changes it.
inline constexpr int kKitVersion = 3;

enum class Level : std::uint8_t { required, recommended };
enum class Outcome : std::uint8_t { pass, fail, skip };

struct Result {
  Outcome verdict = Outcome::pass;
  std::string message;
};
[[nodiscard]] inline Result pass() { return {}; }
[[nodiscard]] inline Result fail(std::string why) { return {Outcome::fail, std::move(why)}; }
[[nodiscard]] inline Result skip(std::string why) { return {Outcome::skip, std::move(why)}; }

/// The plugin that is checked.
struct Subject {
  std::filesystem::path library;
  std::optional<Manifest> manifest;
  detail::ElfFacts elf;
};

struct Check {
  std::string_view id;
  Level level;
  std::string_view rule;   ///< the rule of docs/reference/plugin-abi.md that it tests
  std::string_view what;   ///< one line
  std::string_view after;  ///< ids that must have passed, with blanks between
  Result (*run)(const Subject& subject);
};

[[nodiscard]] std::span<const Check> load_checks();
[[nodiscard]] std::span<const Check> table_checks();
[[nodiscard]] std::span<const Check> run_checks();
[[nodiscard]] std::span<const Check> support_checks();
[[nodiscard]] std::span<const Check> process_checks();
/// For a plugin of zoo files alone.
[[nodiscard]] std::span<const Check> zoo_checks();
/// All that a plugin with a library is asked, in order.
[[nodiscard]] std::vector<Check> all_checks();

/// Whether this program runs under a sanitizer, whose shadow memory is address space that no limit may take
/// away.
[[nodiscard]] constexpr bool sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

/// Runs one check in a child process, with limits on time and memory.
[[nodiscard]] Result run_apart(const Check& check, const Subject& subject, int seconds);

/// Services that count: errors, memory given out, and refusals on demand.
class KitServices final : public detail::LocalServices {
 public:
  using LocalServices::LocalServices;
};

/// A plugin opened by hand, for calls that the host never makes.
class RawPlugin {
 public:
  explicit RawPlugin(const Subject& subject);
  RawPlugin(const RawPlugin&) = delete;
  RawPlugin& operator=(const RawPlugin&) = delete;

  [[nodiscard]] const MlsPluginApi& table() const { return *table_; }
  [[nodiscard]] KitServices& services() { return *services_; }
  [[nodiscard]] const std::shared_ptr<KitServices>& share() const { return services_; }
  /// Calls initialize; the message of its error, or empty.
  [[nodiscard]] std::string initialize();
  /// Calls register_all; the message of its error or refusal, or empty. What was registered is in
  /// `registration`.
  [[nodiscard]] std::string register_all();
  [[nodiscard]] const MlsRegistration& registration() const { return registration_; }
  [[nodiscard]] const PluginDescription& description() const { return description_; }
  /// The text of an error, which is destroyed.
  [[nodiscard]] std::string take(MlsError* error);

 private:
  std::shared_ptr<KitServices> services_ = std::make_shared<KitServices>();
  const MlsPluginApi* table_ = nullptr;
  PluginDescription description_;
  MlsRegistration registration_;
};

/// Makes the units of a plugin known. @throws UnitError
void publish_units_of(const PluginDescription& description);
/// Values for the inputs of a resolver that suit its declaration. @param scale of numbers
[[nodiscard]] std::vector<MlsValue> sample_inputs(detail::LocalServices& services,
                                                  const ResolverDescription& resolver, double scale);
/// One call of `solve` by hand.
struct Solved {
  std::string error;  ///< its message, or empty
  MlsStatus code = MLS_OK;
  bool foreign_error = false;  ///< the error was none that the host made
  std::int32_t outcome = 0;
  std::uint64_t written = 0;
  std::vector<OwnedValue> outputs;  ///< one more than declared
  std::optional<Infeasible> why;
};
struct SolveOptions {
  std::uint32_t struct_size = sizeof(MlsSolveArgs);
  const MlsExtension* next = nullptr;
};
[[nodiscard]] Solved solve_by_hand(RawPlugin& plugin, std::size_t resolver, std::span<const MlsValue> inputs,
                                   const SolveOptions& options = {});

}  // namespace mlsysim::plugin::check
