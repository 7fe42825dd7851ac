#pragma once
/// Reads and writes every file that a user names, with the checks that hostile or damaged files need.
///
/// Reading never blocks: pipes, devices and sockets are refused. A file is read up to a limit, 1 GiB by
/// default. Writing replaces a file as a whole or not at all. A file that this program did not write is kept,
/// unless forced.
/// Example: `try_read("/dev/zero")` has the fault `irregular` and found "a device".

#include <mlsysim/units/error.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::files {

/// Whether environment variables are untrusted: the program runs with more rights than its caller, or
/// MLSYSIM_SECURE is 1. Paths from variables are ignored then.
[[nodiscard]] bool secure();

/// Why a file was not read.
enum class ReadFault : std::uint8_t { none, missing, folder, irregular, too_large, unreadable, outside };

/// The bytes of a file, or why there are none.
struct FileBytes {
  std::string bytes;
  ReadFault fault = ReadFault::none;
  std::string found;  ///< of a fault, in words: "a pipe", "Permission denied", "2.1 GB"
};

inline constexpr std::uint64_t kLargest = 1ULL << 30;  ///< bytes of a file, by default

/// Reads a regular file of at most `most` bytes. A file of the kernel that gives no bytes at once is refused.
[[nodiscard]] FileBytes try_read(const std::filesystem::path& file, std::uint64_t most = kLargest);

/// Reads a regular file or throws. @param expected "a CSV file", for the message
/// @throws InputError that names the file
[[nodiscard]] std::string read(const std::filesystem::path& file, std::string_view expected,
                               std::uint64_t most = kLargest);

/// Gives the first `bytes` bytes of a regular file piece by piece. @return what went wrong, in words; empty
/// for nothing
[[nodiscard]] std::string read_pieces(const std::filesystem::path& file, std::uint64_t bytes,
                                      const std::function<void(std::string_view)>& take);

/// Gives all of a regular file piece by piece, unpacked where it is gzip. @return what went wrong, in words;
/// empty for nothing. What could be unpacked before a fault was given
[[nodiscard]] std::string read_unpacked(const std::filesystem::path& file,
                                        const std::function<void(std::string_view)>& take);

/// Paths of what lies in a folder and has this ending, in order. @param ending ".gguf"
/// @throws InputError where the folder cannot be read
[[nodiscard]] std::vector<std::filesystem::path> listed(const std::filesystem::path& folder,
                                                        std::string_view ending);

/// Whether a file that is there may be replaced.
enum class Replace : std::uint8_t { own, any };

/// How a file is written.
struct WriteHow {
  Replace replace = Replace::own;
  std::string_view
      mark{};  ///< text in the first 4 KiB of what this writes; without one, nothing is known as own
  std::string_view
      nothing{};  ///< the whole of what this writes where there is nothing to tell: has no mark, and is own
  std::string_view forced{"--force"};  ///< the option that replaces any file
  std::uint32_t mode = 0666;           ///< of a new file, before the umask
};

/// Refuses a target before the work for it: a link, a device, a missing folder, or a file that another
/// program wrote. @throws InputError
void check_target(const std::filesystem::path& file, const WriteHow& how);

/// Replaces a file: writes a new one beside it, syncs it to the disk, and renames it.
/// @throws InputError as `check_target`, and where the disk is full or the folder may not be written to
void write(const std::filesystem::path& file, std::string_view bytes, const WriteHow& how);

/// Opens a file that grows: a new one under this name, never the one that a link or another name leads to.
/// @return its descriptor. @throws InputError as `check_target`
[[nodiscard]] int begin(const std::filesystem::path& file, const WriteHow& how);
/// Opens a file of one's own to go on after its first `bytes` bytes; what follows them is cut off. @throws
/// InputError
[[nodiscard]] int go_on(const std::filesystem::path& file, std::uint64_t bytes);
/// Writes all of it. @return 0, or the errno that stopped it
[[nodiscard]] int put(int file, std::string_view bytes);

/// One process at a time: the lock of a file is a file beside it, and goes with the process.
class Lock {
 public:
  /// @throws InputError where another process holds it, which it names
  explicit Lock(const std::filesystem::path& file);
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock();

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

/// "a folder", "a device", "a pipe", "a socket", "a link"; empty for a regular file or nothing. @param link
/// whether links are followed
[[nodiscard]] std::string_view irregular(const std::filesystem::path& file, bool link = true);

}  // namespace mlsysim::files
