// Launches in scripts of Python, which are read and never run.
#include "reading.hpp"

#include <support/catch.hpp>

#include <mlsysim/launch/launch.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>

using namespace mlsysim;
using namespace launches;
using Catch::Matchers::Contains;

TEST_CASE("calls of an engine in Python are launches", "[launch]") {
  const auto offline = read(R"(
from vllm import LLM  # not LLM(model="x")
MODEL = "Qwen/Qwen3-32B-AWQ"
TP = int(os.environ.get("TP", "2"))
llm = LLM(
    model=MODEL,  # a comment, with a comma
    tensor_parallel_size=TP, max_model_len=16_384, enforce_eager=True, seed=args.seed, quantization=None)
)",
                            "run.py");
  CHECK(offline.format == LaunchFormat::vllm);
  CHECK(field(offline, "workload") == "Qwen3_32B");
  CHECK(field(offline, "tp_size") == "2");
  CHECK(field(offline, "weight_format") == "int4");
  CHECK(field(offline, "execution") == "eager");
  CHECK(offline.serving->context == 16384);
  CHECK(std::find(offline.notes.begin(), offline.notes.end(), "the script computes 'seed': it is left out") !=
        offline.notes.end());
  const auto trt = read(
      "from tensorrt_llm import LLM\nllm = LLM(model='nvidia/Llama-3.1-8B-Instruct-FP8', "
      "kv_cache_config=KvCacheConfig(free_gpu_memory_fraction=0.8))\n",
      "run.py");
  CHECK(trt.format == LaunchFormat::trtllm);
  CHECK(field(trt, "memory_fraction") == "0.8");
  const auto llama = read(
      "from llama_cpp import Llama\nllm = Llama(model_path='./Qwen3-8B-Q4_K_M.gguf', "
      "n_gpu_layers=-1, n_ctx=8192)\n",
      "run.py");
  CHECK(llama.format == LaunchFormat::llama_cpp);
  CHECK(llama.serving->context == 8192);
  CHECK_THAT(refusal("import torch\nmodel = torch.nn.Linear(3, 4)\n", "run.py"),
             Contains("a script of Python"));
}

TEST_CASE("a script of the Trainer states its arguments in a call", "[launch]") {
  const auto full = read(R"(
from transformers import AutoModelForCausalLM, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B", torch_dtype=torch.bfloat16)
args = TrainingArguments(output_dir="out", per_device_train_batch_size=2, gradient_accumulation_steps=4, bf16=True,
                         gradient_checkpointing=True, optim="adamw_bnb_8bit")
)",
                         "train.py");
  CHECK(full.format == LaunchFormat::trainer);
  CHECK(field(full, "workload") == "Llama3_8B");
  CHECK(field(full, "batch_size") == "8");
  CHECK(field(full, "recomputation") == "full");
  const auto lora = read(R"(
from trl import SFTConfig, SFTTrainer
model, tokenizer = FastLanguageModel.from_pretrained(model_name = "unsloth/Qwen3-14B-unsloth-bnb-4bit",
                                                     max_seq_length = 2048, load_in_4bit = True)
model = FastLanguageModel.get_peft_model(model, r = 32, target_modules = ["q_proj", "v_proj"])
trainer = SFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=2, gradient_accumulation_steps=4))
)",
                         "train.py");
  CHECK(field(lora, "workload") == "Qwen3_14B");
  CHECK(field(lora, "lora_rank") == "32");
  CHECK(field(lora, "seq_len") == "2048");
}

TEST_CASE("a command that Python starts as a list of words is a launch", "[launch]") {
  const auto modal = read(R"(
MODEL_NAME = "Qwen/Qwen3-8B"
N_GPU = 2
@app.function(image=image, gpu=f"H100:{N_GPU}")
def serve():
    cmd = ["vllm", "serve", MODEL_NAME, "--port", str(8000)]
    cmd += ["--tensor-parallel-size", str(N_GPU)]
    subprocess.Popen(" ".join(cmd), shell=True)
)",
                          "modal_app.py");
  CHECK(field(modal, "workload") == "Qwen3_8B");
  CHECK(field(modal, "tp_size") == "2");
  CHECK(field(modal, "hardware") == "H100");
}

TEST_CASE("scripts whose texts nest or multiply take no more than they are long", "[launch]") {
  const std::string call = "from vllm import LLM\nLLM('meta-llama/Llama-3.1-8B')\n";
  std::string lists, doubled = "a0 = 'x'\n", around = "b = ";
  for (int i = 0; i < 100000; ++i) lists += "['vllm'";
  for (int i = 1; i < 60; ++i) doubled += fmt::format("a{0} = f\"{{a{1}}}{{a{1}}}\"\n", i, i - 1);
  for (int i = 0; i < 50000; ++i) around += "str(";
  for (const auto& more : {lists, doubled, around})
    CHECK(field(read(call + more, "x.py"), "workload") == "Llama3_8B");
}
