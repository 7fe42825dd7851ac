// Launches as plans: what each format says, and what is refused.
#include "reading.hpp"

#include <support/catch.hpp>

#include <launch/detail/flag_table.hpp>
#include <launch/detail/settings.hpp>

#include <mlsysim/engine/plan_file.hpp>
#include <mlsysim/launch/fit.hpp>
#include <mlsysim/launch/launch.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;
using namespace launches;
using Catch::Matchers::Contains;

TEST_CASE("every table of flags is well formed and names its source", "[launch]") {
  for (const auto format : {LaunchFormat::vllm, LaunchFormat::sglang, LaunchFormat::trtllm,
                            LaunchFormat::megatron, LaunchFormat::deepspeed, LaunchFormat::torchtitan,
                            LaunchFormat::accelerate, LaunchFormat::mlperf, LaunchFormat::llama_cpp}) {
    const auto& table = detail::flag_table(format);
    CHECK(table.engine == name_of(format));
    CHECK_FALSE(table.source.empty());
    CHECK(table.rows().size() > 20);
    for (const auto& row : table.rows())
      if (!row.sets.empty()) CHECK_FALSE(detail::meaning_of(row.sets).empty());
  }
  CHECK_THROWS_WITH(
      detail::read_flag_table("engine: a\nversion: b\nsource: c\nflags:\n- {flag: x}\n", "t.yaml"),
      Contains("launch.014") && Contains("t.yaml:5"));
}

TEST_CASE("vllm serve as a plan", "[launch]") {
  const auto l = read(
      "HF_HOME=/x vllm serve openai/gpt-oss-120b --gpu-memory-utilization 0.9 --tensor-parallel-size 8 "
      "--max-num-seqs 512 --kv-cache-dtype fp8 --no-enable-prefix-caching --max-num-batched-tokens 8k "
      "--max-model-len 10240 --port 8000 --enforce-eager --disable-custom-all-reduce --some-new-flag 3");
  CHECK(field(l, "workload") == "GPT_OSS_120B");
  CHECK(field(l, "tp_size") == "8");
  CHECK(field(l, "accelerators") == "8");
  CHECK(field(l, "batch_size") == "512");
  CHECK(field(l, "kv_precision") == "fp8");
  CHECK(field(l, "prefill_chunk_tokens") == "8000");
  CHECK(field(l, "seq_len") == "10112");  // and 128 of answer
  CHECK(l.serving->shares.fraction == 0.9);
  CHECK(finding(l, "tensor-parallel-size").use == FlagUse::used);
  CHECK(finding(l, "enable-prefix-caching").use == FlagUse::ignored);
  CHECK(finding(l, "port").use == FlagUse::ignored);
  CHECK(finding(l, "enforce-eager").use == FlagUse::used);
  CHECK(field(l, "execution") == "eager");
  CHECK(finding(l, "disable-custom-all-reduce").use == FlagUse::contradicts);
  CHECK_THAT(finding(l, "some-new-flag").what, Contains("not in the table of vllm 0.33.0"));
  CHECK_NOTHROW(l.build(standard_zoo()));
}

TEST_CASE("ranks of engines mean different things", "[launch]") {
  const auto vllm = read("vllm serve Mixtral-8x7B -tp 2 -dp 4 --enable-expert-parallel --max-num-seqs 16");
  CHECK(field(vllm, "accelerators") == "8");
  CHECK(field(vllm, "ep_size") == "4");
  CHECK(field(vllm, "batch_size") == "64");  // of each engine 16
  const auto plain = read("vllm serve Llama-3.1-8B -tp 2 -dp 4 --max-num-seqs 16");
  CHECK(field(plain, "ep_size").empty());
  // The groups of attention lie inside the ranks, and the limit of requests is that of all.
  const auto sglang = read(
      "python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp=8 "
      "--data-parallel-size=8 --enable-dp-attention --max-running-requests 512 "
      "--quantization modelopt_fp4 --chunked-prefill-size 32768");
  CHECK(field(sglang, "accelerators") == "8");
  CHECK(field(sglang, "tp_size") == "1");
  CHECK(field(sglang, "ep_size") == "8");
  CHECK(field(sglang, "batch_size") == "512");
  CHECK(field(sglang, "weight_format") == "nvfp4");
  CHECK(field(sglang, "prefill_chunk_tokens") == "4096");
  const auto trt = read(
      "mpirun -n 1 --oversubscribe trtllm-serve gpt-oss-120b --backend=pytorch --max_batch_size 64 "
      "--max_seq_len=10240 --tp_size=8 --ep_size=8");
  CHECK(field(trt, "tp_size") == "8");
  CHECK(field(trt, "batch_size") == "64");
  CHECK_THAT(finding(trt, "moe_expert_parallel_size").what, Contains("8 of 8 ranks"));
}

