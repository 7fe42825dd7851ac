#include "support/catch.hpp"
#include "zoo_fixtures.hpp"

#include "zoo/detail/source_text.hpp"

#include <chrono>
#include <set>

using namespace mlsysim;
using namespace mlsysim::detail;

namespace {

ErrorFacts failure_of(const std::filesystem::path& file) {
  try {
    check_text(read_source(file));
  } catch (const InputError& error) {
    return error.facts();
  }
  FAIL("no error for " << file);
  return {};
}

}  // namespace

TEST_CASE("files that are no small UTF-8 text are refused, each with its own id", "[zoo]") {
  const zoo_test::Folder folder;
  CHECK(failure_of(folder.path() / "missing.yaml").id == "mlsysim.zoo.001");
  const auto directory = failure_of(folder.path());
  CHECK(directory.id == "mlsysim.zoo.002");
  CHECK_THAT(directory.hint, ContainsSubstring("files in it"));
  CHECK(failure_of("/dev/null").id == "mlsysim.zoo.002");
  CHECK(failure_of(folder.write("nul.yaml", std::string("a: b\nc\0d", 8))).id == "mlsysim.zoo.005");
  CHECK(failure_of(folder.write("latin1.yaml", "name: caf\xE9\n")).id == "mlsysim.zoo.005");
  CHECK(failure_of(folder.write("overlong.yaml", "\xC0\xAF")).id == "mlsysim.zoo.005");
  CHECK(failure_of(folder.write("surrogate.yaml", "\xED\xA0\x80")).id == "mlsysim.zoo.005");
  CHECK(failure_of(folder.write("cut.yaml", "a: \xE2\x82")).id == "mlsysim.zoo.005");
  CHECK(failure_of(folder.write("empty.yaml", "")).id == "mlsysim.zoo.006");
  CHECK(failure_of(folder.write("comment.yaml", "# only words\n\n   \n")).id == "mlsysim.zoo.006");
}

TEST_CASE("the byte that makes a file binary is named with its place", "[zoo]") {
  const zoo_test::Folder folder;
  const auto facts = failure_of(folder.write("nul.yaml", std::string("a: b\nc\0d", 8)));
  CHECK_THAT(facts.found, ContainsSubstring("0x00"));
  CHECK_THAT(facts.found, ContainsSubstring("offset 6 (line 2)"));
}

TEST_CASE("a file of 100 MB is refused by its size, at once", "[zoo]") {
  const zoo_test::Folder folder;
  const auto file = folder.write("huge.yaml", "schema: mlsysim/hardware@1\n");
  std::filesystem::resize_file(file, 100'000'000);
  const auto start = std::chrono::steady_clock::now();
  const auto facts = failure_of(file);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  CHECK(facts.id == "mlsysim.zoo.004");
  CHECK_THAT(facts.found, ContainsSubstring("100 MB"));
  CHECK_THAT(facts.expected, ContainsSubstring("16 MiB"));
  CHECK(took.count() < 20);
}

TEST_CASE("a byte-order mark is taken off, valid UTF-8 of every length is kept", "[zoo]") {
  const zoo_test::Folder folder;
  const std::string text = "a: \xC2\xB5 \xE2\x82\xAC \xF0\x9F\x98\x80\n";
  const auto source = read_source(folder.write("bom.yaml", "\xEF\xBB\xBF" + text));
  CHECK(source.bytes == text);
  CHECK_NOTHROW(check_text(source));
}

TEST_CASE("the caret stands below its character, also behind multi-byte ones and tabs", "[zoo]") {
  const SourceText source{"f.yaml", "first: 1\n\xC2\xB5\tkey: x\r\n"};
  // Bytes of line 2: 2 for the letter, 1 tab, then "key".
  const auto facts = placed({.message = "m"}, source, {2, 4});
  CHECK(facts.where.file == "f.yaml");
  CHECK(facts.where.line == 2);
  CHECK(facts.where.column == 3);
  CHECK(facts.excerpt == "    2 | \xC2\xB5 key: x\n      |   ^");
}

TEST_CASE("a long line is cut around the place", "[zoo]") {
  const SourceText source{"f.yaml", std::string(500, 'a') + "X" + std::string(500, 'b')};
  const auto excerpt = placed({}, source, {1, 501}).excerpt;
  const auto line_end = excerpt.find('\n');
  CHECK(line_end < 130);
  const auto caret = excerpt.find('^') - line_end - 1;
  CHECK(excerpt[caret] == 'X');
}

TEST_CASE("the content hash changes with any byte and with the length", "[zoo]") {
  const std::string text = "schema: mlsysim/hardware@1, nine more";
  std::set<std::uint64_t> seen{content_hash(text)};
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    CHECK(seen.insert(content_hash(other)).second);
  }
  CHECK(content_hash(std::string("a")) != content_hash(std::string("a\0", 2)));
  CHECK(content_hash("") == content_hash(""));
}

TEST_CASE("the table of faults has one id each", "[zoo]") {
  std::set<std::string_view> ids;
  for (const auto& fault : zoo_faults()) {
    CHECK(ids.insert(fault.id).second);
    CHECK(fault.id.starts_with("mlsysim.zoo."));
    CHECK_FALSE(fault.meaning.empty());
  }
}
