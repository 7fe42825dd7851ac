#include "detail/elf.hpp"

#include <fmt/format.h>

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace mlsysim::plugin::detail {
namespace {

namespace fs = std::filesystem;

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr Elf64_Half kMachine = EM_RISCV;
#else
constexpr Elf64_Half kMachine = EM_NONE;
#endif
constexpr std::uint64_t kLargest = 1ULL << 30;

std::string machine_name(Elf64_Half machine) {
  constexpr std::pair<Elf64_Half, const char*> kNames[] = {
      {EM_386, "i386"},    {EM_X86_64, "x86-64"}, {EM_ARM, "arm"},  {EM_AARCH64, "aarch64"},
      {EM_RISCV, "riscv"}, {EM_PPC64, "ppc64"},   {EM_S390, "s390"}};
  for (const auto& [number, name] : kNames)
    if (number == machine) return name;
  return fmt::format("machine {}", machine);
}

/// Bytes of a file with checked access.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }
  template <class T> [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
    if (!holds(offset, sizeof(T))) return std::nullopt;
    T out;
    std::memcpy(&out, bytes_.data() + offset, sizeof out);
    return out;
  }
  /// The text at an offset, up to its zero; empty when there is none within the file.
  [[nodiscard]] std::string text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const auto end = bytes_.find('\0', offset);
    return end == std::string_view::npos ? std::string() : std::string(bytes_.substr(offset, end - offset));
  }

 private:
  std::string_view bytes_;
};

class Elf {
 public:
  explicit Elf(std::string_view bytes) : in_(bytes) { facts_.file_bytes = bytes.size(); }

