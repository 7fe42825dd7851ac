// Commands about what the library knows and is made of: zoo, pipelines, resolvers, walls, units.

#include "command_agents.hpp"
#include "program.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>
#include <memory>

namespace mlsysim::cli {
namespace {

constexpr const char* kAgentExamples =
    "Examples:\n  mlsysim mcp --schemas\n  mlsysim mcp --allow ./plans\n  mlsysim mcp --http 8000\n"
    "It is a part of the Python package: MLSYSIM_PYTHON names its interpreter (default: python3).";

}  // namespace

void Program::zoo_commands() {
  auto* z = command(app_, "zoo", "Browse built-in devices, models, systems, grids and prices",
                    "Examples:\n  mlsysim zoo list hardware\n  mlsysim zoo show H100", nullptr);
  auto* list =
      command(*z, "list", "List entries of one kind with their main values, or of all kinds",
              "Examples:\n  mlsysim zoo list\n  mlsysim zoo list models\n  mlsysim zoo list hardware -o csv",
              [this] { return zoo_list(first_, render_); }, {Place::kind});
  offer(*list, "KIND", first_, "hardware, model, node, cluster, grid, ...; default: all", "");
  auto* show =
      command(*z, "show", "Show every value of an entry with its source",
              "Examples:\n  mlsysim zoo show H100\n  mlsysim zoo show H100 --yaml",
              [this] { return zoo_show(first_, second_, yaml_ ? ShowAs::yaml : ShowAs::report, render_); },
              {Place::entry});
  demand(*show, "NAME", first_, "name or alias of an entry");
  values_[offer(*show, "--kind", second_, "kind of the entry, where a name is used twice", "KIND")].place =
      Place::kind;
  show->add_flag("--yaml", yaml_, "as a YAML file that mlsysim reads again");
  auto* search =
      command(*z, "search", "Find entries whose name, alias or title resembles the words",
              "Examples:\n  mlsysim zoo search llama\n"
              "  mlsysim zoo search h100 -o csv",
              [this] { return zoo_search(fmt::format("{}", fmt::join(scenario_.targets, " ")), render_); },
              {Place::entry});
  demand(*search, "WORDS", scenario_.targets, "part of a name or title");
  auto* fresh = command(
      *z, "new", "Write a YAML file with an entry of your own to start from",
      "Examples:\n  mlsysim zoo new hardware MyChip > mychip.yaml && mlsysim eval Llama3_8B mychip.yaml\n"
      "  mlsysim zoo new model MyModel > mymodel.yaml",
      [this] {
        return zoo_new(first_, second_, fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))));
      });
  demand(*fresh, "KIND", first_, "hardware, model, node, fabric, cluster or grid");
  demand(*fresh, "NAME", second_, "its name");
  auto* l = command(*z, "lint", "Check the files of the zoo and your own",
                    "Examples:\n  mlsysim zoo lint my_devices.yaml --verbose\n"
                    "  mlsysim zoo lint",
                    [this] { return zoo_lint(paths_, render_); });
  offer(*l, "PATH", paths_, "files and folders of your own, checked beside the zoo", "");
}

void Program::pipeline_commands() {
  auto* p = command(app_, "pipeline", "Run several resolvers, joined by their keys",
                    "Examples:\n  mlsysim pipeline show SingleNodeModel workload=Llama3_8B hardware=H100\n"
                    "  mlsysim pipeline run SingleNodeModel workload=Llama3_8B hardware=H100",
                    nullptr);
  const auto words = [this](CLI::App& app) {
    demand(app, "WORDS", pipeline_.words,
           "stages by resolver name (or instance:Name), and inputs as key=value");
    offer(app, "--link", pipeline_.links, "connects a result to an input of another name; may be repeated",
          "FROM=TO");
  };
  auto* run =
      command(*p, "run", "Run stages and show every result",
              "A stage that fails keeps those from running that need it, and no others.\n"
              "Examples:\n  mlsysim pipeline run ServingModel workload=Llama3_8B hardware=H100 seq_len=1024\n"
              "  mlsysim pipeline run SingleNodeModel workload=Llama3_8B hardware=H100 -o json",
              [this] { return pipeline_run(pipeline_, render_); }, {Place::resolver});
  words(*run);
  run->add_flag("--fail-fast", pipeline_.fail_fast,
                "run nothing behind the first stage that fails or is infeasible, needed or not");
  auto* show = command(
      *p, "show", "Show where each input comes from, without running",
      "Examples:\n  mlsysim pipeline show ServingModel workload=Llama3_8B hardware=H100 --format mermaid\n"
      "  mlsysim pipeline show SingleNodeModel workload=Llama3_8B hardware=H100",
      [this] { return pipeline_show(pipeline_, render_.format == OutputFormat::json ? "json" : form_); },
      {Place::resolver});
  words(*show);
  auto* form = offer(*show, "--format", form_, "text, dot, mermaid or json", "FORM")
                   ->check(CLI::IsMember({"text", "dot", "mermaid", "json"}));
  values_[form].choices = {"text", "dot", "mermaid", "json"};

  auto* r = command(app_, "resolver", "List, describe and run single models, solvers and optimizers",
                    "Examples:\n  mlsysim resolver list\n  mlsysim resolver show ServingModel", nullptr);
  command(*r, "list", "List every resolver with its tier and purpose",
          "Examples:\n  mlsysim resolver list -o json\n"
          "  mlsysim resolver list",
          [this] { return resolver_list(render_); });
  auto* one = command(*r, "show", "Show inputs, outputs, equation and source of a resolver",
                      "Examples:\n  mlsysim resolver show SingleNodeModel\n"
                      "  mlsysim resolver show RingAllReduce -o json",
                      [this] { return resolver_show(first_, render_); }, {Place::resolver});
  demand(*one, "NAME", first_, "name of a resolver");
  resolver_commands(*r);
}

