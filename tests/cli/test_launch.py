"""mlsysim import, fit and export --to: launches of engines."""

import json
import re

import pytest

VLLM = "vllm serve Qwen/Qwen3-32B -tp 4 --max-model-len 32k --max-num-seqs 64 --disable-custom-all-reduce --port 80"


def test_a_command_line_becomes_a_plan_that_evaluates(run, tmp_path):
    done = run("import", VLLM, "--hardware", "H100", "--output-tokens", "256")
    assert done.code == 0, done.err
    assert "tp_size: 4" in done.out and "# disable-custom-all-reduce true contradicts" in done.out
    assert "mlsysim: contradicts: disable-custom-all-reduce" in done.err and "mlsysim: ignored: port" in done.err
    plan = tmp_path / "plan.yaml"
    plan.write_text(done.out)
    card = run("eval", plan, "-o", "json")
    assert card.code in (0, 2), card.err
    assert card.json()["workload"] == "Qwen3_32B"


def test_every_flag_has_an_end(run):
    table = run("import", VLLM, "--hardware", "H100", "-o", "json").json()
    ends = {row["flag"]: row["use"] for row in table["rows"] if row["use"] != "note"}
    assert ends == {"model": "used", "tensor-parallel-size": "used", "max-model-len": "used", "max-num-seqs": "used",
                    "disable-custom-all-reduce": "contradicts", "port": "ignored"}


def test_a_file_and_its_configuration(run, refused, tmp_path):
    (tmp_path / "c.yaml").write_text("kv-cache-dtype: fp8\nno-enable-prefix-caching: true\nmax-num-seqs: 32\n")
    script = tmp_path / "serve.sh"
    script.write_text("#!/bin/sh\nTP=8\nexec vllm serve Llama-3.1-70B --config c.yaml --max-num-seqs 16 \\\n  -tp $TP > log 2>&1\n")
    done = run("import", script, "--hardware", "H100")
    assert done.code == 0, done.err
    assert "kv_precision: fp8" in done.out and "batch_size: 16" in done.out and "tp_size: 8" in done.out
    script.write_text("vllm serve Llama-3.1-70B --config /etc/passwd\n")
    refused("import", script, "--hardware", "H100", parts=["mlsysim.launch.011", "serve.sh:1"])
    refused("import", "vllm serve acme/unknown", "--hardware", "H100", parts=["mlsysim.launch.012"])
    refused("import", "vllm serve Llama3_8B", parts=["mlsysim.launch.013", "--hardware"])
    refused("import", "vllm serve Llama3_8B", "--format", "vlm", "--hardware", "H100", parts=["mlsysim.cli.111"])