TEST_CASE("a file of TensorRT-LLM", "[launch]") {
  const auto l = read(
      "tensor_parallel_size: 8\nmoe_expert_parallel_size: 8\nenable_attention_dp: true\nmax_batch_size: 16\n"
      "kv_cache_config:\n  dtype: fp8\n  enable_block_reuse: false\n  free_gpu_memory_fraction: 0.85\n"
      "moe_config: {backend: TRTLLM}\nspeculative_config: {decoding_type: MTP, "
      "num_nextn_predict_layers: 3}\n",
      "f.yml", {{"hardware", "B200"}, {"workload", "GPT_OSS_120B"}});
  CHECK(field(l, "tp_size") == "1");
  CHECK(field(l, "ep_size") == "8");
  CHECK(field(l, "batch_size") == "128");  // 16 of each rank
  CHECK(l.serving->shares.fraction == 0.85);
  CHECK(finding(l, "kv_cache_config.enable_block_reuse").use == FlagUse::ignored);
  CHECK(finding(l, "speculative_config.num_nextn_predict_layers").use == FlagUse::used);
  CHECK(field(l, "draft_model") == "mtp");
}

TEST_CASE("arguments of Megatron-LM", "[launch]") {
  const std::string mixtral =
      "MODEL=( --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
      "--group-query-attention --num-query-groups 8 --num-experts 8 --moe-router-topk 2 --moe-grouped-gemm "
      "--swiglu --disable-bias-linear --normalization RMSNorm --untie-embeddings-and-output-weights "
      "--position-embedding-type rope )\n"
      "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py ${MODEL[@]} --seq-length 4096 "
      "--micro-batch-size 1 "
      "--global-batch-size 256 --bf16 --tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 "
      "--expert-model-parallel-size 8 --use-distributed-optimizer --sequence-parallel --overlap-grad-reduce "
      "--overlap-param-gather\n";
  const auto l = read(mixtral, "train.sh");
  CHECK(field(l, "workload") == "Mixtral_8x7B");
  CHECK(field(l, "accelerators") == "32");
  CHECK(field(l, "node_count") == "4");
  CHECK(field(l, "pp_size") == "4");
  CHECK(field(l, "ep_size") == "8");
  CHECK(field(l, "zero_stage") == "1");
  CHECK(field(l, "batch_size") == "256");
  CHECK(field(l, "microbatch_size") == "1");  // of each expert-parallel rank
  CHECK(field(l, "gradient_precision") == "fp32");
  CHECK(field(l, "recomputation") == "none");
  CHECK(field(l, "overlap_efficiency").empty());
  CHECK(finding(l, "sequence-parallel").use == FlagUse::ignored);
  CHECK_NOTHROW(l.build(standard_zoo()));
  // Another model than the shape says is a contradiction, and a shape that nobody has an error.
  const auto other = read(mixtral, "train.sh", {{"hardware", "H100"}, {"workload", "Llama3_70B"}});
  CHECK(finding(other, "num-layers").use == FlagUse::contradicts);
  CHECK_THAT(refusal("pretrain_gpt.py --num-layers 7 --hidden-size 4096"), Contains("launch.020"));
  CHECK_THAT(refusal("pretrain_gpt.py --micro-batch-size 3 --global-batch-size 8", "x",
                     {{"hardware", "H100"}, {"workload", "Llama3_8B"}}),
             Contains("launch.015") && Contains("micro-batches"));
}

TEST_CASE("a launch that states a shape is that shape", "[launch]") {
  const std::string ranks =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 2 --global-batch-size 64 ";
  // The model of the flags: absent groups are as many key heads as heads, and what nobody has is built.
  const auto own = read(ranks +
                        "--num-layers 30 --hidden-size 3072 --num-attention-heads 32 --seq-length 2048 "
                        "--max-position-embeddings 2048 --vocab-size 50257 --bf16");
  const auto built = own.build(standard_zoo());
  const Workload& w = *built.scenario.workload;
  CHECK(w.layers() == 30);
  CHECK(w.heads() == 32);
  // 12 h^2 + 13 h a layer, positions, 50,304 rows that are read and written, and the last norm.
  const double h = 3072;
  CHECK(parameter_count(w).base() ==
        Approx(30 * (12 * h * h + 13 * h) + (50304 + 2048) * h + 2 * h).epsilon(1e-12));
  CHECK(field(own, "dropout") == "true");
  CHECK_NOTHROW(parse_plan(launch_plan(own), "plan.yaml", standard_zoo()).build());
  // A decoder is no encoder of the same sizes.
  const auto small = read(ranks +
                          "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 "
                          "--max-position-embeddings 1024 --fp16");
  CHECK(small.build(standard_zoo()).scenario.workload->architecture == Architecture::decoder);
  // The zoo lends a name where the shape is the same to the last flag.
  const std::string llama =
      "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 11008 --swiglu "
      "--disable-bias-linear --normalization RMSNorm --use-rotary-position-embeddings --seq-length 4096 "
      "--max-position-embeddings 4096 --untie-embeddings-and-output-weights --bf16 --attention-dropout 0 "
      "--hidden-dropout 0";
  const auto named = read(ranks + llama);
  CHECK(field(named, "workload") == "Llama2_7B");
  CHECK(field(named, "dropout") == "false");
  CHECK(field(read(ranks + llama + " --group-query-attention --num-query-groups 4"), "workload") !=
        "Llama2_7B");
}

