// Commands for programs.

#include "cli/program.hpp"

namespace mlsysim::cli {

void Program::model_commands() {
  auto* p =
      command(app_, "model-graph", "Read model graphs, operator by operator: ONNX, StableHLO, MHLO",
              "Examples:\n  mlsysim model-graph show model.mlir\n  mlsysim model-graph show model.onnx H100 "
              "--precision fp32 --dim batch=8",
              {});
  auto* show = command(*p, "show", "List operators by time on a device, sums, or the module graph",
                       "Examples:\n  mlsysim model-graph show model.mlir\n"
                       "  mlsysim model-graph show model.onnx H100 --precision fp32 --dim batch=8\n"
                       "  mlsysim model-graph show model.mlir --graph mermaid --depth 2\n"
                       "  mlsysim model-graph show model.mlir H100 --graph svg --depth 1",
                       [this] { return program_show(program_, render_); }, {Place::none, Place::device});
  demand(*show, "FILE", program_.path, "file of the program");
  offer(*show, "DEVICE", program_.device, "a device of the zoo, or a file with one", "");
  offer(*show, "--precision", program_.precision, "format in which it runs (default: the device's)", "NAME");
  offer(*show, "--batch-size", program_.batch_size, "runs taken together", "N")->capture_default_str();
  auto* graph =
      offer(*show, "--graph", program_.graph,
            "the graph of the modules instead: dot, mermaid, svg or json; with a device by time", "FORM")
          ->check(CLI::IsMember({"dot", "mermaid", "svg", "json"}));
  values_[graph].choices = {"dot", "mermaid", "svg", "json"};
  offer(*show, "--depth", program_.depth, "parts of a module's path that the graph shows", "N")
      ->capture_default_str();
  program_options(*show);
}

/// Adds the options that bind open sizes and loop counts, mark weights and allow unknown versions.
void Program::program_options(CLI::App& app) {
  offer(app, "--dim", program_.dims, "binds an open size; may be repeated", "NAME=N");
  offer(app, "--trip-count", program_.trips, "binds how often a loop runs; may be repeated", "NAME=N");
  offer(app, "--weights", program_.weights, "arguments that are weights: a name, or * for all but the last",
        "NAME");
  app.add_flag("--force", program_.force, "also where the version of the program is not known");
}

}  // namespace mlsysim::cli