void Program::resolver_commands(CLI::App& r) {
  auto* run =
      command(r, "run", "Run one resolver with inputs from the command line",
              "Examples:\n"
              "  mlsysim resolver run TailLatencyModel --arrival-rate '300 request/s' "
              "--service-latency '10 ms' --num-replicas 4\n"
              "  mlsysim resolver run SynthesisSolver --workload Llama3_8B --target-latency '10 ms'\n"
              "  mlsysim resolver run ServingModel --workload Llama3_8B --hardware H100 --interval 80\n"
              "Inputs are those of `mlsysim resolver show NAME`; names of the zoo, files, and "
              "quantities with their unit.\n"
              "--interval 50, 80 or 95 adds the intervals in which that share of measurements is to be "
              "expected.",
              nullptr, {Place::resolver});
  // Inputs are read by the command, so the options of the program are its own here.
  run->require_subcommand(0);
  run->allow_extras();
  run->fallthrough(false);
  values_[offer(*run, "-o,--output", format_, "text, json, markdown or csv", "FORMAT")
              ->check(CLI::IsMember({"text", "json", "markdown", "csv"}))]
      .choices = {"text", "json", "markdown", "csv"};
  run->add_flag("-v,--verbose", verbose_, "assumptions with their sources");
  offer(*run, "--zoo", zoo_paths_, "a YAML file or folder of your own, read beside the zoo", "PATH");
  demand(*run, "NAME", resolver_.name, "name of a resolver");
  commands_[run] = [this, run] {
    resolver_.words = run->remaining();
    return resolver_run(resolver_, render_);
  };
  auto* docs = command(r, "docs", "Write reference pages in Markdown, one for each resolver",
                       "Examples:\n"
                       "  mlsysim resolver docs TailLatencyModel\n"
                       "  mlsysim resolver docs --write docs/reference/resolvers\n"
                       "  mlsysim resolver docs --check docs/reference/resolvers",
                       [this] { return resolver_docs(first_, write_, check_); }, {Place::resolver});
  offer(*docs, "NAME", first_, "name of a resolver; default: all", "");
  auto* write = offer(*docs, "--write", write_, "writes all pages into this folder", "DIR");
  offer(*docs, "--check", check_, "fails when a page of this folder is not current", "DIR")->excludes(write);
  auto* w = command(app_, "walls", "List the 22 walls, each with its resolvers and fallacies",
                    "Examples:\n  mlsysim walls\n  mlsysim walls 7",
                    [this] { return walls_command(first_, render_); });
  offer(*w, "N", first_, "number of a wall; default: all", "");
}