TEST_CASE("Megatron-LM where no flag speaks", "[launch]") {
  const std::string words =
      "torchrun pretrain_gpt.py --num-layers 36 --hidden-size 1280 --num-attention-heads 20 --seq-length "
      "1024 "
      "--max-position-embeddings 1024 --micro-batch-size 4 --global-batch-size 8 --fp16 --vocab-size 50257";
  const auto old = read(words, "train.sh", {{"hardware", "V100"}});
  CHECK(field(old, "attention_kernel") == "unfused");
  CHECK(field(old, "dropout") == "true");
  CHECK(field(read(words, "train.sh", {{"hardware", "A100"}}), "attention_kernel").empty());
}

TEST_CASE("files of training", "[launch]") {
  const Fields given{{"hardware", "H100"}, {"workload", "Llama3_8B"}, {"accelerators", "64"}};
  const auto deepspeed = read(R"({"train_batch_size": 512, "train_micro_batch_size_per_gpu": 2,
    "gradient_accumulation_steps": 4, "bf16": {"enabled": true}, "gradient_clipping": 1.0, "steps_per_print": "auto",
    "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "overlap_comm": true}})",
                              "ds.json", given);
  CHECK(field(deepspeed, "zero_stage") == "3");
  CHECK(field(deepspeed, "offload_states") == "1");
  CHECK(field(deepspeed, "offload_gradients") == "1");  // moved as they are made
  CHECK(field(deepspeed, "microbatch_size") == "2");
  CHECK(field(deepspeed, "precision") == "bf16");
  CHECK_NOTHROW(deepspeed.build(standard_zoo()));
  CHECK_THAT(
      refusal(
          R"({"train_batch_size": 100, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4})",
          "ds.json", given),
      Contains("launch.015"));
  const auto titan = read(
      "[model]\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\nseq_len = 8192\n[parallelism]\n"
      "data_parallel_shard_degree = -1\ntensor_parallel_degree = 2\n[activation_checkpoint]\n"
      "mode = \"full\"\n[compile]\nenable = true\n",
      "job.toml", given);
  CHECK(field(titan, "batch_size") == "64");
  CHECK(field(titan, "zero_stage") == "3");
  CHECK(field(titan, "recomputation") == "full");
  CHECK_NOTHROW(titan.build(standard_zoo()));
  const std::string job = "[model]\nname = \"llama3\"\nflavor = \"70B\"\n[training]\nlocal_batch_size = 1\n";
  CHECK(field(read(job, "job.toml", {{"hardware", "H100"}}), "workload") == "Llama3_70B");
  const auto accelerate = read(
      "distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n"
      "  fsdp_offload_params: false\n  fsdp_activation_checkpointing: true\nmixed_precision: bf16\n"
      "num_machines: 2\nnum_processes: 16\n",
      "acc.yaml", {{"hardware", "H100"}, {"workload", "Llama3_8B"}, {"batch_size", "64"}});
  CHECK(field(accelerate, "zero_stage") == "2");
  CHECK(field(accelerate, "accelerators") == "16");
  CHECK(field(accelerate, "node_count") == "2");
  CHECK(field(accelerate, "recomputation") == "full");
  CHECK_NOTHROW(accelerate.build(standard_zoo()));
  const auto mlperf = read(
      "export DGXNNODES=8\nexport DGXNGPU=8\nexport TP=4\nexport PP=2\nexport MINIBS=4\n"
      "export MICRO_BATCH_SIZE=1\nexport LR=0.001\nexport X=$(hostname)\n",
      "config_DGXH100_8x8.sh", {{"hardware", "H100"}, {"workload", "Llama3_70B"}});
  CHECK(mlperf.format == LaunchFormat::mlperf);
  CHECK(field(mlperf, "accelerators") == "64");
  CHECK(field(mlperf, "batch_size") == "32");  // 4 of each of 8 replicas
  CHECK_THAT(finding(mlperf, "X").what, Contains("nothing is run"));
  CHECK_NOTHROW(mlperf.build(standard_zoo()));
  const auto nemo = read(
      "trainer: {devices: 8, num_nodes: 2}\nmodel:\n  tensor_model_parallel_size: 2\n"
      "  micro_batch_size: 1\n  global_batch_size: 64\n  virtual_pipeline_model_parallel_size: null\n",
      "nemo.yaml", {{"hardware", "H100"}, {"workload", "Llama3_8B"}});
  CHECK(nemo.format == LaunchFormat::nemo);
  CHECK(field(nemo, "accelerators") == "16");
  CHECK(field(nemo, "tp_size") == "2");
  const auto older = read(
      "trainer: {devices: 8, num_nodes: 2, precision: bf16-mixed, max_steps: 5}\nmodel:\n"
      "  micro_batch_size: 1\n  global_batch_size: 64\n  activations_checkpoint_granularity: full\n"
      "  activations_checkpoint_method: uniform\n  optim: {name: distributed_fused_adam, lr: 0.1}\n",
      "nemo.yaml", {{"hardware", "H100"}, {"workload", "Llama3_8B"}});
  CHECK(field(older, "precision") == "bf16");
  CHECK(field(older, "recomputation") == "full");
  CHECK(field(older, "zero_stage") == "1");
  CHECK(finding(older, "model.optim").use == FlagUse::ignored);
}

