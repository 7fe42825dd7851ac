// Ways to end, to hang, to write where others live, and to answer with an error that is none.
#include "row.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>

namespace misbehave {
namespace {

constexpr int kChannel = 3;  // of a process of its own: the socket to the host

std::string_view next_word(std::string_view& rest) {
  const auto end = rest.find(' ');
  const auto word = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return word;
}

bool apart() {
  std::array<char, 512> program{};
  return ::readlink("/proc/self/exe", program.data(), program.size() - 1) > 0 &&
         std::strstr(program.data(), "mlsysim-plugin-worker") != nullptr;
}

volatile char sink;
int deep(int n) {  // NOLINT(misc-no-recursion): that is the point
  std::array<char, 4096> frame;
  auto* volatile at = frame.data();
  at[n % 4096] = static_cast<char>(n);
  const int below = deep(n + 1);
  sink = at[0];
  return below + 1;
}

void signals(std::string_view what) {
  if (what == "aborts") std::abort();
  if (what == "segfaults") *reinterpret_cast<volatile int*>(8) = 1;
  for (const auto& [name, signal] : {std::pair{"divides", SIGFPE},
                                     {"illegal", SIGILL},
                                     {"bus", SIGBUS},
                                     {"kills", SIGKILL},
                                     {"terminates", SIGTERM},
                                     {"stops", SIGSTOP}})
    if (what == name) ::raise(signal);
  if (what == "overflows_stack") sink = static_cast<char>(deep(0));
}

void leaves(std::string_view what) {
  if (what == "exits") std::exit(0);  // NOLINT(concurrency-mt-unsafe)
  if (what == "exits_at_once") ::_exit(0);
  if (what == "sleeps")
    while (true) ::pause();
  if (what == "forks")
    for (int i = 0; i < 4; ++i)
      if (::fork() == 0)
        while (true) ::pause();
  if (what == "throws") throw std::runtime_error("across");
  if (what == "throws_int") throw 42;  // NOLINT(hicpp-exception-baseclass)
  if (what == "throws_in_thread") std::thread([] { throw std::runtime_error("in a thread"); }).join();
  if (what == "terminates_by_thread") {
    std::thread t([] {});  // still joinable at its end
  }
}

void memory(std::string_view what) {
  if (what == "double_free") {
    void* p = std::malloc(64);
    std::free(p);
    void* volatile again = p;
    std::free(again);
  }
  if (what == "frees_foreign") {
    static std::array<char, 64> here;
    char* volatile p = here.data() + 8;
    std::free(p);
  }
  if (what == "eats_memory")
    while (true)
      if (::mmap(nullptr, 1 << 26, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        std::abort();
  if (what == "writes_read_only") *const_cast<volatile char*>("constant") = 'x';
}

/// Wrong bytes to the host, as they come from a library that writes to descriptors of others.
void channel(std::string_view what) {
  if (!apart()) return;
  const auto send = [](const void* data, std::size_t size) { (void)!::write(kChannel, data, size); };
  if (what == "writes_garbage") send("how do you do, this is no message at all", 40);
  if (what == "writes_half") {
    send("SL", 2);
    ::_exit(0);
  }
  const auto head = [&](std::uint32_t type, std::uint32_t size, std::uint32_t serial) {
    const std::array<std::uint32_t, 4> words{0x4d4c5331, type, size, serial};
    send(words.data(), sizeof words);
  };
  if (what == "sends_unknown") head(250, 0, 0);
  if (what == "sends_huge") head(0, std::numeric_limits<std::uint32_t>::max(), 0);
  if (what == "sends_short") {
    head(0, 4096, 0);
    ::_exit(0);
  }
  if (what == "closes_channel") ::close(kChannel);
  if (what == "closes_all")
    for (int i = 0; i < 64; ++i) ::close(i);
  if (what == "hangs_up") ::shutdown(kChannel, SHUT_RDWR);
}

}  // namespace

const Row& row() {
  static const Row it = [] {
    const char* said = std::getenv("MISBEHAVE");  // NOLINT(concurrency-mt-unsafe)
    std::string_view rest = said == nullptr ? "" : said;
    Row r;
    r.place = next_word(rest);
    r.what = next_word(rest);
    r.how = next_word(rest);
    return r;
  }();
  return it;
}

MlsString member(std::string_view name, std::string_view good) {
  const auto& r = row();
  if (!r.is("text", name)) return text(good);
  static const std::string zero("ze\0ro", 5), large((1 << 20) + 1, 'a');
  if (r.how == "null") return {nullptr, 5};
  if (r.how == "no_utf8") return text("\xc3(");
  if (r.how == "surrogate") return text("\xed\xa0\x80");
  if (r.how == "zero") return text(zero);
  if (r.how == "large") return text(large);
  if (r.how == "endless") return {good.data(), std::uint64_t{1} << 62};
  if (r.how == "escape") return text("\x1b[31mred\x1b]0;title\x07");
  if (r.how == "newline") return text("one\ntwo");
  if (r.how == "empty") return {nullptr, 0};
  return text(r.how);
}

double number(std::string_view name, double good) {
  const auto& r = row();
  if (!r.is("number", name)) return good;
  return std::strtod(std::string(r.how).c_str(), nullptr);
}

std::int64_t whole(std::string_view name, std::int64_t good) {
  const auto& r = row();
  if (!r.is("whole", name)) return good;
  return std::strtoll(std::string(r.how).c_str(), nullptr, 10);
}

void act(std::string_view slot) {
  const auto& r = row();
  if (r.place != slot) return;
  signals(r.what);
  leaves(r.what);
  memory(r.what);
  channel(r.what);
}

MlsError* answer(std::string_view slot, const MlsHostApi* host) {
  act(slot);
  const auto& r = row();
  if (r.place != slot) return nullptr;
  const auto make = [&](MlsStatus code, MlsString message) {
    return host->error_create(host, code, message);
  };
  static std::array<std::uint64_t, 8> own{};
  static const std::string large((1 << 20) + 1, 'a');
  if (r.what == "fails") {
    auto* e = make(MLS_UNAVAILABLE, text("not today"));
    host->error_add(host, e, text("licence"), text("expired"));
    return e;
  }
  if (r.what == "error_of_its_own") return reinterpret_cast<MlsError*>(own.data());
  if (r.what == "error_destroyed") {
    auto* e = make(MLS_INTERNAL, text("gone"));
    host->error_destroy(host, e);
    return e;
  }
  if (r.what == "error_without_message") return make(MLS_INTERNAL, {});
  if (r.what == "error_no_utf8") return make(MLS_INTERNAL, text("\xff\xfe"));
  if (r.what == "error_null_text") return make(MLS_INTERNAL, {nullptr, 9});
  if (r.what == "error_too_long") return make(MLS_INTERNAL, text(large));
  if (r.what == "error_unknown_code") return make(4711, text("a code of its own"));
  if (r.what == "error_fine_code") return make(MLS_OK, text("fine, but not"));
  if (r.what == "error_with_escape") return make(MLS_INTERNAL, text("\x1b[2Jcleared"));
  return nullptr;
}

}  // namespace misbehave
