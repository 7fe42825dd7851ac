// Scripts that submit a search to a scheduler. The scheduler is theirs; shards, states and merging are ours.

#include "commands_divided.hpp"

#include <mlsysim/units/detail/quoted.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mlsysim::cli {
namespace {

/// A line that a text does not hold, to end it in a script.
std::string end_of(const std::string& text) {
  std::string out = "END";
  while (("\n" + text + "\n").find("\n" + out + "\n") != std::string::npos) out += "_";
  return out;
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
  for (const auto& word : r.words) search += " " + detail::shell_word(word);
  for (const auto& option : r.options) options += " " + detail::shell_word(option);
  // A folder that begins with a dash would be an option of mkdir and sbatch.
  const auto folder = detail::shell_word(r.folder.starts_with('-') ? "./" + r.folder : r.folder);
  return {fmt::format(R"(#!/bin/sh
# {0} tasks and the job that merges their answers. A task that is started again goes on from its state.
set -eu
folder={1}
mkdir -p "$folder"
cat > "$folder/task.sh" <<'{4}'
#!/bin/sh
# 2: nothing is feasible in this part, which is an answer
{2} --shard auto --state "$1/part-{{shard}}.json" --resume > "$1/part-$SLURM_ARRAY_TASK_ID.txt" || test $? -eq 2
{4}
cat > "$folder/merge.sh" <<'END'
#!/bin/sh
exec mlsysim merge "$1"/part-*.json > "$1/answer.txt"
END
job=$(sbatch --parsable --job-name=mlsysim --array=1-{0} --requeue{3} "$folder/task.sh" "$folder")
sbatch --parsable --job-name=mlsysim-merge --dependency="afterok:${{job%%;*}}"{3} "$folder/merge.sh" "$folder"
)",
                      r.shards, folder, search, options, end_of(search))};
}

}  // namespace mlsysim::cli