TEST_CASE("what cannot be read is refused with what to do", "[launch]") {
  CHECK_THAT(refusal("ls -l"), Contains("launch.003") && Contains("vllm serve"));
  CHECK_THAT(refusal("vllm serve Llama3_8B\nvllm serve Llama3_70B"), Contains("launch.004"));
  CHECK_THAT(refusal("vllm serve Llama3_8B --tensor-parallel-size"), Contains("launch.005"));
  CHECK_THAT(refusal("vllm serve Llama3_8B -tp two"), Contains("launch.006") && Contains("whole number"));
  CHECK_THAT(refusal("vllm serve Llama3_8B -tp $TP"), Contains("NAME=value"));
  CHECK_THAT(refusal("vllm serve Llama3_8B another"), Contains("launch.007"));
  CHECK_THAT(refusal("sglang serve --model Llama3_8B --disable 1"),
             Contains("launch.008") && Contains("disable-radix-cache"));
  CHECK_THAT(refusal("vllm serve Llama3_8B --config ../secret.yaml"), Contains("launch.011"));
  CHECK_THAT(refusal("vllm serve acme/nothing-7b"), Contains("launch.012") && Contains("--model"));
  CHECK_THAT(refusal("vllm serve Llama3_8B", "command line", {}),
             Contains("launch.013") && Contains("--hardware"));
  CHECK_THAT(refusal(std::string("vllm serve\0x", 12)), Contains("launch.001"));
  CHECK_THAT(refusal("sglang serve --model Llama3_8B --tp 4 --dp 3 --enable-dp-attention"),
             Contains("launch.015"));
  CHECK_THAT(refusal("pretrain_gpt.py --tensor-model-parallel-size 4", "x",
                     {{"hardware", "H100"}, {"workload", "Llama3_8B"}, {"accelerators", "6"}}),
             Contains("launch.016"));
}

TEST_CASE("a plan of a launch is read again", "[launch]") {
  const auto l = read(
      "vllm serve Llama-3.1-70B-Instruct -tp 8 --quantization fp8 --max-num-seqs 32 --max-model-len 4096 "
      "--disable-custom-all-reduce");
  const auto text = launch_plan(l);
  CHECK_THAT(text, Contains("# disable-custom-all-reduce true contradicts"));
  const auto plan = parse_plan(text, "plan.yaml", standard_zoo()).build();
  const auto direct = l.build(standard_zoo());
  CHECK(plan.scenario.tp_size == direct.scenario.tp_size);
  CHECK(plan.scenario.weight_format == WeightFormat::fp8);
  CHECK(plan.scenario.seq_len == 4096 - 128);
}