  ElfFacts read() {
    if (header() && inside() && segments()) symbols();
    for (auto* list : {&facts_.exported, &facts_.undefined, &facts_.unique}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    return std::move(facts_);
  }

 private:
  bool fail(const char* check, std::string fault, std::string hint) {
    facts_.check = check;
    facts_.fault = std::move(fault);
    facts_.hint = std::move(hint);
    return false;
  }
  bool truncated(std::uint64_t need) {
    return fail("L03", fmt::format("truncated: headers say {} bytes, file has {}", need, facts_.file_bytes),
                "copy the file again; a cut library kills the process that opens it");
  }

  bool header() {
    if (facts_.file_bytes == 0) return fail("L01", "the file is empty", "build or copy the plugin again");
    if (facts_.file_bytes > kLargest)
      return fail("L01", fmt::format("the file has {} bytes, more than {}", facts_.file_bytes, kLargest),
                  "is it a library?");
    const auto ident = in_.at<std::array<unsigned char, EI_NIDENT>>(0);
    if (!in_.holds(0, SELFMAG))
      return fail("L02", "the file is too short for a library", "build or copy the plugin again");
    const auto magic = in_.at<std::array<unsigned char, SELFMAG>>(0);
    if (std::memcmp(magic->data(), ELFMAG, SELFMAG) != 0)
      return fail("L02", "no ELF library: the first bytes are not 7f 45 4c 46",
                  "give the path of a shared library (.so)");
    if (!ident) return truncated(sizeof(Elf64_Ehdr));
    if ((*ident)[EI_CLASS] != ELFCLASS64) {
      const auto machine = in_.at<Elf64_Half>(18);  // the same place in both classes
      return fail("L02",
                  fmt::format("a 32-bit library ({})", machine ? machine_name(*machine) : "unknown machine"),
                  "build the plugin for this machine");
    }
    if ((*ident)[EI_DATA] != ELFDATA2LSB)
      return fail("L02", "a big-endian library", "build the plugin for this machine");
    const auto h = in_.at<Elf64_Ehdr>(0);
    if (!h) return truncated(sizeof(Elf64_Ehdr));
    header_ = *h;
    if (header_.e_machine != kMachine)
      return fail("L02",
                  fmt::format("built for {}, this host is {}", machine_name(header_.e_machine),
                              machine_name(kMachine)),
                  "build the plugin for this machine");
    if (header_.e_type != ET_DYN)
      return fail("L02", "not a shared library (ELF type is not DYN)", "link it with -shared");
    return true;
  }

  bool inside() {
    if (header_.e_phentsize != sizeof(Elf64_Phdr))
      return fail("L02", "its program headers have an unknown size", "build it again");
    std::uint64_t need = header_.e_phoff + std::uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr);
    if (!in_.holds(header_.e_phoff, std::uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr)))
      return truncated(need);
    for (unsigned i = 0; i < header_.e_phnum; ++i) {
      const auto p = *in_.at<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr));
      if (p.p_filesz == 0) continue;
      if (p.p_offset + p.p_filesz < p.p_offset)
        return fail("L03", "a segment has an impossible size", "build it again");
      need = std::max(need, p.p_offset + p.p_filesz);
    }
    if (header_.e_shnum == 0 || header_.e_shentsize != sizeof(Elf64_Shdr))
      return fail("L02", "it has no section table", "do not strip section headers; build it again");
    const auto table = std::uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr);
    if (header_.e_shoff + table < header_.e_shoff)
      return fail("L03", "its section table has an impossible place", "build it again");
    need = std::max(need, header_.e_shoff + table);
    return need <= facts_.file_bytes || truncated(need);
  }

  bool segments() {
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      const auto s = *in_.at<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr));
      if (s.sh_type != SHT_NOBITS && !in_.holds(s.sh_offset, s.sh_size))
        return truncated(s.sh_offset + s.sh_size);
      sections_.push_back(s);
    }
    return true;
  }

  void symbols() {
    for (const auto& s : sections_) {
      if (s.sh_link >= sections_.size()) continue;
      const auto& names = sections_[s.sh_link];
      if (s.sh_type == SHT_DYNSYM) {
        for (std::uint64_t at = sizeof(Elf64_Sym); at + sizeof(Elf64_Sym) <= s.sh_size;
             at += sizeof(Elf64_Sym))
          add(*in_.at<Elf64_Sym>(s.sh_offset + at), names);
      } else if (s.sh_type == SHT_DYNAMIC) {
        for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= s.sh_size; at += sizeof(Elf64_Dyn)) {
          const auto d = *in_.at<Elf64_Dyn>(s.sh_offset + at);
          if (d.d_tag == DT_NEEDED) facts_.needed.push_back(in_.text(names.sh_offset + d.d_un.d_val));
          if (d.d_tag == DT_TEXTREL) facts_.text_relocations = true;
          if (d.d_tag == DT_NULL) break;
        }
      }
    }
  }

  void add(const Elf64_Sym& symbol, const Elf64_Shdr& names) {
    auto name = in_.text(names.sh_offset + symbol.st_name);
    const auto binding = ELF64_ST_BIND(symbol.st_info);
    if (name.empty() || binding == STB_LOCAL) return;
    if (symbol.st_shndx == SHN_UNDEF) {
      if (binding == STB_GLOBAL) facts_.undefined.push_back(std::move(name));
      return;
    }
    if (binding == STB_GNU_UNIQUE) facts_.unique.push_back(name);
    const auto visibility = ELF64_ST_VISIBILITY(symbol.st_other);
    if (visibility == STV_DEFAULT || visibility == STV_PROTECTED) facts_.exported.push_back(std::move(name));
  }

  Reader in_;
  ElfFacts facts_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace

bool ElfFacts::exports(std::string_view symbol) const {
  return std::binary_search(exported.begin(), exported.end(), symbol);
}

ElfFacts read_elf_bytes(std::string_view bytes) { return Elf(bytes).read(); }

ElfFacts read_elf(const fs::path& file) {
  std::error_code failed;
  const auto status = fs::status(file, failed);
  ElfFacts facts;
  facts.check = "L01";
  facts.hint = "give the path of a shared library (.so)";
  if (!fs::exists(status))
    facts.fault = "there is no such file";
  else if (fs::is_directory(status))
    facts.fault = "it is a directory";
  else if (!fs::is_regular_file(status))
    facts.fault = "it is no regular file";
  if (!facts.fault.empty()) return facts;
  try {
    return read_elf_bytes(read_file(file, kLargest));
  } catch (const std::exception& error) {
    facts.fault = error.what();
    return facts;
  }
}

}  // namespace mlsysim::plugin::detail
