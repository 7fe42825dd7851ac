#!/usr/bin/env python3
"""Writes class_counts.json: how many weights `transformers` makes of a configuration, for each class that keys.cpp knows by name.

    python3 tests/data/model_files/class_counts.py

Needs `pip install transformers torch`. Nothing is downloaded and no weight is made: the models are built on the meta device. The
configurations have the shapes of public checkpoints. Buffers do not count, tied weights count once. The C++ test reads each
configuration and compares.
"""

import json
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent


def rows(text):
    """(class of the model, configuration) of each line of `text`."""
    for line in text.strip().splitlines():
        architecture, _, config = line.partition(" ")
        yield {"architectures": [architecture], **json.loads(config)}


CONFIGS = """
FalconForCausalLM {"model_type": "falcon", "vocab_size": 65024, "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71, "multi_query": true, "parallel_attn": true, "bias": false, "alibi": false, "new_decoder_architecture": false}
FalconForCausalLM {"model_type": "falcon", "vocab_size": 65024, "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128, "num_kv_heads": 8, "parallel_attn": true, "bias": false, "alibi": false, "new_decoder_architecture": true}
FalconForCausalLM {"model_type": "falcon", "vocab_size": 50304, "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32, "multi_query": false, "parallel_attn": false, "bias": true, "alibi": true, "new_decoder_architecture": false}
BloomForCausalLM {"model_type": "bloom", "vocab_size": 250880, "hidden_size": 1024, "n_layer": 24, "n_head": 16}
GPTNeoXForCausalLM {"model_type": "gpt_neox", "vocab_size": 50432, "hidden_size": 6144, "num_hidden_layers": 44, "num_attention_heads": 64, "intermediate_size": 24576, "max_position_embeddings": 2048}
GPTJForCausalLM {"model_type": "gptj", "vocab_size": 50400, "n_embd": 4096, "n_layer": 28, "n_head": 16, "n_positions": 2048, "rotary_dim": 64}
GPTNeoForCausalLM {"model_type": "gpt_neo", "vocab_size": 50257, "hidden_size": 2048, "num_layers": 24, "num_heads": 16, "intermediate_size": null, "window_size": 256, "attention_types": [[["global", "local"], 12]], "max_position_embeddings": 2048}
CodeGenForCausalLM {"model_type": "codegen", "vocab_size": 51200, "n_embd": 1024, "n_layer": 20, "n_head": 16, "n_positions": 2048, "rotary_dim": 32}
GPTBigCodeForCausalLM {"model_type": "gpt_bigcode", "vocab_size": 49152, "n_embd": 6144, "n_layer": 40, "n_head": 48, "n_inner": 24576, "n_positions": 8192, "multi_query": true}
MptForCausalLM {"model_type": "mpt", "vocab_size": 50432, "d_model": 4096, "n_layers": 32, "n_heads": 32, "expansion_ratio": 4, "max_seq_len": 2048, "no_bias": true, "attn_config": {"alibi": true}}
StableLmForCausalLM {"model_type": "stablelm", "vocab_size": 50304, "hidden_size": 2560, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 6912, "use_qkv_bias": false}
StableLmForCausalLM {"model_type": "stablelm", "vocab_size": 100352, "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 5632, "use_qkv_bias": true}
PhiForCausalLM {"model_type": "phi", "vocab_size": 51200, "hidden_size": 2560, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 10240, "max_position_embeddings": 2048}
CohereForCausalLM {"model_type": "cohere", "vocab_size": 256000, "hidden_size": 8192, "num_hidden_layers": 40, "num_attention_heads": 64, "num_key_value_heads": 64, "intermediate_size": 22528}
Cohere2ForCausalLM {"model_type": "cohere2", "vocab_size": 256000, "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "sliding_window": 4096}
Starcoder2ForCausalLM {"model_type": "starcoder2", "vocab_size": 49152, "hidden_size": 3072, "num_hidden_layers": 30, "num_attention_heads": 24, "num_key_value_heads": 2, "intermediate_size": 12288, "use_bias": true, "sliding_window": 4096}
OlmoForCausalLM {"model_type": "olmo", "vocab_size": 50304, "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 11008}
OlmoeForCausalLM {"model_type": "olmoe", "vocab_size": 50304, "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 1024, "num_experts": 64, "num_experts_per_tok": 8}
Olmo3ForCausalLM {"model_type": "olmo3", "vocab_size": 100278, "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 11008, "sliding_window": 4096}
GraniteForCausalLM {"model_type": "granite", "vocab_size": 49155, "hidden_size": 4096, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 12800, "tie_word_embeddings": true}
GraniteMoeForCausalLM {"model_type": "granitemoe", "vocab_size": 49155, "hidden_size": 1536, "num_hidden_layers": 32, "num_attention_heads": 24, "num_key_value_heads": 8, "intermediate_size": 512, "num_local_experts": 40, "num_experts_per_tok": 8, "tie_word_embeddings": true}
GlmForCausalLM {"model_type": "glm", "vocab_size": 151552, "hidden_size": 4096, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 13696, "attention_bias": true}
Glm4ForCausalLM {"model_type": "glm4", "vocab_size": 151552, "hidden_size": 6144, "num_hidden_layers": 61, "num_attention_heads": 48, "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 23040, "attention_bias": false}
Exaone4ForCausalLM {"model_type": "exaone4", "vocab_size": 102400, "hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 40, "num_key_value_heads": 8, "intermediate_size": 27392, "sliding_window": 4096, "sliding_window_pattern": 4}
NemotronForCausalLM {"model_type": "nemotron", "vocab_size": 256000, "hidden_size": 6144, "num_hidden_layers": 32, "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 24576}
MambaForCausalLM {"model_type": "mamba", "vocab_size": 50280, "hidden_size": 2560, "num_hidden_layers": 64, "state_size": 16, "intermediate_size": 5120, "time_step_rank": 160, "conv_kernel": 4, "expand": 2}
FalconMambaForCausalLM {"model_type": "falcon_mamba", "vocab_size": 65024, "hidden_size": 4096, "num_hidden_layers": 64, "state_size": 16, "intermediate_size": 8192, "time_step_rank": 256, "conv_kernel": 4, "expand": 2, "tie_word_embeddings": false}
Mamba2ForCausalLM {"model_type": "mamba2", "vocab_size": 50288, "hidden_size": 2560, "num_hidden_layers": 64, "state_size": 128, "expand": 2, "head_dim": 64, "num_heads": 80, "conv_kernel": 4, "n_groups": 1, "chunk_size": 256, "tie_word_embeddings": true}
RobertaForMaskedLM {"model_type": "roberta", "vocab_size": 50265, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096, "max_position_embeddings": 514, "type_vocab_size": 1}
RobertaModel {"model_type": "roberta", "vocab_size": 50265, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 514, "type_vocab_size": 1}
XLMRobertaForSequenceClassification {"model_type": "xlm-roberta", "vocab_size": 250002, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096, "max_position_embeddings": 8194, "type_vocab_size": 1, "num_labels": 1}
XLMRobertaModel {"model_type": "xlm-roberta", "vocab_size": 250002, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 514, "type_vocab_size": 1}
CamembertModel {"model_type": "camembert", "vocab_size": 32005, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 514, "type_vocab_size": 1}
BertModel {"model_type": "bert", "vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536, "max_position_embeddings": 512, "type_vocab_size": 2}
BertForMaskedLM {"model_type": "bert", "vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2}
BertForSequenceClassification {"model_type": "bert", "vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536, "max_position_embeddings": 512, "type_vocab_size": 2, "num_labels": 1}
DistilBertModel {"model_type": "distilbert", "vocab_size": 30522, "dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072, "max_position_embeddings": 512}
DistilBertForMaskedLM {"model_type": "distilbert", "vocab_size": 30522, "dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072, "max_position_embeddings": 512}
DistilBertForSequenceClassification {"model_type": "distilbert", "vocab_size": 30522, "dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072, "max_position_embeddings": 512, "num_labels": 2}
MPNetModel {"model_type": "mpnet", "vocab_size": 30527, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 514, "relative_attention_num_buckets": 32}
ElectraModel {"model_type": "electra", "vocab_size": 30522, "embedding_size": 768, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2}
DebertaV2Model {"model_type": "deberta-v2", "vocab_size": 128100, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 512, "max_relative_positions": -1, "position_buckets": 256, "relative_attention": true, "share_att_key": true, "pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": "layer_norm", "position_biased_input": false, "type_vocab_size": 0}
ModernBertModel {"model_type": "modernbert", "vocab_size": 50368, "hidden_size": 768, "num_hidden_layers": 22, "num_attention_heads": 12, "intermediate_size": 1152, "max_position_embeddings": 8192, "global_attn_every_n_layers": 3, "local_attention": 128}
ModernBertForMaskedLM {"model_type": "modernbert", "vocab_size": 50368, "hidden_size": 768, "num_hidden_layers": 22, "num_attention_heads": 12, "intermediate_size": 1152, "max_position_embeddings": 8192, "global_attn_every_n_layers": 3, "local_attention": 128}
WhisperForConditionalGeneration {"model_type": "whisper", "vocab_size": 51866, "d_model": 1280, "encoder_layers": 32, "decoder_layers": 32, "encoder_attention_heads": 20, "decoder_attention_heads": 20, "encoder_ffn_dim": 5120, "decoder_ffn_dim": 5120, "num_mel_bins": 128, "max_source_positions": 1500, "max_target_positions": 448}
T5EncoderModel {"model_type": "t5", "vocab_size": 32128, "d_model": 4096, "d_ff": 10240, "d_kv": 64, "num_layers": 24, "num_heads": 64, "feed_forward_proj": "gated-gelu", "relative_attention_num_buckets": 32, "is_encoder_decoder": true, "tie_word_embeddings": false}
UMT5EncoderModel {"model_type": "umt5", "vocab_size": 256384, "d_model": 4096, "d_ff": 10240, "d_kv": 64, "num_layers": 24, "num_heads": 64, "feed_forward_proj": "gated-gelu", "relative_attention_num_buckets": 32, "tie_word_embeddings": false}
WhisperForAudioClassification {"model_type": "whisper", "vocab_size": 51866, "d_model": 1280, "encoder_layers": 32, "decoder_layers": 32, "encoder_attention_heads": 20, "decoder_attention_heads": 20, "encoder_ffn_dim": 5120, "decoder_ffn_dim": 5120, "num_mel_bins": 128, "max_source_positions": 1500, "max_target_positions": 448, "num_labels": 102}
MBartForConditionalGeneration {"model_type": "mbart", "vocab_size": 250054, "d_model": 1024, "encoder_layers": 12, "decoder_layers": 12, "encoder_attention_heads": 16, "decoder_attention_heads": 16, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096, "max_position_embeddings": 1024}
MarianMTModel {"model_type": "marian", "vocab_size": 58101, "d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8, "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "max_position_embeddings": 512}
PegasusForConditionalGeneration {"model_type": "pegasus", "vocab_size": 96103, "d_model": 1024, "encoder_layers": 16, "decoder_layers": 16, "encoder_attention_heads": 16, "decoder_attention_heads": 16, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096, "max_position_embeddings": 512}
M2M100ForConditionalGeneration {"model_type": "m2m_100", "vocab_size": 256206, "d_model": 1024, "encoder_layers": 12, "decoder_layers": 12, "encoder_attention_heads": 16, "decoder_attention_heads": 16, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096, "max_position_embeddings": 1024}
ArceeForCausalLM {"model_type": "arcee", "vocab_size": 128004, "hidden_size": 2560, "num_hidden_layers": 36, "num_attention_heads": 20, "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 18432, "hidden_act": "relu2", "tie_word_embeddings": false}
GraniteMoeHybridForCausalLM {"model_type": "granitemoehybrid", "vocab_size": 100352, "hidden_size": 1536, "num_hidden_layers": 8, "num_attention_heads": 12, "num_key_value_heads": 4, "intermediate_size": 512, "shared_intermediate_size": 1024, "num_local_experts": 64, "num_experts_per_tok": 6, "mamba_n_heads": 48, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_chunk_size": 256, "mamba_conv_bias": true, "mamba_proj_bias": false, "layer_types": ["mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba", "mamba"], "tie_word_embeddings": true}
GraniteMoeHybridForCausalLM {"model_type": "granitemoehybrid", "vocab_size": 100352, "hidden_size": 1536, "num_hidden_layers": 8, "num_attention_heads": 12, "num_key_value_heads": 4, "intermediate_size": 4096, "shared_intermediate_size": 4096, "num_local_experts": 0, "num_experts_per_tok": 0, "mamba_n_heads": 48, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_chunk_size": 256, "mamba_conv_bias": true, "mamba_proj_bias": false, "layer_types": ["linear_attention", "linear_attention", "linear_attention", "linear_attention", "linear_attention", "full_attention", "linear_attention", "linear_attention"], "tie_word_embeddings": true}
BambaForCausalLM {"model_type": "bamba", "vocab_size": 128256, "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "mamba_n_heads": 128, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_chunk_size": 256, "mamba_conv_bias": true, "mamba_proj_bias": false, "attn_layer_indices": [9, 18, 27], "tie_word_embeddings": false}
PLBartForConditionalGeneration {"model_type": "plbart", "vocab_size": 50005, "d_model": 768, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 12, "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072, "max_position_embeddings": 1024}
MvpForConditionalGeneration {"model_type": "mvp", "vocab_size": 50267, "d_model": 1024, "encoder_layers": 12, "decoder_layers": 12, "encoder_attention_heads": 16, "decoder_attention_heads": 16, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096, "max_position_embeddings": 1024, "use_prompt": false}
BlenderbotForConditionalGeneration {"model_type": "blenderbot", "vocab_size": 8008, "d_model": 2560, "encoder_layers": 2, "decoder_layers": 24, "encoder_attention_heads": 32, "decoder_attention_heads": 32, "encoder_ffn_dim": 10240, "decoder_ffn_dim": 10240, "max_position_embeddings": 128}
BlenderbotSmallForConditionalGeneration {"model_type": "blenderbot-small", "vocab_size": 54944, "d_model": 512, "encoder_layers": 8, "decoder_layers": 8, "encoder_attention_heads": 16, "decoder_attention_heads": 16, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "max_position_embeddings": 512}
"""


def count(config):
    import torch
    import transformers

    known = dict(config)
    made = transformers.AutoConfig.for_model(known.pop("model_type"), **{k: v for k, v in known.items() if k != "architectures"})
    with torch.device("meta"):
        model = getattr(transformers, config["architectures"][0])(made)
    model.tie_weights()
    return sum(p.numel() for p in model.parameters())


def main():
    warnings.simplefilter("ignore")
    import transformers

    out = []
    for config in rows(CONFIGS):
        try:
            out.append({"parameters": count(config), "config": config})
        except Exception as error:  # noqa: BLE001: a class that this release makes in another way is left out and named
            print(f"{config['architectures'][0]}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    lines = ",\n".join(json.dumps(row) for row in out)
    (HERE / "class_counts.json").write_text(f'{{"transformers": "{transformers.__version__}", "rows": [\n{lines}\n]}}\n')
    for row in out:
        print(f"{row['parameters']:>15,} {row['config']['architectures'][0]}")


if __name__ == "__main__":
    main()
