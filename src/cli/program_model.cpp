// Commands for model files: memory.

#include "program.hpp"

namespace mlsysim::cli {

void Program::model_commands() {
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
      m->add_option("--engine", memory_.engine, "whose reserve: none, vllm, sglang, trtllm or llama.cpp")
          ->type_name("NAME")
          ->capture_default_str();
  values_[engine].choices = {"none", "vllm", "sglang", "trtllm", "llama.cpp"};
}

}  // namespace mlsysim::cli
