#include <mlsysim/plugin/mlsysim_plugin.h>
#include <mlsysim/plugin/description.hpp>

#include "support/catch.hpp"

#include <cstring>
#include <fstream>
#include <sstream>

using namespace mlsysim::plugin;

TEST_CASE("offsets and sizes of the C interface are those that were published", "[plugin]") {
  std::ostringstream now;
#define STRUCT(T) now << #T << " " << sizeof(T) << "\n"
#define MEMBER(T, m) now << "  " << #m << " " << offsetof(T, m) << " " << sizeof(T::m) << "\n"
  now << "abi " << MLS_ABI_MAJOR << "." << MLS_ABI_MINOR << "\n";
#include "abi_members.inc"
#undef STRUCT
#undef MEMBER
  std::ifstream file(std::string(MLSYSIM_SOURCE_DIR) + "/tests/unit/plugin/abi.golden");
  std::stringstream golden;
  golden << file.rdbuf();
  INFO(
      "a difference needs a new MLS_ABI_MINOR (appended) or MLS_ABI_MAJOR (anything else), and then this "
      "file:\n"
      << now.str());
  CHECK(now.str() == golden.str());
}

TEST_CASE("names of status codes are those of absl", "[plugin]") {
  CHECK(status_name(MLS_OK) == "OK");
  CHECK(status_name(MLS_INVALID_ARGUMENT) == "INVALID_ARGUMENT");
  CHECK(status_name(MLS_UNAUTHENTICATED) == "UNAUTHENTICATED");
  CHECK(status_name(99) == "UNKNOWN");
  CHECK(status_name(-1) == "UNKNOWN");
}

TEST_CASE("values keep what they are across the interface", "[plugin]") {
  const OwnedValue number{MLS_NUMBER, false, 2.5, "GB/s", nullptr};
  const auto back = OwnedValue::of(number.view());
  CHECK(back.number == 2.5);
  CHECK(back.text == "GB/s");
  CHECK(OwnedValue::of(MlsValue{}).kind == MLS_NONE);
}