void Program::small_commands() {
  auto* s = command(app_, "schema", "Print JSON Schemas of plans, zoo files, events and arguments",
                    "Examples:\n  mlsysim schema plan > plan.schema.json\n  mlsysim schema hardware\n"
                    "  mlsysim schema event > event.schema.json\n"
                    "  mlsysim schema zoo show\n  mlsysim schema commands > commands.json",
                    [this] { return schema_asked(paths_); }, {Place::schema_type});
  offer(*s, "TYPE", paths_,
        "plan, event, observability, explain_document, hardware, model, node, ...; or a command, "
        "such as eval or zoo show; or commands, for "
        "all of them; "
        "default: plan",
        "");
  auto* u = command(app_, "units", "Convert and list units",
                    "Examples:\n  mlsysim units list\n  mlsysim units convert '3.35 TB/s' GB/s", nullptr);
  auto* c =
      command(*u, "convert", "Convert a quantity to another unit, exactly",
              "Examples:\n  mlsysim units convert '3.35 TB/s' GB/s\n  mlsysim units convert '80 GiB' GB",
              [this] { return units_convert(first_, second_, render_); }, {Place::none, Place::unit});
  demand(*c, "QUANTITY", first_, "a number and its unit");
  demand(*c, "UNIT", second_, "unit of the answer");
  command(*u, "list", "List every unit, alias and refused spelling",
          "Examples:\n  mlsysim units list\n"
          "  mlsysim units list -o csv",
          [this] { return units_list(render_); });
  command(app_, "version", "Print the version of the program",
          "Examples:\n  mlsysim version -o json\n"
          "  mlsysim version",
          [this] { return version(render_); });
  auto* k = command(
      app_, "completion", "Print a script that completes commands, options and names in a shell",
      "Examples:\n  mlsysim completion bash > mlsysim.bash\n  mlsysim completion fish > mlsysim.fish\n"
      "or at once: source <(mlsysim completion bash); mlsysim completion fish | source",
      [this] { return Answer{completion_script(first_)}; }, {Place::shell});
  demand(*k, "SHELL", first_, "bash, zsh or fish");
}

void Program::agent_command() {
  struct Served {
    std::vector<std::string> folders;
    std::string address;
    bool schemas = false;
  };
  const auto served = std::make_shared<Served>();
  auto* mcp = command(app_, "mcp", "Serve the Model Context Protocol, for agents", kAgentExamples,
                      [served]() -> Answer {
                        std::vector<std::string> words;
                        for (const auto& folder : served->folders)
                          words.insert(words.end(), {"--allow", folder});
                        if (!served->address.empty()) words.insert(words.end(), {"--http", served->address});
                        if (served->schemas) words.emplace_back("--schemas");
                        become_server(std::move(words));
                      });
  offer(*mcp, "--allow", served->folders, "a folder whose files may be read; may be repeated", "FOLDER");
  offer(*mcp, "--http", served->address,
        "streamable HTTP at /mcp in place of standard input and output; HOST is 127.0.0.1", "[HOST:]PORT");
  mcp->add_flag("--schemas", served->schemas, "the tools with their schemas as JSON, and the end");
}

void Program::memory_command() {
  auto* m = command(app_, "memory", "List what fills the memory when a model serves requests, to the byte",
                    "Examples:\n  mlsysim memory Qwen3_8B H100 --context 32768 --requests 16\n"
                    "  mlsysim memory ./config.json H100 --engine vllm --tensor-parallel 8",
                    [this] { return memory(memory_, render_); }, {Place::model, Place::device});
  demand(*m, "MODEL", memory_.model, "a model of the zoo, or a file with one");
  offer(*m, "DEVICE", memory_.device, "a device of the zoo, or a file with one", "");
  offer(*m, "--context,--seq-len,--input-tokens", memory_.context, "tokens of each request", "N")
      ->capture_default_str();
  offer(*m, "--requests,-b,--batch-size", memory_.requests, "requests that hold a cache", "N")
      ->capture_default_str();
  offer(*m, "--tensor-parallel,--tp-size", memory_.tensor_parallel, "ranks that divide each layer", "N")
      ->capture_default_str();
  offer(*m, "--expert-parallel,--ep-size", memory_.expert_parallel, "ranks that divide the experts", "N")
      ->capture_default_str();
  offer(*m, "--accelerators,--gpus", memory_.accelerators,
        "devices that share the model, by tensor parallelism", "N");
  offer(*m, "--precision", memory_.precision,
        "format of the weights; embedding and head keep 16 bits (default: as stored)", "NAME");
  offer(*m, "--kv-precision", memory_.kv_precision, "format of keys and values (default: as the model says)",
        "NAME");
  auto* engine = offer(*m, "--engine", memory_.engine,
                       "whose division of the memory: none, or an engine of the zoo", "NAME")
                     ->capture_default_str();
  values_[engine].place = Place::engine;
  offer(*m, "--memory-fraction", memory_.memory_fraction, "share that the engine takes, by its own rule",
        "SHARE");
  offer(*m, "--kv-cache-memory", memory_.kv_cache_memory, "the cache of a device, whatever its share",
        "QUANTITY");
}

}  // namespace mlsysim::cli
