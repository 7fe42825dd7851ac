#include "kit.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <array>
#include <set>
#include <thread>

namespace mlsysim::plugin::check {
namespace {

using Entry = const MlsPluginApi* (*)();

/// The fault of the file where this check found it.
Result unless(const Subject& s, std::string_view id) {
  return s.elf.check == id && !s.elf.fault.empty() ? fail(s.elf.fault) : pass();
}

Result only_the_entry(const Subject& s) {
  std::string others;
  for (const auto& name : s.elf.exported)
    if (name != MLS_ENTRY_SYMBOL && name != "_init" && name != "_fini")
      others += (others.empty() ? "" : ", ") + name;
  return others.empty() ? pass() : fail("also exports " + others.substr(0, 300));
}

Result no_host_symbols(const Subject& s) {
  for (const auto& name : s.elf.undefined)
    if (name.find("mlsysim") != std::string::npos)
      return fail("needs the symbol " + name + " of the library");
  return pass();
}

Result not_writable(const Subject& s) {
  struct stat st {};
  if (::stat(s.library.c_str(), &st) == 0 && (st.st_mode & S_IWOTH) != 0)
    return fail(fmt::format("everybody can write to it: mode {:04o}", st.st_mode & 07777U));
  return pass();
}

Result needed_resolve(const Subject& s) {
  for (const auto& name : s.elf.needed)
    if (::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr) {
      const char* why = ::dlerror();
      return fail(why == nullptr ? name : why);
    }
  return pass();
}

void* opened(const Subject& s) {
  return ::dlopen(std::filesystem::absolute(s.library).c_str(), RTLD_NOW | RTLD_LOCAL);
}

Result opens(const Subject& s) {
  if (opened(s) != nullptr) return pass();
  const char* why = ::dlerror();
  return fail(why == nullptr ? "dlopen fails" : why);
}

Result same_table(const Subject& s) {
  const auto entry = reinterpret_cast<Entry>(::dlsym(opened(s), MLS_ENTRY_SYMBOL));
  if (entry == nullptr) return fail("no symbol " MLS_ENTRY_SYMBOL);
  const auto *one = entry(), *two = entry();
  if (one == nullptr) return fail("the entry function gives a null pointer");
  return one == two ? pass() : fail("the entry function gives another table on the second call");
}

Result same_table_threads(const Subject& s) {
  const auto entry = reinterpret_cast<Entry>(::dlsym(opened(s), MLS_ENTRY_SYMBOL));
  std::array<const MlsPluginApi*, 8> got{};
  std::vector<std::thread> threads;
  for (auto& slot : got) threads.emplace_back([&slot, entry] { slot = entry(); });
  for (auto& t : threads) t.join();
  for (const auto* p : got)
    if (p != got[0]) return fail("threads get different tables");
  return pass();
}

std::set<std::string> entries(const char* folder) {
  std::set<std::string> out;
  DIR* dir = ::opendir(folder);
  if (dir == nullptr) return out;
  while (const auto* e = ::readdir(dir)) out.insert(e->d_name);
  ::closedir(dir);
  return out;
}

Result leaves_nothing(const Subject& s) {
  const auto files = entries("/proc/self/fd").size(), threads = entries("/proc/self/task").size();
  RawPlugin plugin(s);
  (void)plugin.initialize();
  (void)plugin.register_all();
  const auto files_after = entries("/proc/self/fd").size(), threads_after = entries("/proc/self/task").size();
  if (files_after > files) return fail(fmt::format("{} files stay open after loading", files_after - files));
  if (threads_after > threads)
    return fail(fmt::format("{} threads run after loading", threads_after - threads));
  return pass();
}

}  // namespace

std::span<const Check> load_checks() {
  static constexpr Check checks[] = {
      {"L01", Level::required, "library", "it is a regular file", "",
       [](const Subject& s) { return unless(s, "L01"); }},
      {"L02", Level::required, "library", "it is a shared library for this machine", "L01",
       [](const Subject& s) { return unless(s, "L02"); }},
      {"L03", Level::required, "library", "it is complete: headers and segments lie inside the file",
       "L01 L02", [](const Subject& s) { return unless(s, "L03"); }},
      {"L04", Level::required, "entry", "it exports " MLS_ENTRY_SYMBOL, "L01 L02 L03",
       [](const Subject& s) {
         return s.elf.exports(MLS_ENTRY_SYMBOL) ? pass() : fail("no such symbol is exported");
       }},
      {"L05", Level::recommended, "entry", "it exports nothing else", "L01 L02 L03", only_the_entry},
      {"L06", Level::required, "entry", "it needs no symbol of mlsysim", "L01 L02 L03", no_host_symbols},
      {"L07", Level::recommended, "unload", "it has no GNU_UNIQUE symbol", "L01 L02 L03",
       [](const Subject& s) {
         return s.elf.unique.empty() ? pass()
                                     : fail("has " + s.elf.unique.front() + "; build with -fno-gnu-unique");
       }},
      {"L08", Level::required, "library", "it has no text relocations", "L01 L02 L03",
       [](const Subject& s) { return s.elf.text_relocations ? fail("build it with -fPIC") : pass(); }},
      {"L09", Level::required, "safety", "not everybody can write to it", "L01", not_writable},
      {"L10", Level::required, "library", "the libraries that it needs are there", "L01 L02 L03",
       needed_resolve},
      {"L11", Level::required, "library", "dlopen works, and its constructors return", "L01 L02 L03 L04 L10",
       opens},
      {"L12", Level::required, "entry", "the entry function gives the same table twice", "L11", same_table},
      {"L13", Level::required, "entry", "and the same from eight threads", "L12", same_table_threads},
      {"L14", Level::required, "hygiene", "loading leaves no file open and no thread running", "R01",
       leaves_nothing}};
  return checks;
}

}  // namespace mlsysim::plugin::check
