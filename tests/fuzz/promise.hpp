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

/// Ends the program unless an error has an id, words and a place: the name that the text was given under,
/// or where it has none the input that is meant or what of it was found.
inline void check_refusal(const ErrorFacts& facts, const std::string& words, std::string_view place,
                          const std::string& text) {
  if (facts.id.empty() || facts.message.empty() || words.empty())
    fail("an error without id or message", words + "\n----\n" + text);
  const bool placed = place.empty() ? !(facts.key.empty() && facts.found.empty() && facts.where.file.empty())
                                    : words.find(place) != std::string::npos;
  if (!placed) fail("an error without a place", words + "\n----\n" + text);
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
    // A file that the text names brings problems with places of its own; the title says what they belong to.
    for (const auto& p : list.problems())
      check_refusal(p, render(p) + (p.where.file.empty() ? "" : "\n" + list.facts().message), place, text);
  } catch (const Error& error) {
    check_refusal(error.facts(), error.what(), place, text);
  } catch (const std::exception& other) {
    fail(other.what(), text);
  }
  return false;
}

}  // namespace mlsysim::fuzz