TEST_CASE("a launch fits where its longest request does", "[launch]") {
  const auto& zoo = standard_zoo();
  const auto good = fit_of(read("vllm serve Llama3_8B --max-model-len 8192 --max-num-seqs 4"), zoo);
  CHECK(good.fits);
  const auto bad =
      fit_of(read("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm serve Llama3_8B --max-model-len 8000000"), zoo);
  CHECK_FALSE(bad.fits);
  REQUIRE_FALSE(bad.changes.empty());
  CHECK_THAT(bad.changes.front().change, Contains("requests of at most"));
  // The change that is named is enough, and one block more is not.
  const auto most = std::stod(bad.changes.front().change.substr(20));
  const auto at = [&](double tokens) {
    return fit_of(read("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm serve Llama3_8B --max-model-len " +
                       detail::count_text(tokens)),
                  zoo)
        .fits;
  };
  CHECK(at(most));
  CHECK_FALSE(at(most + 32));
  const auto smaller =
      fit_of(read("vllm serve Llama3_8B --max-model-len 8192 --gpu-memory-utilization 0.5"), zoo);
  const auto pool = [](const Fit& f) {
    for (const auto& i : f.items)
      if (i.part == "pool") return i.bytes;
    return Data<>();
  };
  CHECK(pool(smaller) < pool(good));
  const auto training = fit_of(read("pretrain_gpt.py --bf16 --micro-batch-size 1 --seq-length 8192", "x",
                                    {{"hardware", "H100"}, {"workload", "Llama3_70B"}}),
                               zoo);
  CHECK_FALSE(training.fits);
}

TEST_CASE("a release that a launch states is that of its engine", "[launch]") {
  const auto engine = [](const std::string& text) {
    return field(read(text + " --max-model-len 4096 --max-num-seqs 8"), "engine");
  };
  const std::string serve = "vllm serve meta-llama/Llama-3.1-8B";
  CHECK(engine(serve) == "vllm");  // its newest release
  CHECK(engine("uvx vllm==0.12.0 " + serve) == "vllm@0.12.0");
  CHECK(engine("uv run --with vllm[flashinfer]==0.11.2 " + serve) == "vllm@0.11.2");
  CHECK(engine("docker run --gpus all vllm/vllm-openai:v0.12.0 --model meta-llama/Llama-3.1-8B") ==
        "vllm@0.12.0");
  CHECK(engine("docker run vllm/vllm-openai:latest --model meta-llama/Llama-3.1-8B") == "vllm");
  const auto trt = read(
      "docker run nvcr.io/nvidia/tensorrt-llm/release:1.2.0rc6 trtllm-serve serve "
      "meta-llama/Llama-3.1-8B --max_batch_size 8");
  CHECK(field(trt, "engine") == "tensorrt_llm@1.2.0rc6");
  // A release that nobody has described is answered by another one, with a word.
  const auto built =
      read("uvx vllm==0.1.2 " + serve + " --max-model-len 4096 --max-num-seqs 8").build(standard_zoo());
  REQUIRE(built.warnings.size() == 1);
  CHECK_THAT(built.warnings.front(), Contains("vllm 0.1.2 is not known") && Contains("stands in"));
}

TEST_CASE("prompts that an engine does not divide have passes of their own", "[launch]") {
  const auto off = read(
      "vllm serve meta-llama/Llama-3.1-8B --max-model-len 4096 --max-num-seqs 8 "
      "--max-num-batched-tokens 4096 --no-enable-chunked-prefill");
  CHECK(field(off, "chunked_prefill") == "false");
  CHECK(field(off, "prefill_chunk_tokens") == "4096");
}

TEST_CASE("a command starts an engine only where its program does", "[launch]") {
  const std::string start = "python -m torch.distributed.launch --nproc_per_node 8 pretrain_gpt.py";
  const auto l = read("cp pretrain_gpt.py ./Megatron-LM/\nOMP_NUM_THREADS=4 " + start +
                          " --micro-batch-size 1 --seq-length 2048 --tensor-model-parallel-size 8\n",
                      "train.sh", {{"hardware", "H100"}, {"workload", "Llama3_8B"}});
  CHECK(field(l, "tp_size") == "8");
  CHECK(field(l, "accelerators") == "8");
  for (const auto* words :
       {"cp pretrain_gpt.py x/", "cat vllm serve", "sudo cp pretrain_gpt.py x/",
        "ssh host cp pretrain_gpt.py x", "pip install vllm serve", "python tools/convert.py pretrain_gpt.py",
        "echo sglang serve --model x", "python -c pretrain_gpt.py", "if cp pretrain_gpt.py x; then ls; fi"}) {
    INFO(words);
    CHECK_FALSE(launch_format(words, "command line").has_value());
  }
  for (const auto* words :
       {"pretrain_gpt.py", "python3 -u pretrain_gpt.py", "torchrun --nproc_per_node 8 pretrain_gpt.py",
        "srun -N 2 python -u a/pretrain_gpt.py", "$RUN pretrain_gpt.py",
        "accelerate launch -n 8 pretrain_gpt.py", "uv run pretrain_gpt.py",
        "bash -c 'cd x && torchrun pretrain_gpt.py'"}) {
    INFO(words);
    CHECK(launch_format(words, "command line") == LaunchFormat::megatron);
  }
  for (const auto* words :
       {"exec vllm serve x", "if ! vllm serve x; then exit; fi", "sudo -E env A=b vllm serve x",
        "docker run --gpus all vllm/vllm-openai:latest --model x",
        "timeout 30 python3.12 -m "
        "vllm.entrypoints.openai.api_server --model x",
        "CUDA_VISIBLE_DEVICES=0 nohup vllm serve x &"}) {
    INFO(words);
    CHECK(launch_format(words, "command line") == LaunchFormat::vllm);
  }
}

