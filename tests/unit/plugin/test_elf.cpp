#include <plugin/detail/elf.hpp>

#include "support/catch.hpp"

#include <elf.h>
#include <cstring>
#include <filesystem>

using namespace mlsysim::plugin::detail;

namespace {

const std::string kHelloLibrary =
    std::string(MLSYSIM_BINARY_DIR) + "/plugins/hello_c/mlsysim-plugin-hello-c.so";

std::string hello() { return read_file(kHelloLibrary, 1 << 30); }

/// The library with a field of its ELF header changed.
template <class T> std::string patched(std::size_t offset, T value) {
  auto bytes = hello();
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

}  // namespace

TEST_CASE("a good plugin passes, and its symbols are seen", "[plugin]") {
  const auto facts = read_elf(std::filesystem::path(kHelloLibrary));
  CHECK(facts.fault.empty());
  CHECK(facts.exports("mlsysim_get_plugin_api"));
  CHECK(facts.exported.size() == 1);
  CHECK(facts.unique.empty());
  CHECK_FALSE(facts.text_relocations);
  for (const auto& name : facts.undefined) CHECK(name.find("mlsysim") == std::string::npos);
}

TEST_CASE("a library that was cut is refused at every length", "[plugin]") {
  const auto whole = hello();
  for (std::size_t i = 0; i < 200; ++i) {
    const auto length = whole.size() * i / 200;
    const auto facts = read_elf_bytes(std::string_view(whole).substr(0, length));
    INFO("length " << length << " of " << whole.size());
    REQUIRE_FALSE(facts.fault.empty());
  }
  const auto last = read_elf_bytes(std::string_view(whole).substr(0, whole.size() - 1));
  CHECK(last.fault == "truncated: headers say " + std::to_string(whole.size()) + " bytes, file has " +
                          std::to_string(whole.size() - 1));
  CHECK(last.check == "L03");
}

TEST_CASE("files that are something else are refused with what they are", "[plugin]") {
  CHECK(read_elf_bytes(std::string_view("")).fault == "the file is empty");
  CHECK(read_elf_bytes(std::string_view("#!/bin/sh\necho hello\n")).fault.find("no ELF library") == 0);
  CHECK(read_elf_bytes(patched<unsigned char>(EI_CLASS, ELFCLASS32)).fault.find("a 32-bit library") == 0);
  CHECK(read_elf_bytes(patched<unsigned char>(EI_DATA, ELFDATA2MSB)).fault == "a big-endian library");
  CHECK(read_elf_bytes(patched<Elf64_Half>(offsetof(Elf64_Ehdr, e_machine), EM_S390))
            .fault.find("built for s390, this host is") == 0);
  CHECK(read_elf_bytes(patched<Elf64_Half>(offsetof(Elf64_Ehdr, e_type), ET_EXEC))
            .fault.find("not a shared library") == 0);
  CHECK(read_elf_bytes(patched<Elf64_Half>(offsetof(Elf64_Ehdr, e_shnum), 0)).fault ==
        "it has no section table");
  CHECK_FALSE(read_elf_bytes(patched<Elf64_Off>(offsetof(Elf64_Ehdr, e_phoff), ~0ULL)).fault.empty());
  CHECK_FALSE(read_elf_bytes(patched<Elf64_Off>(offsetof(Elf64_Ehdr, e_shoff), ~0ULL - 3)).fault.empty());
  CHECK(read_elf(std::filesystem::path("/no/such/file.so")).fault == "there is no such file");
  CHECK(read_elf(std::filesystem::path("/tmp")).fault == "it is a directory");
  CHECK(read_elf(std::filesystem::path("/dev/null")).fault == "it is no regular file");
}

TEST_CASE("no change of one byte makes the reader stumble", "[plugin]") {
  auto bytes = hello();
  const std::size_t headers = std::min<std::size_t>(bytes.size(), 1024);
  for (std::size_t i = 0; i < headers; ++i)
    for (const int flip : {0x01, 0x80, 0xFF}) {
      const char was = bytes[i];
      bytes[i] = static_cast<char>(was ^ flip);
      (void)read_elf_bytes(bytes);
      bytes[i] = was;
    }
  for (std::size_t i = bytes.size() - 2048; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(~bytes[i]);
    (void)read_elf_bytes(bytes);
    bytes[i] = static_cast<char>(~bytes[i]);
  }
  CHECK(read_elf_bytes(bytes).fault.empty());
}

TEST_CASE("SHA-256 of the examples of FIPS 180-4", "[plugin]") {
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
