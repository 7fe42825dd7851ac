#pragma once
// Launches as the tests read them: on an H100 unless fields say otherwise.

#include <support/catch.hpp>

#include <mlsysim/launch/launch.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <map>
#include <string>
#include <utility>

namespace launches {

using namespace mlsysim;
using Fields = std::map<std::string, std::string>;

inline Launch read(std::string text, std::string name = "command line",
                   Fields fields = {{"hardware", "H100"}}) {
  return read_launch({.text = std::move(text), .name = std::move(name), .fields = std::move(fields)},
                     standard_zoo());
}
inline std::string refusal(const std::string& text, const std::string& name = "command line",
                           const Fields& fields = {{"hardware", "H100"}}) {
  try {
    (void)read(text, name, fields);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}
inline std::string field(const Launch& launch, const std::string& name) {
  const auto at = launch.fields.find(name);
  return at == launch.fields.end() ? "" : at->second;
}
inline const FlagFinding& finding(const Launch& launch, std::string_view flag) {
  for (const auto& f : launch.findings)
    if (f.flag == flag) return f;
  FAIL("no finding of " << flag);
  throw 0;
}

}  // namespace launches
