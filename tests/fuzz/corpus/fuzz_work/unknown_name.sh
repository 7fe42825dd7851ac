vllm serve metA-llam`/Llama-3.1-8B --tensor-parallel-size 2 --max-model-lenï $A --quantizati-parallel-size 2 --max-model-len $A --quon fp8 \
 --max-num-seqs 64
