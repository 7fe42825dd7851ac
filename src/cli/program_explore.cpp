// Commands that ask a scenario or a law further: sensitivity, export, solve, uncertainty, compare, optimize,
// pareto, merge.

#include "program.hpp"

#include <mlsysim/explore/search/explore.hpp>

#include <fmt/format.h>

namespace mlsysim::cli {

void Program::explore_commands() {
  sensitivity_command();
  export_command();
  solve_command();
  uncertainty_command();
  compare_command();
}

/// The words of a command that asks about one thing; `last` says what follows MODEL HARDWARE.
CLI::Option* Program::subject_words(CLI::App& app, const char* last) {
  return demand(app, "WORDS", scenario_.targets,
                std::string("MODEL HARDWARE, a plan file, or a resolver with key=value; then ") + last);
}

void Program::sensitivity_command() {
  auto* s = command(
      app_, "sensitivity", "Rank what a number depends on, and by how much",
      "Examples:\n"
      "  mlsysim sensitivity Llama3_70B H100 itl --accelerators 8\n"
      "  mlsysim sensitivity Llama3_70B H100 --accelerators 8      asks for the main result: itl\n"
      "  mlsysim sensitivity plan.yaml cost_per_token --inputs hardware.memory.bandwidth,kwh_price\n"
      "  mlsysim sensitivity RingAllReduce message=1GB ranks=8 bandwidth='400 GB/s' alpha='5 us' time",
      [this] { return sensitivity_of(scenario_, sensitivity_, render_); },
      {Place::model, Place::machine, Place::metric});
  subject_words(
      *s, "the RESULT (default: itl, step_latency or latency, by mode; of a resolver its first number)");
  offer(*s, "--inputs", sensitivity_.inputs, "inputs, separated by commas (default: all)", "NAME,...")
      ->delimiter(',');
  offer(*s, "--step", sensitivity_.step, "relative move of the tornado (default: 0.1)", "N");
  scenario_options(*s, std::nullopt);
}

void Program::export_command() {
  auto* x = command(
      app_, "export", "Write a scenario or law as C or JSON, or as an engine's launch",
      "Examples:\n"
      "  mlsysim export Llama3_70B H100 itl,ttft --accelerators 8 --language c --function serve > serve.c\n"
      "  mlsysim export RingAllReduce message=1GB ranks=8 bandwidth='400 GB/s' alpha='5 us' time > "
      "ring.json\n"
      "  mlsysim export plan.yaml --to vllm\n"
      "docs/reference/exported-programs.md describes the JSON.",
      [this] {
        return launch_.to.empty() ? export_program(scenario_, export_) : launch_export(scenario_, launch_);
      },
      {Place::model, Place::machine, Place::metric});
  subject_words(*x, "the RESULT, or several separated by commas; none with --to");
  values_[offer(*x, "--to", launch_.to,
                "what starts the plan: vllm, sglang, trtllm, megatron, deepspeed or torchtitan", "ENGINE")]
      .choices = {"vllm", "sglang", "trtllm", "megatron", "deepspeed", "torchtitan"};
  offer(*x, "--checkpoint", launch_.checkpoint, "what the engine calls the model (default: its name here)",
        "NAME");
  offer(*x, "--language", export_.language, "json (default) or c", "NAME")
      ->check(CLI::IsMember({"json", "c"}))
      ->option_text("NAME:{json,c}");
  offer(*x, "--function", export_.name, "name of the C function (default: law)", "NAME");
  scenario_options(*x, std::nullopt);
}

void Program::solve_command() {
  auto* v =
      command(app_, "solve", "Find the value of an input that meets a condition",
              "Examples:\n"
              "  mlsysim solve Llama3_70B H100 'itl <= 30 ms' batch_size --accelerators 8\n"
              "  mlsysim solve Llama3_70B H100 batch_size --itl '30 ms' --accelerators 8\n"
              "  mlsysim solve Llama3_8B H100 'training_time <= 60 d' accelerators --mode train "
              "--accelerators 64 --batch-size 1024\n"
              "  mlsysim solve RingAllReduce message=1GB ranks=8 bandwidth='400 GB/s' alpha='5 us' 'time <= "
              "4 ms' bandwidth\n"
              "Exit codes: 0 fine, 1 bad input, 2 no solution.",
              [this] { return solve_question(scenario_, solve_, render_); }, {Place::model, Place::machine});
  subject_words(*v, "a CONDITION (or one of --ttft, --itl, --e2e) and the free INPUT");
  limit_options(*v, [this](const ServiceLimit& limit) { solve_.limits.push_back(limit); });
  offer(*v, "--low", solve_.low, "lower end of the search", "QUANTITY");
  offer(*v, "--high", solve_.high, "upper end of the search", "QUANTITY");
  interval_option(*v, scenario_.interval);
  scenario_options(*v, std::nullopt);
}

void Program::uncertainty_command() {
  auto* u =
      command(app_, "uncertainty", "Show how sure a number is, and which inputs make it unsure",
              "Examples:\n"
              "  mlsysim uncertainty Llama3_70B H100 itl,cost_per_token --accelerators 8\n"
              "  mlsysim uncertainty Llama3_70B H100 itl,cost_per_token --accelerators 8 --uncertain "
              "'hardware.efficiency.memory = +-5 %' \\\n"
              "    --uncertain 'hardware.kernels.launch = triangular 1 us..4 us' --uncertain 'kwh_price = "
              "lognormal 20 %' --with hardware=H200\n"
              "Distributions: normal SPREAD, lognormal SPREAD, uniform LOW..HIGH, triangular "
              "LOW..HIGH, +-N %. Figures of the zoo that\n"
              "state a range vary in it as well (triangular), unless --given-only; the answer lists "
              "them. --with adds the probability\n"
              "that the first result stays below that of a changed configuration.",
              [this] { return uncertainty_of(scenario_, uncertainty_, render_); },
              {Place::model, Place::machine, Place::metric});
  subject_words(*u, "the RESULT, or several separated by commas");
  offer(*u, "--uncertain", uncertainty_.uncertain, "a figure and its distribution; may be repeated",
        "NAME=DISTRIBUTION");
  u->add_flag("--given-only", uncertainty_.given_only,
              "vary the figures of --uncertain alone, without the ranges of the zoo");
  offer(*u, "--with", uncertainty_.with, "a change of the configuration to rank against; may be repeated",
        "NAME=VALUE");
  offer(*u, "--samples", uncertainty_.samples, "samples of each set (default: 4096)", "N");
  offer(*u, "--memory", uncertainty_.memory, "that the samples may take (default: 4 GiB)", "QUANTITY");
  offer(*u, "--seed", uncertainty_.seed, "same seed, same bytes (default: 1)", "N");
  offer(*u, "--coverage", uncertainty_.coverage, "share of the samples between low and high (default: 0.9)",
        "N");
  u->add_flag("--mpi", uncertainty_.mpi,
              "every rank of mpirun evaluates a part of the samples, rank 0 answers");
  scenario_options(*u, std::nullopt);
}

void Program::compare_command() {
  auto* c = command(
      app_, "compare", "Explain why two setups differ, or how predictions and your data differ",
      "Examples:\n"
      "  mlsysim compare Llama3_70B H100 H200 --accelerators 8\n"
      "  mlsysim compare Llama3_8B H100 step_latency --mode train --accelerators 64 --against "
      "tp_size=1 --with tp_size=8 --with recomputation=full\n"
      "  mlsysim compare Llama3_70B H100 --accelerators 8 --with 'hardware.memory.bandwidth=4.8 TB/s'\n"
      "  mlsysim compare --against gemm.csv --measurand matrix_product\n  mlsysim compare --against "
      "mine.yaml --verbose\n"
      "With a RESULT: which changed figure makes how much of the difference. Without words: which "
      "part of the model explains\n"
      "how measurements differ from predictions; the columns of the CSV file are named like the "
      "inputs, beside 'measured'\n"
      "or 'measured [us]'.",
      [this] { return compare(); }, {Place::model, Place::machine, Place::metric});
  subject_words(*c, "the RESULT (default: itl, step_latency or latency, by mode)")->required(false);
  offer(*c, "--with", compare_.with, "a change of the second configuration; may be repeated", "NAME=VALUE");
  offer(*c, "--against", compare_.against,
        "a change of the first configuration, may be repeated; or a CSV file of measurements, or the "
        "definition of a table",
        "NAME=VALUE|FILE");
  offer(*c, "--measurand", compare_measured_.measurand,
        "what a CSV file measures: matrix_product, token_time, ...", "NAME");
  interval_option(*c, scenario_.interval);
  limit_options(*c, [this](ServiceLimit limit) { scenario_.limits.push_back(std::move(limit)); });
  scenario_options(*c, std::nullopt);
}

/// Two configurations, or measurements and predictions: the second has no words.
Answer Program::compare() {
  if (!scenario_.targets.empty()) return compare_question(scenario_, compare_, render_);
  if (compare_.against.size() != 1)
    throw InputError({.id = "mlsysim.cli.068",
                      .message = "there is nothing to compare",
                      .key = "compare",
                      .found = fmt::format("no words, and {} times --against", compare_.against.size()),
                      .expected = "MODEL HARDWARE RESULT, or --against with a file of measurements",
                      .hint = "mlsysim compare --help"});
  if (scenario_.interval > 0)
    throw InputError({.id = "mlsysim.cli.250",
                      .message = "measurements against predictions have no intervals",
                      .key = "--interval",
                      .found = fmt::format("--interval {} beside a file", scenario_.interval),
                      .expected = "two configurations: MODEL HARDWARE RESULT --with NAME=VALUE",
                      .hint = "mlsysim validate --tables lists how far predictions are from measurements"});
  if (!scenario_.limits.empty())
    throw InputError({.id = "mlsysim.cli.372",
                      .message = "measurements against predictions hold no limits",
                      .key = scenario_.limits.front().time,
                      .found = fmt::format("'{}' beside a file", scenario_.limits.front().text()),
                      .expected = "two configurations: MODEL HARDWARE --with NAME=VALUE",
                      .hint = "leave out the limit"});
  compare_measured_.against = compare_.against.front();
  return compare_measured(compare_measured_, render_);
}

void Program::search_options(CLI::App& app) {
  const auto list = [&app](const char* name, std::vector<std::string>& to, const char* about,
                           const char* type) { offer(app, name, to, about, type)->group("Space"); };
  list("--axis", search_.axes,
       "what varies: NAME=1,2,4 or 1..64*2 or '1 TB/s..8 TB/s:64' or A,B=1x8,2x4; NAME=@FILE for a YAML "
       "list, @FILE for a "
       "YAML map of axes; may be repeated",
       "NAME=VALUES|@FILE");
  list("--minimize", search_.minimize, "objective; may be repeated", "EXPRESSION");
  list("--maximize", search_.maximize, "objective; may be repeated", "EXPRESSION");
  list("--subject-to", search_.constraints, "constraint, e.g. 'ttft <= 500 ms'; may be repeated",
       "CONDITION");
  limit_options(app, [this](const ServiceLimit& limit) { search_.constraints.push_back(limit.condition()); });
  offer(app, "--show", search_.show, "further results or expressions, separated by commas", "EXPRESSION,...")
      ->delimiter(',')
      ->group("Space");
  offer(app, "--top", search_.top, "best points to list (default: 1)", "N")->group("Space");
  offer(app, "--histogram", search_.histogram, "distribution of an expression over feasible points",
        "EXPRESSION")
      ->group("Space");
  app.add_flag("--include-infeasible,--anything", search_.anything,
               "also points that do not fit in memory or leave devices unused")
      ->group("Space");
  auto* how = offer(app, "--strategy", search_.strategy,
                    fmt::format("{} (default: automatic)", fmt::join(Choices<Strategy>::names, ", ")), "NAME")
                  ->group("Search");
  values_[how].choices.assign(Choices<Strategy>::names.begin(), Choices<Strategy>::names.end());
  how->check(CLI::IsMember(values_[how].choices));
  offer(app, "--evaluations", search_.evaluations,
        "after which gradient and evolutionary stop (default: 20000)", "N")
      ->group("Search");
  offer(app, "--seed", search_.seed, "of gradient and evolutionary: same seed, same bytes (default: 1)", "N")
      ->group("Search");
  offer(app, "--threads", search_.threads, "threads (default: as many as cores); the answer is the same", "N")
      ->group("Search");
  offer(app, "--shard", search_.shard,
        "part of the space, e.g. 3/16, or auto in a job array (auto/16 where the scheduler "
        "does not say of how many); join the parts with mlsysim merge",
        "k/n")
      ->group("Search");
  app.add_flag_callback(
         "--mpi", [this] { search_.shard = "mpi"; },
         "every rank of mpirun takes a shard, rank 0 joins them and answers, or writes the --rows of all; "
         "with "
         "--strategy branch-and-bound they share the best value")
      ->excludes("--shard")
      ->group("Search");
  offer(app, "--state", search_.state,
        "file for checkpoints, --resume and merge, {shard} stands for the part; an exhaustive "
        "search then, or with --shard and --strategy branch-and-bound one of workers that read the best "
        "value from each other's states",
        "FILE")
      ->group("Search");
  app.add_flag("--resume", search_.resume, "go on from the state file where there is one, to the same bytes")
      ->group("Search");
  offer(app, "--rows", search_.rows,
        "sweep: write every point to a .csv, .jsonl or .ndjson file, {shard} stands for the part", "FILE")
      ->group("Search");
  app.add_flag("--force,--overwrite", search_.overwrite, "replace files that exist")->group("Search");
}

void Program::search_commands() {
  const auto add = [this](const char* name, const char* about, const char* examples) {
    auto* app = command(app_, name, about, examples,
                        [this, name] {
                          search_.command = name;
                          return search(scenario_, search_, render_);
                        },
                        {Place::model, Place::machine});
    demand(*app, "WORDS", scenario_.targets, "MODEL HARDWARE, a plan file, or a resolver with key=value");
    search_options(*app);
    interval_option(*app, search_.interval);
    scenario_options(*app, std::nullopt);
  };
  add("optimize", "Find the best plan under constraints, with a proof",
      "Examples:\n"
      "  mlsysim optimize Llama3_70B H100 --accelerators 8 --axis batch_size=1..512 --axis tp_size=1,2,4,8 "
      "--axis precision=bf16,fp8 \\\n"
      "    --minimize cost_per_token --subject-to 'itl <= 40 ms' --subject-to 'ttft <= 1 s' --show itl,ttft\n"
      "  mlsysim optimize GPT3_175B A100 --mode train --accelerators 64 --batch-size 64 --axis "
      "'tp_size,pp_size=degrees(64)' \\\n"
      "    --axis microbatch_count=1..64*2 --axis zero_stage=0,1,2,3 --axis "
      "recomputation=none,selective,full --minimize step_latency\n"
      "Exit codes: 0 fine, 1 bad input, 2 nothing is feasible, 130 interrupted (the answer so far is "
      "valid).");
  add("pareto", "List the plans that no other plan beats in every objective",
      "Examples:\n  mlsysim pareto Llama3_70B H100 --accelerators 8 --axis batch_size=1..512*2 --axis "
      "tp_size=2,4,8 \\\n"
      "    --minimize itl --minimize cost_per_token\n"
      "  mlsysim pareto plan.yaml --axis hardware=H100,H200 --axis batch_size=1..64*2 --minimize itl "
      "--maximize "
      "token_throughput");
}

}  // namespace mlsysim::cli
