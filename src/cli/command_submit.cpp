// Scripts that submit a search to a scheduler. The scheduler is theirs; shards, states and merging are ours.

#include "commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace mlsysim::cli {
namespace {

/// A word as a shell reads it back.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_./:=,-+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

constexpr Fault kSubmit{.id = "mlsysim.cli.113", .hint = "mlsysim submit --help has an example"};

void check(const SubmitRequest& r) {
  static constexpr std::array<std::string_view, 3> searches{"sweep", "optimize", "pareto"};
  if (std::find(searches.begin(), searches.end(), r.words.front()) == searches.end())
    throw InputError(kSubmit, "only a search is divided into shards", "WORDS",
                     fmt::format("'{}'", r.words.front()), "sweep, optimize or pareto");
  for (const auto& word : r.words)
    for (const std::string_view own : {"--shard", "--state", "--resume", "--rows"})
      if (word == own || word.starts_with(std::string(own) + "="))
        throw InputError(kSubmit, "the script names shards and states itself", word,
                         fmt::format("'{}'", word), "a search without it");
  if (r.shards < 1 || r.shards > 1000000)
    throw InputError(kSubmit, "the number of tasks is out of range", "--shards", fmt::format("{}", r.shards),
                     "1 to 1000000");
}

}  // namespace

Answer submit_script(const SubmitRequest& r) {
  check(r);
  std::string search = "mlsysim", options;
  for (const auto& word : r.words) search += " " + quoted(word);
  for (const auto& option : r.options) options += " " + quoted(option);
  return {fmt::format(R"(#!/bin/sh
# {0} tasks and the job that merges their answers. A task that is started again goes on from its state.
set -eu
folder={1}
mkdir -p "$folder"
cat > "$folder/task.sh" <<'END'
#!/bin/sh
# 2: nothing is feasible in this part, which is an answer
{2} --shard auto --state "$1/part-{{shard}}.json" --resume > "$1/part-$SLURM_ARRAY_TASK_ID.txt" || test $? -eq 2
END
cat > "$folder/merge.sh" <<'END'
#!/bin/sh
exec mlsysim merge "$1"/part-*.json > "$1/answer.txt"
END
job=$(sbatch --parsable --job-name=mlsysim --array=1-{0} --requeue{3} "$folder/task.sh" "$folder")
sbatch --parsable --job-name=mlsysim-merge --dependency="afterok:${{job%%;*}}"{3} "$folder/merge.sh" "$folder"
)",
                      r.shards, quoted(r.folder), search, options)};
}

}  // namespace mlsysim::cli
