// Commands for searches as job arrays.

#include "cli/program.hpp"

#include "commands_divided.hpp"

#include <memory>

namespace mlsysim::cli {

void Program::divided_commands() {
  const auto states = std::make_shared<std::vector<std::string>>();
  auto* m = command(app_, "merge", "Join the parts of a search into one answer",
                    "Examples:\n  mlsysim merge part1.json part2.json part3.json\n"
                    "  mlsysim merge part1.json part2.json part3.json -o json",
                    [this, states] { return merge_states(*states, render_); });
  demand(*m, "FILE", *states, "state files of all shards, in any order");
  const auto asked = std::make_shared<SubmitRequest>();
  auto* j = command(
      app_, "submit", "Write the script that runs a search as a job array",
      "Examples:\n  mlsysim submit --slurm --shards 64 --folder run -- optimize Llama3_70B H100 "
      "--accelerators 8 \\\n"
      "    --axis batch_size=1..512 --axis tp_size=1,2,4,8 --minimize cost_per_token > submit.sh && sh "
      "submit.sh\n"
      "  mlsysim submit --slurm --shards 8 --folder run -- pareto Llama3_8B H100 --axis batch_size=1..64 "
      "--minimize itl --maximize token_throughput\n"
      "A task that is started again goes on from its state. Nothing is submitted before the script is run.",
      [asked] { return submit_script(*asked); });
  j->add_flag("--slurm", asked->slurm, "for Slurm")->required();
  offer(*j, "--shards", asked->shards, "tasks of the array", "N")->required();
  offer(*j, "--folder", asked->folder, "of states and the answer (default: mlsysim-run)", "DIR");
  offer(*j, "--sbatch", asked->options, "an option for sbatch, such as --partition=cpu; may be repeated",
        "OPTION");
  demand(*j, "WORDS", asked->words, "the search: sweep, optimize or pareto and its words, behind --");
}

}  // namespace mlsysim::cli
