#pragma once
/// Versions of programs, and which of them are known.

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace mlsysim {

struct ProgramVersion {
  int major = 0, minor = 0, patch = 0;
  [[nodiscard]] std::string text() const;
  // clang-tidy 14 takes the zero of a comparison for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend constexpr auto operator<=>(const ProgramVersion&, const ProgramVersion&) = default;
};
/// Portable artifacts are kept compatible from here on; the newest that this build has seen. The patch does
/// not count.
inline constexpr ProgramVersion kOldestStableHlo{0, 9, 0}, kNewestStableHlo{1, 20, 0};

/// The version that the producer of a portable artifact states; nothing where there is none.
[[nodiscard]] std::optional<ProgramVersion> portable_version(std::string_view bytes);
[[nodiscard]] std::optional<ProgramVersion> version_in(std::string_view text);
/// @throws InputError for a version that is too new, with what to ask the producer for, or too old
void check_stablehlo_version(const ProgramVersion& version, const std::string& file);

}  // namespace mlsysim