TEST_CASE("auto is a value of every key of DeepSpeed", "[launch]") {
  const Fields given{
      {"hardware", "H100"}, {"workload", "Llama3_8B"}, {"accelerators", "4"}, {"batch_size", "4"}};
  const auto with = [&](const std::string& bucket) {
    return read(R"({"train_batch_size": "auto", "zero_optimization": {"stage": 3, "reduce_bucket_size": )" +
                    bucket + R"(, "stage3_prefetch_bucket_size": )" + bucket + "}}",
                "ds.json", given);
  };
  CHECK(with("\"auto\"").fields == with("5e8").fields);
  CHECK(field(with("\"auto\""), "zero_stage") == "3");
}

TEST_CASE("an ending that states a format sets the format of the weights", "[launch]") {
  struct Row {
    std::string ending, format;
  };
  for (const auto& [ending, format] : std::initializer_list<Row>{{"FP8", "fp8"},
                                                                 {"Instruct-FP8-Dynamic", "fp8"},
                                                                 {"Instruct-AWQ-INT4", "int4"},
                                                                 {"GPTQ", "int4"},
                                                                 {"Instruct-GPTQ-Int8", "w8a16"},
                                                                 {"Int4", "int4"},
                                                                 {"Int8", "int8"},
                                                                 {"Instruct-quantized.w4a16", "int4"},
                                                                 {"quantized.w8a8", "int8"},
                                                                 {"NVFP4", "nvfp4"},
                                                                 {"FP4", "nvfp4"},
                                                                 {"MXFP4", "mxfp4"},
                                                                 {"Instruct-bnb-4bit", "nf4"},
                                                                 {"GGUF:Q4_K_M", "q4_k_m"},
                                                                 {"Instruct-NVFP4-v2", "nvfp4"},
                                                                 {"BF16", "bf16"}}) {
    INFO(ending);
    const auto l = read("vllm serve acme/Meta-Llama-3.1-8B-" + ending + " --dtype bfloat16");
    CHECK(field(l, "workload") == "Llama3_8B");
    CHECK(field(l, "weight_format") == format);
    CHECK(field(l, "kv_precision").empty());
    CHECK(l.notes.size() > 1);
    CHECK_NOTHROW(l.build(standard_zoo()));
  }
  CHECK(field(read("vllm serve amd/Llama-3.1-8B-Instruct-FP8-KV"), "kv_precision") == "fp8");
  CHECK(field(read("vllm serve meta-llama/Llama-3.1-8B-Instruct"), "weight_format").empty());
  // An entry of the zoo has its own formats, and flags and callers have the last word.
  const auto own = read("vllm serve Qwen/Qwen3-32B-FP8");
  CHECK(field(own, "workload") == "Qwen3_32B_FP8");
  CHECK(field(own, "weight_format").empty());
  const std::string fp8 = "vllm serve acme/Qwen3-8B-FP8";
  CHECK(field(read(fp8 + " --quantization mxfp4"), "weight_format") == "mxfp4");
  CHECK(field(read(fp8, "x", {{"hardware", "H100"}, {"weight_format", "int4"}}), "weight_format") == "int4");
  // The format changes what fits.
  const auto& zoo = standard_zoo();
  const std::string large = "Qwen/Qwen3-235B-A22B";
  CHECK(fit_of(read("vllm serve " + large + "-FP8 -tp 4"), zoo).fits);
  CHECK_FALSE(fit_of(read("vllm serve " + large + " -tp 4"), zoo).fits);
}

