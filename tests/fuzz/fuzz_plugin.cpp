/// Fuzzes what a plugin hands over before and beside its calls: manifests, library files, and the messages of
/// a process of its own. Whatever the bytes, only mlsysim::Error is thrown, and what can be read is bounded
/// in time and memory.
///
/// LLVMFuzzerTestOneInput is for libFuzzer; the main below mutates its seeds for a fixed number of rounds:
/// fuzz_plugin [rounds] [seed]

#include "fuzz/mutate.hpp"
#include "plugin/detail/elf.hpp"
#include "plugin/detail/wire.hpp"

#include <mlsysim/plugin/manifest.hpp>

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace mlsysim;
using namespace mlsysim::plugin;
using namespace mlsysim::plugin::detail;

[[noreturn]] void fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s\n%s\n", what, detail.c_str());
  std::abort();
}

/// @return whether it was read
bool check_manifest(const std::string& text) {
  const std::filesystem::path file = "/srv/plugins/fuzz.plugin.yaml";
  try {
    const auto m = parse_manifest(text, file);
    if (m.name.empty() || m.version.empty()) fail("a manifest without name or version was taken", text);
    // A relative library stays below the manifest.
    const auto relative = m.library.lexically_relative("/srv/plugins");
    if (!m.library.empty() && text.find("/") == std::string::npos &&
        (relative.empty() || *relative.begin() == ".."))
      fail("a library outside was taken", text);
    return true;
  } catch (const Error& error) {
    if (error.id().empty() || std::string(error.what()).empty()) fail("an error without id or text", text);
    return false;
  }
}

/// Reads bytes as a message of each kind. @return whether the description was read
bool check_message(const std::string& bytes) {
  bool read = false;
  try {
    MessageReader in(bytes);
    const auto d = read_description(in);
    read = true;
    // What was read can be written, and is then read to the same bytes.
    Writer once, twice;
    write_description(once, d);
    MessageReader again(once.bytes());
    write_description(twice, read_description(again));
    if (once.bytes() != twice.bytes()) fail("a description is not byte-stable", bytes);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): refused
  }
  try {
    MessageReader in(bytes);
    throw_fault(in);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it always throws
  }
  try {
    MessageReader in(bytes);
    for (int i = 0; i < 100; ++i) {
      (void)in.value();
      (void)in.get<ReasonCode>();
      (void)in.get<bool>();
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): refused
  }
  return read;
}

/// Sends bytes as a broken process would, and reads messages until there is none, or none that is one.
std::size_t check_stream(const std::string& bytes) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 0;
  const Channel channel(ends[0]);
  const auto sent =
      ::send(ends[1], bytes.data(), std::min<std::size_t>(bytes.size(), 32768), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::close(ends[1]);
  std::size_t messages = 0;
  try {
    if (sent > 0)
      while (auto message =
                 channel.receive(Channel::Clock::now() + std::chrono::seconds(5), [](int) { return true; }))
        ++messages;
  } catch (const PluginFault& fault) {  // what is no message is refused
    if (fault.code() != MLS_DATA_LOSS) fail("garbage is another fault than lost data", fault.what());
  }
  return messages;
}

