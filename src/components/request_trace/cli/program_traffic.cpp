// Commands for recorded traffic.

#include "cli/program.hpp"

#include <memory>

namespace mlsysim::cli {

void Program::traffic_commands() {
  auto* t = command(
      app_, "trace", "Read recorded requests: lengths, arrivals and shared prefixes",
      "Examples:\n  mlsysim trace show trace.jsonl\n  mlsysim trace import trace.jsonl Llama3_8B H100",
      nullptr);
  const auto asked = std::make_shared<TrafficRequest>();
  const auto file = [asked](CLI::App& app) {
    demand(app, "FILE", asked->file,
           "Mooncake's JSON lines, Azure's CSV, lengths in JSON (also ShareGPT), a result of vllm "
           "bench or genai-perf; "
           "plain or gzip");
    offer(app, "--block-tokens", asked->block_tokens,
          "tokens of a block of Mooncake's hash_ids (default: 512)", "N");
    offer(app, "--characters-per-token", asked->characters_per_token,
          "takes texts by their length; without it files with texts are refused", "N");
  };
  auto* show = command(
      *t, "show", "Show fitted distributions of a trace and what resolvers take from it",
      "Examples:\n  mlsysim trace show trace.jsonl\n  mlsysim trace show azure.csv --verbose\n"
      "  mlsysim eval Llama3_8B H100 --request-trace trace.jsonl\n"
      "  mlsysim resolver run InFlightBatchingModel --workload Llama3_8B --hardware H100 --request-trace "
      "azure.csv\n"
      "Laws keep the mean and the deviation of the file; the distance (Kolmogorov-Smirnov) says what their "
      "shape is worth.",
      [this, asked] { return traffic_show(*asked, render_); });
  file(*show);
  auto* import =
      command(*t, "import", "Write a plan that has the requests of a trace",
              "Examples:\n  mlsysim trace import trace.jsonl Llama3_8B H100 > trace_plan.yaml\n"
              "  mlsysim trace import azure.csv Llama3_70B H100",
              [asked] { return traffic_import(*asked); }, {Place::none, Place::model, Place::machine});
  file(*import);
  demand(*import, "MODEL", asked->model, "a model of the zoo or a file with one");
  demand(*import, "HARDWARE", asked->hardware, "what it runs on");
}

}  // namespace mlsysim::cli