TEST_CASE("a version in a name is part of the name", "[launch]") {
  CHECK(field(read("vllm serve mistralai/Mistral-7B-Instruct-v0.1"), "workload") == "Mistral_7B");
  CHECK(field(read("vllm serve mistralai/Mistral-7B-Instruct-v0.2"), "workload") ==
        "Mistral_7B_Instruct_v0_2");
  for (const auto* name :
       {"mistralai/Mistral-7B-Instruct-v0.4", "mistralai/Mistral-7B-v0.5", "acme/opt-1.4b",
        "acme/Qwen3-8B-2512", "Qwen/Qwen2.5-3B-Instruct-1M", "moonshotai/Kimi-K2-Reasoner"})
    CHECK_THAT(refusal(std::string("vllm serve ") + name), Contains("launch.012"));
  struct Row {
    std::string name, entry;
  };
  for (const auto& [name, entry] :
       std::initializer_list<Row>{{"Qwen/Qwen3-30B-A3B-Instruct-2507", "Qwen3_30B_A3B"},
                                  {"Qwen/Qwen3-235B-A22B-Thinking-2507-FP8", "Qwen3_235B_A22B"},
                                  {"deepseek-ai/DeepSeek-R1-0528", "DeepSeek_R1"},
                                  {"mistralai/Mixtral-8x7B-Instruct-v0.1", "Mixtral_8x7B"},
                                  {"mistralai/Mistral-Nemo-Instruct-2407", "Mistral_Nemo_12B"},
                                  {"meta-llama/Llama-3.3-70B-Instruct", "Llama3_70B"},
                                  {"facebook/opt-1.3b", "OPT_1_3B"},
                                  {"facebook/opt-13b", "OPT_13B"},
                                  {"openai-community/gpt2", "GPT2_Small"},
                                  {"openai-community/gpt2-xl", "GPT2"}})
    CHECK(field(read("vllm serve " + name), "workload") == entry);
}

TEST_CASE("the command of a manifest is a launch", "[launch]") {
  const auto same = [](const Launch& a, const Launch& b) {
    for (const auto* name : {"workload", "tp_size", "accelerators", "seq_len", "batch_size", "weight_format"})
      CHECK(field(a, name) == field(b, name));
  };
  const std::string flags =
      "--model meta-llama/Llama-3.3-70B-Instruct --quantization fp8 --tensor-parallel-size 2 "
      "--max-model-len 8000 --max-num-seqs 128";
  const auto direct = read("docker run vllm/vllm-openai:latest " + flags);
  CHECK(field(direct, "accelerators") == "2");
  same(
      read("services:\n  a:\n    image: redis\n  b:\n    image: vllm/vllm-openai:latest\n    environment:\n"
           "      - N=2\n    command: >\n      --model meta-llama/Llama-3.3-70B-Instruct --quantization fp8\n"
           "      --tensor-parallel-size ${N}\n      --max-model-len 8000 --max-num-seqs ${SEQS:-128}\n",
           "docker-compose.yml"),
      direct);
  const std::string head =
      "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n---\napiVersion: apps/v1\n"
      "kind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n"
      "      - name: a\n        image: vllm/vllm-openai:v0.12.0\n";
  const auto shell = read(head +
                              "        command: [/bin/sh, -c]\n        args:\n        - |\n"
                              "          echo start\n          vllm serve " +
                              flags.substr(8) + "\n",
                          "d.yaml");
  same(shell, direct);
  CHECK(field(shell, "engine") == "vllm@0.12.0");
  same(read(head + "        env: [{name: RANKS, value: \"2\"}]\n        args: [--model, "
                   "meta-llama/Llama-3.3-70B-Instruct, --quantization=fp8, --tensor-parallel-size, $(RANKS), "
                   "--max-model-len, \"8000\", --max-num-seqs=128]\n",
            "d.yaml"),
       direct);
  same(read("resources: {accelerators: H100:2}\nrun: |\n  vllm serve " + flags.substr(8) + "\n", "sky.yaml"),
       direct);
  // Values of Helm charts: a command beside the repository, and keys that are flags of vLLM.
  for (const auto* values :
       {"image:\n  repository: vllm/vllm-openai\n  command: [vllm, serve]\nargs: "
        "[meta-llama/Llama-3.3-70B-Instruct, "
        "--quantization, fp8, --tensor-parallel-size, \"2\", --max-model-len, \"8000\", --max-num-seqs, "
        "\"128\"]\n",
        "servingEngineSpec:\n  modelSpec:\n  - modelURL: meta-llama/Llama-3.3-70B-Instruct\n    vllmConfig: "
        "{tensorParallelSize: 2, maxModelLen: 8000, maxNumSeqs: 128, extraArgs: [--quantization, fp8]}\n"})
    same(read(values, "values.yaml"), direct);
  // What is not read is called by its name.
  CHECK_THAT(refusal("services:\n  a:\n    image: ollama/ollama\n", "compose.yaml"),
             Contains("launch.003") && Contains("docker-compose") && Contains("ollama/ollama"));
  CHECK_THAT(refusal("apiVersion: v1\nkind: Pod\nspec: {}\n", "pod.yaml"), Contains("Kubernetes"));
  CHECK_THAT(refusal("lmdeploy serve api_server a"), Contains("launch.003") && Contains("lmdeploy"));
}

