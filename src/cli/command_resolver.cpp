// resolver run; list and show are in commands_pipeline.cpp.

#include "command_resolver.hpp"
#include "commands_traffic.hpp"
#include "questions.hpp"

#include <mlsysim/reflect/detail/aliases.hpp>
#include <mlsysim/report/interval_report.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace mlsysim::cli {
namespace {

/// `--key value`, `--key=value` and `key=value` as the words `key=value` of a pipeline.
std::vector<std::string> inputs_of(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    const bool option = word.starts_with("--");
    if (option) word.erase(0, 2);
    const auto equals = word.find('=');
    auto key = word.substr(0, equals);
    if (equals == std::string::npos) {
      if (!option)
        throw InputError("mlsysim.cli.021", "an input has a name", "resolver run",
                         fmt::format("'{}'", words[i]), "--key value", "e.g. --hardware H100");
      if (i + 1 == words.size() || (words[i + 1].starts_with("--") && words[i + 1].size() > 2))
        throw InputError("mlsysim.cli.102", fmt::format("the input '{}' has no value", key), key, "nothing",
                         "a value", fmt::format("e.g. --{} VALUE", key));
      word = key + "=" + words[++i];
    }
    std::replace(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(key.size()), '-', '_');
    if (word.starts_with("request_trace=")) word.replace(0, word.find('='), canonical_name("request_trace"));
    out.push_back(std::move(word));
  }
  return out;
}

/// Takes `--interval [PERCENT]` off the words; 0 without it, and of a resolver that has an input of that
/// name.
int take_interval(std::vector<std::string>& words, const Resolver& resolver) {
  constexpr std::string_view option = "--interval", with_value = "--interval=";
  if (find_field(resolver.inputs(), "interval") != nullptr) return 0;
  const auto at = std::ranges::find_if(
      words, [&](const std::string& w) { return w == option || w.starts_with(with_value); });
  if (at == words.end()) return 0;
  auto end = at + 1;
  std::string level = "80";
  if (*at != option)
    level = at->substr(with_value.size());
  else if (end != words.end() && std::isdigit(static_cast<unsigned char>(end->front())) != 0)
    level = *end++;
  words.erase(at, end);
  int percent = 0;
  std::from_chars(level.data(), level.data() + level.size(), percent);
  (void)interval_level(percent);
  return percent;
}

}  // namespace

Answer resolver_run(const ResolverRunRequest& request, const RenderOptions& options) {
  const auto& resolver = ResolverRegistry::standard().at(request.name);  // near misses first
  auto words = request.words;
  const int level = take_interval(words, resolver);
  PipelineRequest one;
  one.words = inputs_of(words);
  const auto taken = take_traffic(one.words, resolver.inputs());
  one.words.insert(one.words.begin(), request.name);
  auto answer = pipeline_run(one, options);
  answer.diagnostics.insert(0, taken);
  if (level > 0) {
    const auto q = subject_asked({.targets = one.words});
    const auto measured = measured_results(q.subject, q.about);
    if (measured.empty())
      answer.diagnostics += fmt::format("mlsysim: note: no table measures a result of {}\n", request.name);
    else
      answer.payload =
          with_intervals(std::move(answer.payload), intervals(q.subject, q.about, measured, level), options);
  }
  return answer;
}

}  // namespace mlsysim::cli