/// @return whether it looks like a library that may be opened
bool check_library(const std::string& bytes) {
  static const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (::ftruncate(file, 0) != 0 ||
      ::pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return false;
  const auto facts = read_elf("/proc/self/fd/" + std::to_string(file));
  return facts.fault.empty();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  check_manifest(bytes);
  check_message(bytes);
  check_stream(bytes);
  check_library(bytes);
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
namespace {

const std::vector<std::string>& manifests() {
  static const std::vector<std::string> all{
      "schema: mlsysim/plugin@1\nname: acme\nversion: 1.2.0\nlibrary: mlsysim-plugin-acme.so\nabi: {major: "
      "1, min_minor: 0}\n"
      "registers: [model acme/X, unit furlong]\nconfig: {threshold: 2}\npriority: 500\nisolated: true\n",
      "schema: mlsysim/plugin@1\nname: v\nversion: \"1\"\nsummary: s\nlicense: l\nvariants: {x86-64-v3: "
      "a.so, x86-64: b.so, aarch64: c.so}\n",
      "schema: mlsysim/plugin@1\nname: z\nversion: 2\nzoo: [a.yaml, b/c.yaml]\nsha256: "
      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n",
  };
  return all;
}

std::string message() {
  PluginDescription d{.name = "acme", .version = "1", .summary = "s", .license = "l", .abi_major = 1};
  FieldDescription f{.name = "x", .meaning = "m", .unit = "s", .choices = {"a", "b"}};
  d.attributes.emplace_back("formats.in", OwnedValue{MLS_STRING, false, 0, "operators", nullptr});
  d.resolvers.push_back({.tier = Tier::solver,
                         .name = "acme/X",
                         .inputs = {f},
                         .outputs = {f, f},
                         .options = {f},
                         .has_instances = true,
                         .ownership = Ownership::exclusive_system});
  d.units.push_back({"furlong", "m", "k", "length", 201168, 1000});
  d.zoo.push_back({"devices.yaml", "schema: x"});
  d.callbacks.push_back({"acme/C", "c"});
  d.backends.push_back({"acme/B", "b", "acme/X", {"H100"}, 2});
  d.converters.push_back({"acme/I", "i", "json", MLS_IMPORTER});
  Writer out;
  write_description(out, d);
  return out.bytes();
}

std::string framed(const std::string& bytes, std::uint32_t type) {
  const std::uint32_t head[4] = {0x4d4c5331, type, static_cast<std::uint32_t>(bytes.size()), 1};
  return std::string(reinterpret_cast<const char*>(head), sizeof head) + bytes;
}

std::string mutated(std::string text, std::mt19937& random, bool words) {
  static const std::vector<std::string> pieces{": ",          "\n",
                                               "\n  ",        "- ",
                                               "{",           "}",
                                               "[",           "]",
                                               ",",           "\"",
                                               "&a",          "*a",
                                               "!t",          "../",
                                               "/etc/passwd", "~",
                                               "null",        "-1",
                                               "1e999",       "99999999999999999999",
                                               "\xC3",        "\xEF\xBB\xBF",
                                               "mlsysim",     "library: ",
                                               "sha256: ",    "abi: ",
                                               "---\n"};
  const auto below = [&random](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); };
  for (std::size_t i = 1 + below(4); i > 0; --i) {
    const auto at = below(text.size() + 1);
    switch (random() % 5) {
      case 0:
        text.erase(at, 1 + below(8));
        break;
      case 1:
        if (words)
          text.insert(at, pieces[below(pieces.size())]);
        else if (text.size() >= 8 && at + 8 <= text.size())  // lengths and counts are eight bytes
          for (std::size_t k = 0; k < 8; ++k) text[at + k] = static_cast<char>(random() % 4 == 0 ? 0xFF : 0);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size() + 1), below(40)));
        break;
      case 3:
        text.resize(at);
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << (random() % 8)));
    }
  }
  return text;
}

/// Changes bytes of the headers of a library more often than those of its code.
std::string mutated_library(std::string bytes, std::mt19937& random) {
  for (int i = 0; i < 4; ++i) {
    const std::size_t where = random() % 3 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 1024);
    bytes[random() % where] = static_cast<char>(random() % 3 == 0 ? 0xFF : random());
  }
  if (random() % 4 == 0) bytes.resize(random() % bytes.size());
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 10000;
  std::mt19937 random(argc > 2 ? static_cast<std::uint32_t>(std::atol(argv[2])) : 1u);
  for (const auto& seed : manifests())
    if (!check_manifest(seed)) fail("a seed is refused", seed);
  const auto description = message();
  if (!check_message(description)) fail("the description is refused", "");
  std::ifstream file(FUZZ_LIBRARY, std::ios::binary);
  const std::string library{std::istreambuf_iterator<char>(file), {}};
  if (!check_library(library)) fail("the library is refused", FUZZ_LIBRARY);
  long read = 0, told = 0, streamed = 0, opened = 0;
  for (long i = 0; i < rounds; ++i) {
    read += check_manifest(mutated(manifests()[random() % manifests().size()], random, true)) ? 1 : 0;
    const auto bytes = mutated(description, random, false);
    told += check_message(bytes) ? 1 : 0;
    streamed += static_cast<long>(check_stream(
        mutated(framed(bytes, static_cast<std::uint32_t>(random()) % 24) + framed(bytes, 0), random, false)));
    if (i % 4 == 0) opened += check_library(mutated_library(library, random)) ? 1 : 0;
  }
  std::printf(
      "%ld rounds: %ld manifests and %ld descriptions read, %ld messages received, %ld libraries passed\n",
      rounds, read, told, streamed, opened);
  mlsysim::fuzz::replay_corpus();
  return read > 0 && told > 0 && streamed > 0 && opened > 0 ? 0 : 1;  // otherwise only refusals were tested
}
#endif
