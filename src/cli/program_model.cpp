// Commands for model files: memory.

#include "program.hpp"

namespace mlsysim::cli {

void Program::model_commands() {
  auto* p = command(app_, "program", "programs down to the operator: ONNX, StableHLO and MHLO text",
                    "Examples:\n  mlsysim program show model.mlir\n  mlsysim program show model.onnx H100 "
                    "--precision fp32 --dim batch=8",
                    {});
  auto* show = command(*p, "show", "operators by time on a device, sums, or the graph of the modules",
                       "Examples:\n  mlsysim program show model.mlir\n"
                       "  mlsysim program show model.onnx H100 --precision fp32 --dim batch=8\n"
                       "  mlsysim program show model.mlir --graph mermaid --depth 2\n"
                       "  mlsysim program show model.mlir H100 --graph svg --depth 1",
                       [this] { return program_show(program_, render_); }, {Place::none, Place::device});
  show->add_option("FILE", program_.path, "file of the program")->required()->type_name("");
  show->add_option("DEVICE", program_.device, "a device of the zoo, or a file with one")->type_name("");
  show->add_option("--precision", program_.precision, "format in which it runs (default: the device's)")
      ->type_name("NAME");
  show->add_option("--batch-size", program_.batch_size, "runs taken together")
      ->type_name("N")
      ->capture_default_str();
  auto* graph =
      show->add_option("--graph", program_.graph,
                       "the graph of the modules instead: dot, mermaid, svg or json; with a device by time")
          ->type_name("FORM")
          ->check(CLI::IsMember({"dot", "mermaid", "svg", "json"}));
  values_[graph].choices = {"dot", "mermaid", "svg", "json"};
  show->add_option("--depth", program_.depth, "parts of a module's path that the graph shows")
      ->type_name("N")
      ->capture_default_str();
  program_options(*show);
  auto* m = command(app_, "memory", "where the memory goes when a model serves requests, to the byte",
                    "Examples:\n  mlsysim memory Qwen3_8B H100 --context 32768 --requests 16\n"
                    "  mlsysim memory ./config.json H100 --engine vllm --tensor-parallel 8",
                    [this] { return memory(memory_, render_); }, {Place::model, Place::device});
  m->add_option("MODEL", memory_.model, "a model of the zoo, or a file with one")->required()->type_name("");
  m->add_option("DEVICE", memory_.device, "a device of the zoo, or a file with one")->type_name("");
  m->add_option("--context", memory_.context, "tokens of each request")
      ->type_name("N")
      ->capture_default_str();
  m->add_option("--requests", memory_.requests, "requests that hold a cache")
      ->type_name("N")
      ->capture_default_str();
  m->add_option("--tensor-parallel", memory_.tensor_parallel, "ranks that divide each layer")
      ->type_name("N")
      ->capture_default_str();
  m->add_option("--expert-parallel", memory_.expert_parallel, "ranks that divide the experts")
      ->type_name("N")
      ->capture_default_str();
  m->add_option("--precision", memory_.precision, "format of all weights (default: as the model is stored)")
      ->type_name("NAME");
  m->add_option("--kv-precision", memory_.kv_precision,
                "format of keys and values (default: as the model says)")
      ->type_name("NAME");
  auto* engine =
      m->add_option("--engine", memory_.engine, "whose division of the memory: none, or an engine of the zoo")
          ->type_name("NAME")
          ->capture_default_str();
  values_[engine].place = Place::engine;
}

/// What binds the sizes that a program leaves open.
void Program::program_options(CLI::App& app) {
  app.add_option("--dim", program_.dims, "binds an open size; may be repeated")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  app.add_option("--trip-count", program_.trips, "binds how often a loop runs; may be repeated")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  app.add_option("--weights", program_.weights,
                 "arguments that are weights: a name, or * for all but the last")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_flag("--force", program_.force, "also where the version of the program is not known");
}

}  // namespace mlsysim::cli
