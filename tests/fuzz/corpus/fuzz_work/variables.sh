A=12345678
A=$A$A
A=$A$A
A=$A$A
A=$A$A
A=$A$A
A=$A$A
A=$A$A
A=$A$A
A=$A$A
A=$A$A
A=$A$A
A=$A$A
vllm serve m --max-model-len $A
