#pragma once
/// Type-erased resolver, as pipelines, the command line, Python and plugins hold it.
///
/// Inputs and result are structs in memory of the caller: `construct_inputs` on `input_size()` bytes, write
/// the fields of `inputs()`, `solve`, read the fields of `outputs()`, `destroy_inputs`. Record does these
/// steps.
/// Example: a solver of required_bw = weights / target_latency gives 1.606 TB/s for 16.06 GB and 10 ms.

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/resolver_api/check.hpp>
#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/resolver_api/outcome.hpp>
#include <mlsysim/resolver_api/resolver_info.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace mlsysim {

struct LawEntry;
struct SearchOptions;

/// How a run of an erased resolver ended.
enum class Status : std::uint8_t { ok, infeasible };

/// Notes, search options and reason of a run of an erased resolver. One object serves many calls.
struct SolveContext {
  Notes notes{};                          ///< dropped unless the caller collects them
  const SearchOptions* search = nullptr;  ///< for optimizers
  Infeasible why;                         ///< filled by a run that ends infeasible
};

/// A resolver behind an interface. Immutable. `info().thread_safe` says whether `solve` may run on several
/// threads at once.
class Resolver {
 public:
  explicit Resolver(ResolverInfo info) : info_(std::move(info)) {}
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;
  virtual ~Resolver() = default;

  [[nodiscard]] const ResolverInfo& info() const { return info_; }
  [[nodiscard]] virtual std::span<const FieldInfo> inputs() const = 0;
  [[nodiscard]] virtual std::span<const FieldInfo> outputs() const = 0;

  [[nodiscard]] virtual std::size_t input_size() const = 0;
  [[nodiscard]] virtual std::size_t output_size() const = 0;
  /// Both structs are aligned to this many bytes.
  [[nodiscard]] virtual std::size_t alignment() const { return alignof(std::max_align_t); }
  virtual void construct_inputs(void* memory) const = 0;
  virtual void destroy_inputs(void* memory) const = 0;
  virtual void construct_outputs(void* memory) const = 0;
  virtual void destroy_outputs(void* memory) const = 0;

  /// Runs without checks of the inputs. `out` is a live struct, left unspecified when infeasible.
  virtual Status solve(const void* in, void* out, SolveContext& context) const = 0;
  /// Puts an answer back into its equation; says "not checked" where the resolver offers nothing.
  [[nodiscard]] virtual Verification verify(const void* in, const void* out) const = 0;
  /// The law, where the resolver is one; null otherwise.
  [[nodiscard]] virtual const LawEntry* law() const { return nullptr; }
  /// Identity of the C++ type, for typed access to results; null for resolvers made at run time.
  [[nodiscard]] virtual const void* type_tag() const { return nullptr; }

 private:
  ResolverInfo info_;
};

namespace detail {
/// One address per type.
template <class R> inline constexpr char type_tag_v = 0;
}  // namespace detail

}  // namespace mlsysim