def test_models_are_still_models(run, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({
        "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 128, "vocab_size": 100}))
    done = run("import", tmp_path / "config.json")
    assert done.code == 0 and "schema: mlsysim/model" in done.out


def test_fit_ends_with_its_verdict(run, plan):
    good = run("fit", "--from", "vllm serve Llama3_8B --max-model-len 8k", "--hardware", "H100")
    assert good.code == 0 and "weights" in good.out and "pool" in good.out
    bad = run("fit", "--from", "vllm serve Llama3_70B --max-model-len 8k", "--hardware", "H100", "-o", "json")
    assert bad.code == 2
    rows = bad.json()["rows"]
    assert any(row["part"] == "change" and "tensor parallelism 2" in row["what"] for row in rows)
    path = plan('version: "1"\nname: t\nworkload: {name: Llama3_70B, batch_size: 8}\nhardware: {name: H100}\n')
    assert run("fit", "--from", path).code == 2
    assert run("fit", "--from", path, "--accelerators", "8").code == 0


def test_export_and_import_give_the_same_scorecard(run, plan, tmp_path):
    def written(engine):
        return plan('version: "1"\nname: t\nmode: serve\n'
                    f"workload: {{name: Llama3_70B, batch_size: 16, seq_len: 2048, output_tokens: 512, engine: {engine}}}\n"
                    "hardware: {name: H100, accelerators: 8, weight_format: fp8}\nparallelism: {tp_size: 8}\n")

    def card(file):
        return {key: value for key, value in run("eval", file, "-o", "json").json().items() if key.startswith(("f_", "p_", "m_"))}

    for engine, own, name in (("vllm", "vllm", "l.sh"), ("sglang", "sglang", "l.sh"), ("trtllm", "tensorrt_llm", "l.yaml")):
        path = written(own)
        first = card(path)
        launch = run("export", path, "--to", engine)
        assert launch.code == 0 and "output_tokens" not in launch.err
        file = tmp_path / name
        file.write_text(launch.out)
        again = tmp_path / "again.yaml"
        done = run("import", file, "--format", engine, "--hardware", "H100", "--model", "Llama3_70B")
        assert done.code == 0, done.err
        again.write_text(done.out)
        assert card(again) == first, engine


def test_export_refuses_what_an_engine_does_not_do(refused):
    refused("export", "Llama3_8B", "H100", "--to", "megatron", parts=["mlsysim.launch.018", "mode serve"])
    # A batch that the replicas do not share evenly: the error is about the plan, not about a file that nobody has seen.
    for engine in ("megatron", "deepspeed", "torchtitan"):
        done = refused("export", "Llama3_8B", "H100", "--mode", "train", "--accelerators", "8", "--tp-size", "1", "--batch-size", "100",
                       "--to", engine, parts=["mlsysim.launch.018", engine])
        assert "launch.sh" not in done.err and "launch.json" not in done.err and "launch.toml" not in done.err


def test_fit_says_what_import_says(run):
    words = ("vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 2 --cpu-offload-gb 30 --disable-custom-all-reduce --max-model-len 8192",
             "--hardware", "A100")
    said = run("import", *words).err.splitlines()
    fit = run("fit", "--from", *words)
    assert len(said) > 2 and fit.err.splitlines()[:len(said)] == said
    rows = run("fit", "--from", *words, "-o", "json").json()["rows"]
    assert {row["part"] for row in rows} >= {"note", "contradicts"}


def test_commands_hand_on_the_notes_of_a_model_file(run, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({
        "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 512, "vocab_size": 1000, "some_new_key": 3}))
    notes = [line for line in run("import", config).err.splitlines() if line.startswith("mlsysim: note: ")]
    assert notes
    for words in (("eval", config, "A100"), ("train", config, "A100"), ("memory", config, "A100"),
                  ("fit", "--from", f"vllm serve {config} --max-model-len 512", "--hardware", "A100")):
        done = run(*words)
        shared = [line for line in notes if line in done.err.splitlines()]
        assert shared, (words, done.err)
        assert len(set(done.err.splitlines())) == len(done.err.splitlines())
    texts = {line.removeprefix("mlsysim: note: ") for line in shared}
    assert texts & set(run("eval", config, "A100", "-o", "json").json()["warnings"])
    assert texts & {row["what"] for row in run("memory", config, "A100", "-o", "json").json()["rows"]}


def test_a_here_document_is_the_file_that_a_launch_names(run, tmp_path):
    script = tmp_path / "train.sh"
    script.write_text("""CONFIG=ds.json
MICRO=4
cat > $CONFIG <<EOF
{"train_micro_batch_size_per_gpu": $MICRO, "bf16": {"enabled": true}, "zero_optimization": {"stage": 3}}
EOF
deepspeed --num_gpus 8 train.py --deepspeed ds.json --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 4
""")
    done = run("import", script, "--hardware", "H100")
    assert done.code == 0 and "zero_stage: 3" in done.out and "precision: bf16" in done.out, done.err


def test_manifests_state_the_variables_of_their_scheduler(run, tmp_path):
    files = {
        "sky.yaml": "resources: {accelerators: 'H100:4'}\nenvs: {MODEL: Qwen/Qwen2.5-72B-Instruct}\nrun: |\n"
                    "  vllm serve $MODEL --tensor-parallel-size $SKYPILOT_NUM_GPUS_PER_NODE\n",
        "sky2.yaml": "resources:\n  accelerators: {A100: 4}\nrun: |\n"
                     "  python -m sglang.launch_server --model-path Qwen/Qwen2.5-72B-Instruct --tp $SKYPILOT_NUM_GPUS_PER_NODE\n",
        "slurm.sh": "#SBATCH --gres=gpu:a100:4  # of eight\nsrun vllm serve Qwen/Qwen2.5-72B-Instruct -tp $SLURM_GPUS_ON_NODE\n",
        "serve.yaml": "applications:\n- name: llm\n  args:\n    llm_configs:\n    - model_loading_config: {model_id: q, model_source: Qwen/Qwen2.5-72B-Instruct}\n"
                      "      engine_kwargs: {tensor_parallel_size: 4, max_model_len: 8192}\n",
        "kserve.yaml": "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nspec:\n  predictor:\n    model:\n      modelFormat: {name: huggingface}\n"
                       "      args: [--model_name=q, --model_id=Qwen/Qwen2.5-72B-Instruct, --tensor-parallel-size=4]\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        done = run("import", tmp_path / name, "--hardware", "H100")
        assert done.code == 0 and "name: Qwen2_5_72B" in done.out and "tp_size: 4" in done.out, (name, done.out, done.err)


def test_a_method_of_quantization_does_not_replace_the_bits_of_a_name(run):
    def plan(words):
        done = run("import", f"vllm serve {words}", "--hardware", "H100")
        assert done.code == 0, done.err
        return done

    assert "weight_format: w8a16" in plan("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8 --quantization gptq").out
    assert "weight_format: nf4" in plan("meta-llama/Llama-3.1-8B --quantization bitsandbytes").out
    unknown = plan("meta-llama/Llama-3.1-8B --quantization compressed-tensors")
    assert "weight_format" not in unknown.out and "contradicts: quantization" in unknown.err
    assert run("import", "llama-server -m Qwen2.5-14B-Q4_K_M.gguf -fa -ngl 99", "--hardware", "H100").code == 0


def test_servers_and_shells_of_other_forms(run):
    for words in ("python -m vllm.entrypoints.api_server --model meta-llama/Llama-2-13b-chat-hf -tp 2", "ssh node1 'vllm serve meta-llama/Llama-2-13b-chat-hf -tp 2'"):
        done = run("import", words, "--hardware", "H100")
        assert done.code == 0 and "name: Llama2_13B" in done.out and "tp_size: 2" in done.out, done.err


def test_what_has_no_cache_fits_by_its_weights(run):
    assert run("fit", "--from", "vllm serve BAAI/bge-m3 --task embed", "--hardware", "L4").code == 0


def test_a_draft_takes_of_the_pool(run):
    def fit(*words):
        rows = run("fit", "--from", " ".join(("vllm serve meta-llama/Llama-3.1-8B-Instruct", *words)), "--hardware", "H100", "-o", "json").json()["rows"]
        return {part: sum(row["bytes"] for row in rows if row["part"] == part) for part in ("weights", "pool")}

    alone = fit()
    hidden, vocab, inner = 4096, 128256, 14336
    # A layer, whose embedding and output matrix are those of the model; a square and an output matrix for each token.
    layer = hidden * (2 * hidden + 2 * 1024) + 3 * hidden * inner
    for method, held in (("eagle3", layer), ("medusa", 3 * (hidden**2 + vocab * hidden))):
        config = f"""'{{"model": "a/head-8B", "num_speculative_tokens": 3, "method": "{method}"}}'"""
        drafted = fit("--speculative-config", config)
        more = drafted["weights"] - alone["weights"]
        assert more == pytest.approx(2 * held, rel=1e-3), method
        assert abs(alone["pool"] - drafted["pool"] - more) < 1e7


def test_layers_that_draft_count_where_they_are_loaded(run):
    rows = run("memory", "DeepSeek_V3", "H200", "--accelerators", "8", "--engine", "vllm", "-o", "json").json()["rows"]
    weights = sum(row["bytes"] for row in rows if row["part"] == "weights")
    assert not any(row["what"].startswith("draft") for row in rows)
    assert any(row["part"] == "not modelled" and "multi-token prediction" in row["what"] for row in rows)
    words = ("fit", "DeepSeek_V3", "H200", "--accelerators", "8", "--tp", "8", "--engine", "vllm", "-o", "json")
    served = next(row["bytes"] for row in run(*words).json()["rows"] if row["part"] == "weights")
    assert served == pytest.approx(weights, rel=0.005)
    # One layer of 11.6 B weights and 256 experts, an eighth of it a rank; the embedding and the output matrix are there.
    more = run(*words, "--draft-model", "mtp", "--draft-tokens", "1").json()["rows"]
    assert next(row["bytes"] for row in more if row["part"] == "weights") - served == pytest.approx(1.45e9, rel=0.03)


def test_a_manifest_names_its_machine_and_its_copies(run, tmp_path):
    (tmp_path / "pod.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: 3\n  template:\n    spec:\n"
        "      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}\n"
        "      containers:\n      - {image: 'vllm/vllm-openai:latest', args: [--model, google/gemma-2-2b-it]}\n")
    done = run("import", tmp_path / "pod.yaml")
    assert done.code == 0 and "name: L4" in done.out and "replicas 3" in done.err, done.err
    assert "name: H100" in run("import", tmp_path / "pod.yaml", "--hardware", "H100").out
    (tmp_path / "sky.yaml").write_text("resources: {accelerators: {'A10G:4', 'L40S:4'}}\nrun: vllm serve Qwen/Qwen3-8B -tp $SKYPILOT_NUM_GPUS_PER_NODE\n")
    done = run("import", tmp_path / "sky.yaml")
    assert done.code == 0 and "name: A10G" in done.out and "tp_size: 4" in done.out and "2 kinds" in done.err, done.err


def test_words_of_a_launch_win_over_the_files_that_it_names(run, tmp_path):
    (tmp_path / "acc.yaml").write_text("compute_environment: LOCAL_MACHINE\nnum_processes: 16\nmixed_precision: bf16\n"
                                       "fsdp_config: {fsdp_sharding_strategy: FULL_SHARD}\n")
    script = tmp_path / "run.sh"
    script.write_text("accelerate launch --config_file acc.yaml --num_processes 8 train.py --model_name_or_path Qwen/Qwen2.5-7B\n")
    done = run("import", script, "--hardware", "H100")
    assert "accelerators: 8" in done.out and "zero_stage: 3" in done.out and "ignored: num_processes 16" in done.err, done.err


def test_ranks_come_from_the_environment_and_recipes_from_their_names(run, tmp_path):
    recipe = tmp_path / "r.yaml"
    recipe.write_text("model_name_or_path: Qwen/Qwen2.5-7B\nper_device_train_batch_size: 1\n")
    script = tmp_path / "run.sh"
    script.write_text("FORCE_TORCHRUN=1 NNODES=2 NPROC_PER_NODE=8 llamafactory-cli train r.yaml\n")
    done = run("import", script, "--hardware", "H100")
    assert "accelerators: 16" in done.out and "node_count: 2" in done.out, done.err
    recipe.write_text("model: {_component_: torchtune.models.llama3_1.llama3_1_8b}\nbatch_size: 2\nfsdp_cpu_offload: True\n")
    script.write_text("tune run --nproc_per_node 4 full_finetune_distributed --config r.yaml\n")
    done = run("import", script, "--hardware", "H100")
    assert "accelerators: 4" in done.out and "zero_stage: 3" in done.out and "offload_states: 1" in done.out, done.err
    done = run("import", "torchrun --nproc_per_node=8 -m torchtitan.train --model.name llama3 --model.flavor 8B", "--hardware", "H100")
    assert "accelerators: 8" in done.out, done.err


def test_a_here_document_of_any_engine_is_read(run, tmp_path):
    script = tmp_path / "serve.sh"
    script.write_text("cat > extra.yml <<EOF\nenable_attention_dp: true\nEOF\n"
                      "trtllm-serve nvidia/DeepSeek-R1-FP4 --tp_size 8 --ep_size 8 --extra_llm_api_options extra.yml\n")
    done = run("import", script, "--hardware", "B200")
    assert done.code == 0 and "tp_size: 1" in done.out and "ep_size: 8" in done.out, done.err
    (tmp_path / "Modelfile").write_text("FROM hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q8_0\n")
    done = run("import", tmp_path / "Modelfile", "--hardware", "RTX4090")
    assert done.code == 0 and "name: Llama3_2_3B" in done.out and "weight_format: q8_0" in done.out, done.err


def test_a_launch_names_its_machine_as_people_do(run, refused):
    words = "vllm serve Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4 -tp 2 --max-model-len 4096"
    done = run("import", words, "--hardware", "RTX 3090")
    assert "name: RTX3090" in done.out and "accelerators: 2" in done.out, done.err
    assert run("fit", "--from", words, "--hardware", "RTX 3090").code == 0
    done = run("import", words, "--hardware", "p5.48xlarge")
    assert "name: H100" in done.out and "accelerators: 2" in done.out and "2 of the 8 devices" in done.err, done.err
    done = run("import", words.replace("-tp 2", "-tp 8 -dp 2"), "--hardware", "p5.48xlarge")
    assert "name: AWS_p5_48xlarge" in done.out and "accelerators: 16" in done.out, done.err


def test_what_the_engine_refuses_does_not_fit(refused):
    refused("fit", "--from", "vllm serve Llama3_8B --tensor-parallel-size 3", "--hardware", "H100", parts=["mlsysim.launch.015", "3 ranks"])
    refused("fit", "--from", "vllm serve Llama3_2_1B --dtype bfloat16", "--hardware", "T4", parts=["mlsysim.spec.042", "fp16"])


def test_a_job_file_of_torchtitan_is_read_where_a_command_names_it(run, tmp_path):
    (tmp_path / "job.toml").write_text('[model]\nname = "llama3"\nflavor = "8B"\n[training]\nbatch_size = 8\ntensor_parallel_degree = 2\n')
    script = tmp_path / "run.sh"
    script.write_text("torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file job.toml --training.batch_size 2\n")
    done = run("import", script, "--hardware", "H100")
    assert "name: Llama3_8B" in done.out and "tp_size: 2" in done.out and "batch_size: 8" in done.out, done.err


def test_a_launch_lies_in_units_and_workflows(run, tmp_path):
    unit, flow = tmp_path / "v.service", tmp_path / "w.yml"
    unit.write_text("[Service]\nExecStart=/opt/vllm/bin/vllm serve Qwen/Qwen3-8B --max-model-len 8192\n")
    flow.write_text("on: [push]\njobs:\n  b:\n    runs-on: h100\n    steps:\n    - run: vllm serve Qwen/Qwen3-8B --max-model-len 8192\n")
    for file in (unit, flow):
        assert run("fit", "--from", file, "--hardware", "H100").code == 0
        assert "name: Qwen3_8B" in run("import", file, "--hardware", "H100").out


def test_layers_that_do_not_fit_lie_in_host_memory_in_every_answer(run, tmp_path):
    words = "llama-server -m Qwen2.5-32B-Instruct-Q4_K_M.gguf -c 8192"
    fit = run("fit", "--from", words, "--hardware", "RTX4080", "-o", "json")
    plan = tmp_path / "plan.yaml"
    plan.write_text(run("import", words, "--hardware", "RTX4080").out)
    assert fit.code == 0 and "offload_weights" in plan.read_text(), fit.err
    ask = run("eval", plan, "-o", "json")
    held = sum(row["bytes"] for row in fit.json()["rows"] if row["part"] == "weights")
    assert ask.code == 0 and abs(ask.json()["memory"]["weights"]["value"] - held) < 0.01 * held, ask.err


def test_layers_on_several_cards_of_llama_cpp_in_every_answer(run, tmp_path):
    words = "llama-server -m Llama-3.3-70B-Instruct-Q4_K_M.gguf -ngl 99 -c 8192"
    fit = run("fit", "--from", words, "--hardware", "2xRTX3090")
    done = run("import", words, "--hardware", "2xRTX3090")
    plan = tmp_path / "plan.yaml"
    plan.write_text(done.out)
    assert fit.code == 0 and "one after the other" in done.err, fit.err + done.err
    assert run("eval", plan).code == 0
    # A token passes the cards one after the other: 42.5 GB at 936 GB/s, whatever the number of cards.
    for cards in (2, 4):
        card = run("eval", "Llama3_70B", f"{cards}xRTX3090", "--engine", "llama_cpp", "--weight-format", "q4_k_m", "-o", "json").json()
        assert card["p_itl"] > 45, card["p_itl"]


def test_labels_of_clouds_name_a_card_of_one_memory(run, tmp_path):
    pod, sky = tmp_path / "pod.yaml", tmp_path / "sky.yaml"

    def machine(label, limits="{nvidia.com/gpu: 1}"):
        pod.write_text(f"apiVersion: v1\nkind: Pod\nspec:\n  nodeSelector: {{{label}}}\n  containers:\n"
                       f"  - {{image: 'vllm/vllm-openai:latest', args: [--model, Qwen/Qwen3-8B], resources: {{limits: {limits}}}}}\n")
        return run("import", pod)

    gke = "cloud.google.com/gke-accelerator"
    for label, device in (("nvidia-tesla-a100", "A100_40GB"), ("nvidia-tesla-v100", "V100_16GB"), ("nvidia-a100-80gb", "A100")):
        done = machine(f"{gke}: {label}")
        assert f"name: {device}\n" in done.out and "GB" in done.err, done.out + done.err
    assert "name: V100_16GB\n" in machine("k8s.amazonaws.com/accelerator: nvidia-tesla-v100").out
    for name, device in (("A100", "A100_40GB"), ("V100", "V100_16GB"), ("A100-80GB", "A100")):
        sky.write_text(f"resources: {{accelerators: '{name}:4'}}\nrun: vllm serve Qwen/Qwen3-8B -tp 4\n")
        assert f"name: {device}\n" in run("import", sky).out
    # A slice of MIG that a pod asks for is joined to the product of the node.
    done = machine("nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB", "{nvidia.com/mig-2g.20gb: 1}")
    assert "name: A100 2g.20gb\n" in done.out and "21.5 GB" in done.err, done.out + done.err


def test_fit_follows_the_rules_of_the_release_that_a_launch_states(run):
    def margin(image):
        done = run("fit", "--from", f"docker run --gpus all {image} --model Qwen/Qwen3-8B --max-model-len 8192", "--hardware", "A100", "-o", "json")
        return [row["what"] for row in done.json()["rows"] if "gpu_memory_utilization" in row["what"]], done.err

    assert margin("vllm/vllm-openai:v0.11.0")[0] == ["outside gpu_memory_utilization 0.9"]
    older, said = margin("vllm/vllm-openai:v0.8.5")
    assert older == ["outside gpu_memory_utilization 0.9"] and "vllm 0.8.5 is not known" in said, said
    assert margin("vllm/vllm-openai:latest")[0] == ["outside gpu_memory_utilization 0.92"]
    # The tag of NVIDIA's image is a month.
    month = "docker run nvcr.io/nvidia/vllm:25.09-py3 vllm serve Qwen/Qwen3-8B"
    assert "engine: vllm\n" in run("import", month, "--hardware", "A100").out


def test_a_script_of_slurm_says_its_ranks_and_its_machine(run, refused, tmp_path):
    script = tmp_path / "job.sh"
    text = ("#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gres=gpu:h100:4\nexport GPUS_PER_NODE=4\n"
            "srun accelerate launch --num_processes $((SLURM_NNODES * GPUS_PER_NODE)) --num_machines $SLURM_NNODES --mixed_precision bf16 "
            "run_sft.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 2\n")
    script.write_text(text)
    done = run("import", script)
    assert "accelerators: 16" in done.out and "node_count: 4" in done.out and "name: H100\n" in done.out, done.out + done.err
    script.write_text(text.replace("GPUS_PER_NODE=4", "GPUS_PER_NODE=$(nvidia-smi -L | wc -l)"))
    refused("import", script, parts=["mlsysim.launch.006", "write its number in place"])


def test_requests_longer_than_the_positions_of_a_model_are_no_silent_fit(run):
    long = "vllm serve Qwen/Qwen3-8B --max-model-len 131072"
    for words in (long, "python3 -m sglang.launch_server --model Qwen/Qwen3-8B --context-length 131072"):
        done = run("fit", "--from", words, "--hardware", "H200")
        assert done.code == 1 and "mlsysim.launch.015" in done.err and "40960 positions" in done.err, done.err
    scaled = long + """ --rope-scaling '{"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}'"""
    for words in (scaled, long.replace("131072", "40960"), f"VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 {long}"):
        assert run("fit", "--from", words, "--hardware", "H200").code == 0


def test_positions_of_a_checkpoint_hold_for_every_command(run):
    """Llama 3 has the shape of Llama 3.1 and 8,192 positions instead of 131,072."""
    for name in ("meta-llama/Meta-Llama-3-8B", "Meta-Llama-3-8B-Instruct", "Meta-Llama-Guard-2-8B"):  # the last one is an alias of the zoo
        for command in (("eval",), ("fit",), ("size", "--rate", "1")):
            done = run(*command, name, "H100", "--seq-len", "16000")
            said = " ".join((done.out + done.err).split())
            assert f"'{name}' takes at most 8192 tokens; Llama3_8B of the zoo takes 131072" in said, (command, said)
        assert "takes at most 8192 tokens (max_positions)" in " ".join(run("eval", name, "H100", "--seq-len", "16000").out.split())
    assert "at most" not in run("eval", "meta-llama/Llama-3.1-8B", "H100", "--seq-len", "16000").out
    said = run("fit", "--from", "vllm serve meta-llama/Meta-Llama-3-8B", "--hardware", "H100", "--seq-len", "16000").err
    assert "a request of 16000 tokens is longer than the 8192 positions of Llama3_8B" in said


def test_a_launch_without_a_length_needs_all_positions_of_the_model(run):
    """Qwen3-32B takes 40,960 tokens of 2 x 64 layers x 8 heads x 128 x 2 B = 262,144 B, 10.7 GB. Of the 92 % of 85.9 GB weights of 65.5
    GB, context and activations leave less: vLLM does not start on one H100, and does with an 8-bit cache or on two."""
    def fit(more=""):
        return run("fit", "--from", f"vllm serve Qwen/Qwen3-32B {more}", "--hardware", "H100")

    whole = fit()
    assert whole.code == 2 and "40960 tokens" in whole.out and "unless its length is limited" in whole.out
    assert fit("--max-model-len 40960").code == 2
    assert fit("--max-model-len auto").code == fit("--max-model-len -1").code == 0  # as long as the cache holds
    assert fit("--max-model-len 16384").code == fit("--kv-cache-dtype fp8").code == fit("-tp 2").code == 0
    # SGLang starts, and refuses requests that are too long one by one.
    sglang = run("fit", "--from", "python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B", "--hardware", "H100")
    assert sglang.code == 0 and "2176 tokens (the plan's prompt and answer)" in sglang.out


def test_the_rows_of_a_fit_add_up(run):
    """Also where nothing is left for the cache, and where the state of a request is no part of it."""
    for words, device in (("vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 4 --max-model-len 131072 --max-num-seqs 256", "H100"),
                          ("vllm serve meta-llama/Llama-3.1-70B-Instruct --max-model-len 8192", "H100"),
                          ("python3 -m sglang.launch_server --model Qwen/Qwen3-30B-A3B --tp 2 --context-length 16384", "A100"),
                          ("trtllm-serve meta-llama/Llama-3.1-8B-Instruct --max_batch_size 16 --max_seq_len 4096", "H100")):
        done = run("fit", "--from", words, "--hardware", device, "-o", "json")
        rows = [row for row in done.json()["rows"] if row["bytes"]]
        part = {row["part"]: row["bytes"] for row in rows}
        parts = sum(row["bytes"] for row in rows if row["part"] not in ("total", "capacity"))
        assert parts == pytest.approx(part["total"], rel=1e-9), words
        if done.code == 0:
            assert part["total"] == pytest.approx(part["capacity"], rel=1e-6), words
        else:
            assert part["total"] > part["capacity"]


def test_every_verdict_names_its_load(run):
    """One request of 2048 + 128 tokens, unless one says otherwise."""
    memory = run("memory", "Llama3_70B", "H100", "--engine", "vllm", "--tp-size", "8")
    assert memory.out.startswith("FITS. 1 request of 2176 tokens fits; the cache of vllm holds ")
    assert int(memory.out.split("holds ")[1].split()[0]) > 100
    assert "prompts of 2048 tokens and answers of 128" in run("fit", "Llama3_70B", "8xH100").out
    card = run("eval", "Llama3_70B", "8xH100").out
    assert "input tokens 2048" in card and "output tokens 128" in card


def test_the_share_of_the_memory_is_in_the_plan(run, tmp_path):
    """Of 85.9 GB, a half less 16.4 GB of weights and 2 GB of context and activations holds 24.5 GB of 147,456 B a token: 20 requests of
    8192 tokens, and 0.92 of it 30 more."""
    words, plan = "vllm serve Qwen/Qwen3-8B --max-model-len 8192", tmp_path / "plan.yaml"

    def counts(share):
        launch = f"{words} --gpu-memory-utilization {share}"
        done = run("import", launch, "--hardware", "A100")
        plan.write_text(done.out)
        assert f"memory_fraction: {share}\n" in done.out, done.out
        fit = run("fit", "--from", launch, "--hardware", "A100")
        return int(re.search(r"(\d+) requests", fit.out)[1]), run("eval", plan, "-o", "json").json()["p_max_active_requests"]

    half, most = counts(0.5), counts(0.92)
    assert half[0] == pytest.approx(20, abs=1) and most[0] - half[0] > 25
    for fit, evaluated in (half, most):
        assert abs(fit - evaluated) <= 1
    # What takes too little for one request says so in every answer.
    small = words + " --gpu-memory-utilization 0.21"
    plan.write_text(run("import", small, "--hardware", "A100").out)
    assert run("fit", "--from", small, "--hardware", "A100").code == 2
    card = run("eval", plan)
    assert "no request fits beside the weights" in card.out + card.err
    assert "--gpu-memory-utilization 0.5" in run("export", "Qwen3_8B", "A100", "--memory-fraction", "0.5", "--to", "vllm").out


def test_launches_keep_the_cache_and_the_lengths_of_the_plan(run):
    cached = run("export", "Llama3_8B", "H100", "--to", "vllm", "--kv-precision", "fp8").out
    assert "--kv-cache-dtype fp8" in cached and "ds_mla" not in cached
    assert "--max-model-len" in cached
    assert "--max-model-len" not in run("export", "Llama3_8B", "H100", "--to", "vllm", "--rate", "2/s", "--output-tokens-cv", "0.8").out


def test_the_devices_that_a_manifest_asks_for_are_those_of_the_plan(run, tmp_path):
    words = "-m Llama-3.3-70B-Instruct-Q4_K_M.gguf -ngl 99 -c 8192"
    sky, compose = tmp_path / "sky.yaml", tmp_path / "compose.yml"
    sky.write_text(f"resources: {{accelerators: 'RTX3090:2'}}\nrun: llama-server {words}\n")
    compose.write_text("services:\n  llm:\n    image: ghcr.io/ggml-org/llama.cpp:server-cuda\n"
                       f"    command: {words}\n    deploy: {{resources: {{reservations: {{devices: [{{driver: nvidia, count: 2}}]}}}}}}\n")
    assert run("fit", "--from", sky).code == 0  # 42.5 GB of weights, on cards of 25.8 GB
    assert run("fit", "--from", compose, "--hardware", "RTX3090").code == 0
    assert "accelerators: 2" in run("import", compose, "--hardware", "4xRTX3090").out


def test_a_fit_holds_host_memory_against_what_lies_there(run, tmp_path):
    """100 GiB of 141 GB of weights go to the host, 107.4 GB, beside what a device keeps."""
    words = ("fit", "--from", "vllm serve meta-llama/Llama-3.1-70B-Instruct --cpu-offload-gb 100 --max-model-len 4096", "--hardware", "A100", "-o", "json")
    for more, code in (((), 0), (("--host-memory", "128 GB"), 0), (("--host-memory", "64 GB"), 2)):
        done = run(*words, *more)
        assert done.code == code, done.err
        parts = {row["part"]: row["bytes"] for row in done.json()["rows"]}
        assert parts["host"] == pytest.approx(107.4e9, rel=0.01)
        assert ("host capacity" in parts) == bool(more)
    # 18 B for each of 13 G weights of which every state lies there, and nothing on a device alone.
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "zero_optimization": {"stage": 3,'
                                      ' "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}}}')
    trained = run("fit", "--from", tmp_path / "ds.json", "--hardware", "RTX3090", "--model", "Llama2_13B", "--accelerators", "1",
                  "--recomputation", "full", "-o", "json")
    host = [row["bytes"] for row in trained.json()["rows"] if row["part"] == "host"]
    assert trained.code == 0 and 13e9 * 14 < host[0] < 13.1e9 * 18.1, host
    assert not [row for row in run("fit", "Llama3_8B", "H100", "-o", "json").json()["rows"] if row["part"] == "host"]
