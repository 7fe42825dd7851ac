#pragma once
/// What every fuzz target promises of input that is refused: one of our errors, with an id and words, and a
/// place where there is one.

#include <mlsysim/units/error.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace mlsysim::fuzz {

/// Ends the program: a case broke a promise.
[[noreturn]] inline void fail(const char* what, const std::string& text) {
  std::fprintf(stderr, "%s\n%s\n", what, text.c_str());
  std::abort();
}

/// Whether f() takes the text. It may refuse it by an error of ours that is complete; any other exception
/// ends the program.
/// @param place what the words of a refusal must hold, the name under which the text was given, say
template <class F> bool takes(const std::string& text, F&& f, std::string_view place = {}) {
  try {
    f();
    return true;
  } catch (const ErrorList& list) {
    if (list.problems().empty()) fail("a list of no problems", text);
  } catch (const Error& error) {
    const std::string words = error.what();
    if (error.id().empty() || words.empty() || error.facts().message.empty())
      fail("an error without id or message", text);
    if (words.find(place) == std::string::npos) fail("an error without a place", words + "\n----\n" + text);
  } catch (const std::exception& other) {
    fail(other.what(), text);
  }
  return false;
}

}  // namespace mlsysim::fuzz
