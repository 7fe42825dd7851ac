// The one reader and the one writer: what they refuse, and that nothing is lost on the way.
#include <support/catch.hpp>

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/seal.hpp>

#include <sys/stat.h>
#include <unistd.h>
#include <fstream>
#include <sstream>

using namespace mlsysim;
namespace fs = std::filesystem;
using Catch::Matchers::Contains;

namespace {

/// A folder that goes with the test.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "mlsysim-files-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
};

void make(const fs::path& file, std::string_view text) { std::ofstream(file, std::ios::binary) << text; }
std::string text_of(const fs::path& file) {
  std::ostringstream out;
  out << std::ifstream(file, std::ios::binary).rdbuf();
  return out.str();
}
std::size_t count(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}
/// The words of a refusal; empty where there is none.
template <class F> std::string refusal(F&& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("what is no regular file is refused by name and not waited for", "[files]") {
  const Folder folder;
  const auto pipe = folder.path / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  using files::ReadFault;
  CHECK(files::try_read(pipe).fault == ReadFault::irregular);
  CHECK(files::try_read(pipe).found == "a pipe");
  CHECK(files::try_read("/dev/zero").found == "a device");
  CHECK(files::try_read(folder.path).fault == ReadFault::folder);
  CHECK(files::try_read(folder.path / "none").fault == ReadFault::missing);
  fs::create_symlink(pipe, folder.path / "link");
  CHECK(files::try_read(folder.path / "link").found == "a pipe");
  CHECK_THAT(refusal([&] { (void)files::read(pipe, "a CSV file"); }),
             Contains(pipe.string()) && Contains("a pipe") && Contains("a CSV file"));
}

TEST_CASE("no more is read than was allowed, whatever a file says of itself", "[files]") {
  const Folder folder;
  const auto file = folder.path / "f";
  make(file, std::string(1000, 'x'));
  CHECK(files::try_read(file, 1000).bytes.size() == 1000);
  CHECK(files::try_read(file, 999).fault == files::ReadFault::too_large);
  // A file with a hole of 8 TB is not read at all; one of the kernel says that it has no bytes and has some.
  fs::resize_file(file, 1ULL << 43);
  CHECK(files::try_read(file).fault == files::ReadFault::too_large);
  CHECK(files::try_read("/proc/self/status").bytes.find("Name:") == 0);
  CHECK(files::try_read("/proc/self/status", 16).fault == files::ReadFault::too_large);
}

TEST_CASE("a file is replaced whole, and only where it is one's own", "[files]") {
  const Folder folder;
  const auto file = folder.path / "f";
  const files::WriteHow own{.mark = "written by a test"}, any{.replace = files::Replace::any};
  files::write(file, "written by a test: 1", own);
  files::write(file, "written by a test: 2", own);
  CHECK(text_of(file) == "written by a test: 2");
  make(file, "somebody's work");
  CHECK_THAT(refusal([&] { files::write(file, "3", own); }), Contains("exists") && Contains("--force"));
  CHECK(text_of(file) == "somebody's work");
  files::write(file, "4", any);
  CHECK(text_of(file) == "4");
  CHECK(count(folder.path) == 1);  // nothing is left beside it
}

TEST_CASE("links, folders and pipes are not written through, and other names of a file keep their content",
          "[files]") {
  const Folder folder;
  const auto target = folder.path / "target", link = folder.path / "link", name = folder.path / "name",
             pipe = folder.path / "pipe";
  const files::WriteHow any{.replace = files::Replace::any};
  make(target, "kept");
  fs::create_symlink(target, link);
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THAT(refusal([&] { files::write(link, "x", any); }), Contains("a link"));
  CHECK_THAT(refusal([&] { (void)files::begin(link, any); }), Contains("a link"));
  CHECK_THAT(refusal([&] { (void)files::go_on(link, 0); }), Contains("link"));
  CHECK_THAT(refusal([&] { files::write(folder.path, "x", any); }), Contains("a folder"));
  CHECK_THAT(refusal([&] { files::write(pipe, "x", any); }), Contains("a pipe"));
  CHECK_THAT(refusal([&] { files::write(folder.path / "none" / "f", "x", any); }),
             Contains("a folder that is there"));
  CHECK_THAT(refusal([&] { files::write("", "x", any); }), Contains("no file"));
  fs::create_hard_link(target, name);
  files::write(name, "new", any);
  const int open = files::begin(name, any);
  CHECK(files::put(open, "newer") == 0);
  ::close(open);
  CHECK(text_of(target) == "kept");
  CHECK(text_of(name) == "newer");
}

TEST_CASE("private files are private, and a growing file is cut to what is known", "[files]") {
  const Folder folder;
  const auto file = folder.path / "state";
  make(file, "");
  REQUIRE(::chmod(file.c_str(), 0666) == 0);
  files::write(file, "secret", {.replace = files::Replace::any, .mode = 0600});
  struct stat s {};
  REQUIRE(::stat(file.c_str(), &s) == 0);
  CHECK((s.st_mode & 0777U) == 0600U);
  const int open = files::go_on(file, 3);
  CHECK(files::put(open, "ond") == 0);
  ::close(open);
  CHECK(text_of(file) == "second");
  CHECK_THAT(refusal([&] { (void)files::go_on(file, 7); }), Contains("at least 7 bytes"));
}

TEST_CASE("a state belongs to one at a time", "[files]") {
  const Folder folder;
  const auto file = folder.path / "state";
  {
    const files::Lock lock(file);
    CHECK_THAT(refusal([&] { const files::Lock second(file); }),
               Contains("another process") && Contains(std::to_string(::getpid())));
  }
  const files::Lock again(file);
  CHECK(count(folder.path) == 1);
}

TEST_CASE("every change of a sealed text shows", "[files]") {
  const std::string text = files::sealed(R"({"schema":"a","state":{"n":[1,2,3]}})");
  CHECK(text.starts_with(R"({"schema":"a","state":{"n":[1,2,3]},"length":35,"crc32":")"));
  CHECK(files::damage_of(text) == std::nullopt);
  CHECK(files::damage_of(text + "\n") == std::nullopt);
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'0', '1', '9', 'a', ' ', '\0'}) {
      auto changed = text;
      if (changed[i] == c) continue;
      changed[i] = c;
      INFO(changed);
      CHECK(files::damage_of(changed));
    }
    CHECK(files::damage_of(text.substr(0, i)));
    CHECK(files::damage_of(text.substr(0, i) + text.substr(i + 1)));
  }
}