TEST_CASE("a launch has the name of a model only where all of its shape is the model's", "[launch]") {
  const std::string words =
      "torchrun pretrain_gpt.py --num-layers 48 --hidden-size 1600 --num-attention-heads 25 --seq-length "
      "1024 "
      "--max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 1 --bf16 --vocab-size 50257";
  CHECK(field(read(words), "workload") == "GPT2");
  for (const char* other :
       {" --disable-bias-linear", " --normalization RMSNorm", " --use-rotary-position-embeddings",
        " --untie-embeddings-and-output-weights", " --kv-channels 32", " --qk-layernorm"}) {
    INFO(other);
    CHECK(field(read(words + other), "workload").starts_with("{"));
  }
}

TEST_CASE("what an engine takes without a flag stands in its table, with a source", "[launch]") {
  const auto& table = detail::flag_table(LaunchFormat::megatron);
  CHECK(table.defaults().size() >= 8);
  for (const auto& d : table.defaults()) {
    CHECK_FALSE(d.source.empty());
    CHECK_FALSE(detail::meaning_of(d.sets).empty());
  }
  const std::string head = "engine: a\nversion: b\nsource: c\nflags: []\ndefaults:\n- ";
  for (const char* bad :
       {"{sets: top_k, value: 2}", "{sets: top_k, value: two, source: s}",
        "{sets: no_such, value: 2, source: s}", "{sets: top_k, value: 2, source: s, why: x}"})
    CHECK_THROWS_WITH(detail::read_flag_table(head + bad + "\n", "t.yaml"), Contains("launch.014"));
  // A vocabulary that nobody states is a guess, and the entry says so.
  const auto built = read(
                         "torchrun pretrain_gpt.py --num-layers 7 --hidden-size 512 --num-attention-heads 8 "
                         "--seq-length 512 --micro-batch-size 1 --global-batch-size 1 --bf16")
                         .build(standard_zoo());
  CHECK_FALSE(built.scenario.workload->entry->guess.empty());
}

TEST_CASE("launches of llama.cpp", "[launch]") {
  const auto layers = read("./llama-server -m models/Qwen2.5-14B-Instruct-Q4_K_M.gguf -ngl 42 -c 8192 -np 2");
  CHECK(field(layers, "workload") == "Qwen2_5_14B");
  CHECK(field(layers, "weight_format") == "q4_k_m");
  CHECK(field(layers, "engine") == "llama_cpp");
  CHECK(field(layers, "offload_weights") == "0.125");  // 6 of 48 layers
  CHECK(layers.serving->context == 4096);
  const auto experts = read("llama-server -hf unsloth/Qwen3-30B-A3B-GGUF -ngl 99 --n-cpu-moe 36");
  CHECK(field(experts, "weight_format") == "q4_k_m");  // of a repository without a word
  CHECK(field(experts, "offload_weights") == "0");
  CHECK(field(experts, "offload_experts") == "0.75");
  CHECK(field(read("llama-server -hf unsloth/Qwen3-30B-A3B-GGUF:Q8_0 -ot exps=CPU"), "offload_experts") ==
        "1");
  CHECK_NOTHROW(experts.build(standard_zoo()));
}

TEST_CASE("weights in host memory, and heads that propose tokens", "[launch]") {
  const auto half = read("vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 2 --cpu-offload-gb 30");
  CHECK(std::stod(field(half, "offload_weights")) == Approx(2 * 30 * 1.073741824 / 141.1).epsilon(0.005));
  CHECK(fit_of(half, standard_zoo()).fits);
  const auto eagle = read(
      "vllm serve meta-llama/Llama-3.1-8B-Instruct --speculative-config "
      "'{\"method\": \"eagle3\", \"model\": \"someone/EAGLE3-LLaMA3.1-Instruct-8B\", "
      "\"num_speculative_tokens\": 5}'");
  CHECK(field(eagle, "draft_model") == "eagle");
  CHECK(field(eagle, "draft_tokens") == "5");
  const auto built = eagle.build(standard_zoo());
  REQUIRE(built.scenario.draft_model != nullptr);
  CHECK(built.scenario.draft_model->layers() == 1);
  CHECK(built.scenario.draft_model->hidden() == built.scenario.workload->hidden());
  const auto planned = parse_plan(launch_plan(eagle), "plan.yaml", standard_zoo()).build();
  REQUIRE(planned.scenario.draft_model != nullptr);
  CHECK(planned.scenario.draft_model->layers() == 1);
  const auto mtp = read(
      "python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 "
      "--speculative-algorithm NEXTN --speculative-num-steps 1");
  CHECK(field(mtp, "draft_model") == "mtp");
  CHECK_NOTHROW(mtp.build(standard_zoo()));
}
