#pragma once
/// Calling observers, none of which may change what it observes.

#include <mlsysim/pipeline/run.hpp>

#include <exception>
#include <string>
#include <vector>

namespace mlsysim::detail {

/// Calls one; what it throws is noted. @return whether it threw nothing
template <class F>
bool tell(Callback& callback, const char* event, F&& call, std::vector<PipelineReport::Failure>& failures) {
  std::string what;
  try {
    call(callback);
    return true;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
    what = "an exception that is no std::exception";
  }
  failures.push_back({callback.name(), event, std::move(what)});
  return false;
}

}  // namespace mlsysim::detail
