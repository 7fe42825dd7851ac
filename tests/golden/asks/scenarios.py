"""Scorecards: how plans, precisions, requests, prices and places change what SystemEvaluator says."""

import mlsysim
from mlsysim import Fleet, Hardware, HardwareNode, Models, SystemEvaluator, Systems
from mlsysim.specs import DeviceClass

from .lines import Ask, marked_lines, name_of, options

SERVE = """
serve Llama3_70B H100 x8 bf16 b{1,16,64} {operator,textbook} seq1024 out256
serve Llama3_70B H100 x8 {fp16,tf32,fp8,int8,int4,fp64} b8 {operator,textbook}
serve Llama3_8B B200 {fp4,fp6,fp8,bf16} b8 {operator,textbook}
serve Llama3_8B RTX4090 {int4,int8,fp8,fp16} b4 operator
serve Llama3_8B H100
serve Llama3_8B H100 b32
serve Llama3_8B H100 bf16 b{1,2,4,8,32,128,512} operator
serve Llama3_8B H100 bf16 b8 {operator,textbook} seq{1,128,8192,131072}
serve Llama3_8B H100 bf16 b8 {operator,textbook} seq2048 out{1,64,4096}

# Tensor and pipeline parallelism, replicas, several nodes.
serve Llama3_70B H100 x8 bf16 b16 operator {tp1,tp2,tp4,tp8,tp4 pp2,tp2 pp4,tp1 pp8,tp2 pp2}
serve Llama3_70B H100 x8 bf16 b16 textbook {tp1,tp4,tp8,tp4 pp2,tp1 pp8}
serve Llama3_405B H200 x{8,16,32} fp8 b{1,32} operator
serve Llama3_405B H200 x16 fp8 b32 {operator,textbook} {tp8 pp2,tp16}
serve Llama3_70B A100 x16 bf16 b16 operator accelerators_per_node={4,8,16}
serve Llama3_70B H100 bf16 b16 operator node_count=2 accelerators_per_node={4,8}
serve Llama3_70B H100 x16 bf16 b16 operator tp16 \
    {intra_node_bw=200GB/s,fabric_bandwidth=25GB/s,fabric_bandwidth=400GB/s}
serve Llama3_70B H100 x8 bf16 b16 operator intra_node_bw={64GB/s,900GB/s}
serve Llama3_70B MI300X x8 bf16 b16 {operator,textbook}
serve Llama3_70B TPUv5p x8 bf16 b16 {operator,textbook}
serve Llama3_70B B200 x8 fp4 b16 {operator,textbook}
serve Llama3_70B GB200_NVL72 b64 {operator,textbook}
serve Llama3_8B Cerebras_CS3 b8 {operator,textbook}
serve Llama3_8B Groq_LPU x576 int8 b8 {operator,textbook}

# Experts, latent attention, windows, linear attention.
serve Mixtral_8x7B H100 x8 bf16 b{1,32} {operator,textbook}
serve Mixtral_8x7B H100 x8 bf16 b32 operator {tp8,tp4 ep2,tp2 ep4,tp1 ep8,tp2 pp2 ep2,tp8 ep8}
serve DeepSeek_V3 H200 x8 fp8 b{1,64} {operator,textbook}
serve DeepSeek_V3 H200 x32 fp8 b128 operator {tp8,tp8 ep4,tp4 ep8,tp1 ep32,tp4 pp4 ep2}
serve DeepSeek_V3 H200 x8 fp8 b8 operator seq{512,32768}
serve Qwen3_30B_A3B H100 x{1,2,4} bf16 b16 operator
serve Qwen3_235B_A22B B200 x8 fp8 b32 {operator,textbook} {tp8,tp4 ep2,tp1 ep8}
serve Gemma3_27B H100 bf16 b4 {operator,textbook} seq{1024,32768,131072}
serve GPT_OSS_120B B200 fp4 b8 {operator,textbook} seq{128,16384}
serve Llama4_Scout H200 x8 bf16 b8 operator seq{4096,262144}
serve Qwen3_5_397B_A17B B200 x8 fp8 b8 operator seq{1024,131072}
serve DeepSeek_V4_Pro B300 x8 fp8 b8 operator seq{1024,262144}
serve Kimi_K3 B300 x16 fp4 b8 operator seq{1024,131072}

# The cache, chunks and prefixes of a prompt, a model that drafts.
serve Llama3_8B H100 bf16 b64 operator kv_precision={fp8,int8,int4,fp16,fp32}
serve Llama3_8B H100 bf16 b64 textbook kv_precision={fp8,int4}
serve Llama3_8B H100 bf16 b8 operator prefill_chunk_tokens={1,256,512,2048,4096}
serve Llama3_8B H100 bf16 b8 textbook prefill_chunk_tokens=512
serve Llama3_8B H100 bf16 b64 operator prefill_chunk_tokens=8192
serve DeepSeek_V3_2 H200 x8 fp8 b8 operator seq{1024,32768} out128
serve Llama3_8B H100 bf16 b8 {operator,textbook} cached_prefix_len={0,512,2047}
serve Llama3_8B H100 bf16 b8 operator cached_prefix_len=1024 prefill_chunk_tokens=256
serve DeepSeek_V3 H200 x8 fp8 b8 operator cached_prefix_len=1024 prefill_chunk_tokens=256 out128
serve Llama3_70B H100 x8 bf16 b{1,16} {operator,textbook} draft_model=Llama3_2_1B
serve Llama3_70B H100 x8 bf16 b4 operator draft_model=Llama3_8B draft_acceptance_rate={0,0.5,0.9,1} \
    draft_tokens={2,8}
serve Llama3_70B H100 x8 bf16 b4 operator draft_tokens=8

# Shares, prices, grids and places.
serve Llama3_8B H100 bf16 b16 {operator,textbook} efficiency={0.1,0.3,1}
serve Llama3_8B H100 bf16 b16 operator grid={Quebec,Poland,World,France,Iowa_Council_Bluffs}
serve Llama3_8B H100 bf16 b16 operator datacenter={Norway_Hydro,Poland_Coal,US_Hyperscale,China_Avg_Facility}
serve Llama3_8B H100 bf16 b16 operator grid=Quebec datacenter=Poland_Coal
serve Llama3_8B H100 bf16 b16 operator days{1,365,1825}
serve Llama3_8B H100 bf16 b16 {operator,textbook} kwh_price={0USD/kWh,0.3USD/kWh}
serve Llama3_8B H100 bf16 b16 {operator,textbook} unit_cost={0USD,12345USD}
serve Llama3_8B H100 bf16 b16 operator infrastructure_multiplier={1,1.8}
serve Llama3_8B H100 bf16 b16 operator kwh_price=0.2USD/kWh grid=Germany unit_cost=25000USD days90
serve Llama3_8B H100 bf16 b16 {operator,textbook} \
    {conventions.pue=1.5,conventions.devices.efficiency.memory=0.6,conventions.devices.efficiency.vector=0.4}
serve Llama3_8B H100 bf16 b16 operator \
    {conventions.devices.kernels.launch=10us,conventions.memory_reserve=4GiB,conventions.idle_fraction=0}
serve Llama3_8B H100 bf16 b16 operator \
    also={ReliabilityModel,SustainabilityModel,TailLatencyModel,EconomicsModel}

# Fleets of the zoo, and devices made by hand, which lack figures.
serve Llama3_70B {Lab_64_H100,Research_256,Kempner_H100_384,Meta_RSC1} bf16 b256 {operator,textbook}
serve Llama3_70B Research_256 bf16 b256 operator {tp8 pp2,tp4,tp2 pp4}
serve Llama3_8B {Bare,Priced,Linked,Narrow} b8 {operator,textbook}
serve Llama3_8B {Bare,Linked} x4 b8 operator

# What does not fit, and what would.
serve Llama3_405B A100 bf16 b1 {operator,textbook}
serve Llama3_70B T4 x{1,4,8} b4 operator
serve GPT3 H100 x2 bf16 b1 {operator,textbook}
serve DeepSeek_R1 H100 x8 bf16 b16 operator
serve Llama3_8B H100 bf16 b1024 {operator,textbook} seq8192
serve Llama3_8B RTX3060 b1 operator
serve Llama3_70B Lab_64_H100 bf16 b64 operator tp1

# What is refused.
serve Llama3_8B H100 b{0,1.5}
serve Llama3_8B H100 x8 {tp3,tp16,pp3,ep2,pp64}
serve Llama3_8B H100 x8 node_count=2 accelerators_per_node=8
serve Llama3_8B H100 {zero1,recomputation=full,cp2,mbs1}
serve Llama3_8B H100 efficiency={0,2}
serve GPT2 H100 seq4096
serve Llama3_8B V100 bf16
serve Llama3_8B H100 grid=Atlantis
serve Llama3_8B H100 seqlen=3
serve ResNet50 H100
serve Llama3_8B NoSuchDevice
"""

TRAIN = """
train Llama3_2_1B H100 bf16 b{1,8} operator engine={transformers,pytorch_eager} recomputation={none,full} mbs1
train Llama3_8B H100 x8 bf16 b8 {operator,textbook} zero{0,1,2,3}
train Llama3_8B Lab_64_H100 bf16 b128 {operator,textbook} zero{0,1,2,3}
train Llama3_8B Lab_64_H100 bf16 b{64,512,100} operator zero3 seq4096
train Llama3_8B Lab_64_H100 fp8 b128 {operator,textbook} zero3
train Llama3_8B Lab_64_H100 {fp16,tf32,fp32} b128 operator zero3
train Llama3_8B Lab_64_H100 bf16 b128 operator zero3 shard_size={1,8,16,64}
train Llama3_8B Lab_64_H100 bf16 b128 operator zero1 shard_size=8
train Llama3_8B Lab_64_H100
train Llama3_2_1B H100 b8
train Llama3_2_1B H100 bf16 b{1,4,16} {operator,textbook} seq{512,4096}

# Tensor, pipeline and context parallelism, alone and together.
train Llama3_8B Lab_64_H100 bf16 b128 operator {tp2,tp4,tp8,pp2,pp4,pp8,cp2,cp4,tp2 pp2,tp2 cp2,pp2 cp2,tp2 \
    pp2 cp2,tp8 pp8}
train Llama3_8B Lab_64_H100 bf16 b128 textbook {tp2,tp8,pp2,pp8,cp2,tp2 pp2,tp2 pp2 cp2}
train Llama3_70B Training_512_H100 bf16 b512 {operator,textbook} {tp8 pp4,tp8 pp8,tp4 pp4 cp2,tp8 zero3,tp8 \
    pp2 zero1}
train Llama3_405B Meta_Llama3_16K bf16 b2048 {operator,textbook} tp8 pp16 seq8192
train Llama3_405B Meta_Llama3_16K bf16 b2048 operator tp8 pp16 seq8192 \
    {zero1,v2,cp2,recomputation=full,recomputation=none}
train Llama3_405B Meta_Llama3_16K bf16 b128 operator tp8 cp16 pp16 seq131072
train GPT3 Training_1K_A100 bf16 b1536 {operator,textbook} tp8 pp8
train GPT3 Training_1K_A100 bf16 b1536 operator tp8 pp8 {v2,v3,v6}
train GPT3 Training_1K_A100 bf16 b1536 operator tp8 pp8 schedule={1f1b,gpipe,zero_bubble} {mbs1,mbs2,mbc24}
train GPT3 Training_1K_A100 bf16 b1536 textbook tp8 pp8 schedule={gpipe,zero_bubble} mbc96
train GPT3 Training_1K_A100 bf16 b1536 operator tp8 pp8 v2 schedule={gpipe,zero_bubble}
train Llama3_8B Lab_64_H100 bf16 b256 operator {mbs1,mbs2,mbs4,mbc2,mbc4,acc2,acc4,mbs1 acc2,mbc2 acc2} zero1
train Llama3_8B Lab_64_H100 bf16 b256 textbook {mbs1,mbc4,acc4,mbs1 acc2} zero1
train Llama3_8B Lab_64_H100 bf16 b256 operator pp4 {mbs1,mbs4,mbc8,mbc16,acc4} v2

# Memory: recomputation, sequence parallelism, offload, optimizers.
train Llama3_8B Lab_64_H100 bf16 b128 operator zero2 tp2 \
    recomputation={none,selective,full,norm,activation,pointwise,feed_forward,attention,per_operator}
train Llama3_8B Lab_64_H100 bf16 b128 textbook zero2 tp2 recomputation={none,selective,full}
train Llama3_8B Lab_64_H100 bf16 b128 operator zero2 recomputation={full,selective} \
    recomputed_share={0,0.25,0.5}
train Llama3_8B Lab_64_H100 bf16 b128 {operator,textbook} zero1 tp4 sequence_parallel={true,false}
train Llama3_8B Lab_64_H100 bf16 b128 operator zero1 cp2 tp2 sequence_parallel=false
train Llama3_8B Lab_64_H100 bf16 b128 operator zero3 \
    {offload_states=0.5,offload_states=1,offload_weights=1,offload_activations=0.5,offload_activations=1}
train Llama3_8B H100 bf16 b1 operator offload_states=1 offload_weights=1 offload_activations=1
train Llama3_8B Lab_64_H100 bf16 b128 textbook zero3 {offload_states=1,offload_activations=1}
train Llama3_8B Lab_64_H100 bf16 b128 {operator,textbook} zero1 optimizer={none,sgd,adam,adamw}
train Llama3_8B Lab_64_H100 bf16 b128 {operator,textbook} zero1 optimizer=muon
train Llama3_8B Lab_64_H100 bf16 b128 operator {zero1,zero3} \
    {lora_rank=16,lora_rank=16 lora_modules=attention}
train Llama3_8B Lab_64_H100 bf16 b128 operator zero1 fused_loss=true
train Llama3_8B Lab_64_H100 bf16 b128 {operator,textbook} zero1 gradient_precision=fp32
train Llama3_8B Lab_64_H100 bf16 b128 operator zero1 trainable_fraction={0,0.01,0.5}
train Llama3_8B Lab_64_H100 bf16 b128 textbook zero1 trainable_fraction=0.01
train Llama3_8B Lab_64_H100 bf16 b128 operator zero1 attention_kernel={unfused,flash1,flash2,fused}
train Llama3_8B Lab_64_H100 bf16 b128 operator zero1 tp2 \
    {dropout=true,kernel_fusion=false,kernel_fusion=false dropout=true attention_kernel=unfused}
train GPT2 A100 x8 fp16 b64 operator \
    {dropout=true,kernel_fusion=false,attention_kernel=unfused,recomputation=none} seq1024

# What is exchanged: overlap, congestion, stragglers, links.
train Llama3_8B Lab_64_H100 bf16 b128 {operator,textbook} zero1 overlap_efficiency={0,0.5,1}
train Llama3_8B Lab_64_H100 bf16 b128 operator zero3 \
    {overlap_efficiency=0,backward_prefetch=false,overlap_slowdown=0,overlap_slowdown=0.5}
train Llama3_8B Lab_64_H100 bf16 b128 operator zero1 tp8 tp_overlap={0,0.5,1}
train Llama3_8B Lab_64_H100 bf16 b128 {operator,textbook} zero1 {congestion_factor=2,straggler_factor=1.3}
train Llama3_8B H100 x64 bf16 b128 operator zero1 \
    {accelerators_per_node=4,fabric_bandwidth=12.5GB/s,fabric_bandwidth=400GB/s,intra_node_bw=100GB/s}
train Llama3_8B H100 x{1,2,4,8,16,32,128,1024} bf16 b1024 operator zero3
train Llama3_8B H100 x{2,16,1024} bf16 b1024 textbook zero3
train Llama3_8B Lab_64_H100 bf16 b128 {operator,textbook} zero1 efficiency={0.2,0.9}
train Llama3_8B Lab_64_H100 bf16 b128 operator zero1 \
    {grid=Quebec,datacenter=Poland_Coal,kwh_price=0.3USD/kWh,unit_cost=12345USD,days365}
train Llama3_8B Lab_64_H100 bf16 b128 operator zero1 \
    {conventions.overlap=0.5,conventions.exchange_bucket=1GB,conventions.collective_launch=50us}
train Llama3_8B {Linked,Bare} x8 b32 {operator,textbook} zero3

# Experts and other models.
train Mixtral_8x7B Research_256 bf16 b512 {operator,textbook} tp2 {ep1,ep2,ep4,ep8} zero1
train Mixtral_8x7B Research_256 bf16 b512 operator {tp4 pp4 ep8,pp4 ep8 cp2,tp2 pp2 ep4 cp2} zero1
train DeepSeek_V3 Production_2K bf16 b4096 operator {ep8,ep64,ep64 pp16} zero{1,3}
train DeepSeek_V3 Production_2K fp8 b15360 operator pp16 ep64 zero1 seq4096
train Qwen3_30B_A3B Lab_64_H100 bf16 b128 {operator,textbook} ep8 zero1
train Gemma2_9B Lab_64_H100 bf16 b128 operator zero1 seq8192
train Llama2_7B MI300X x8 bf16 b32 {operator,textbook} zero3
train Llama2_7B Gaudi3 x8 bf16 b32 operator zero3
train Llama2_7B TPUv5p x64 bf16 b128 operator zero3
train Llama2_7B V100 x64 fp16 b128 operator zero2 tp4
train ResNet50 A100 x8 fp16 b{256,2048} {operator,textbook}
train ResNet50 A100 x8 fp16 b2048 operator {zero1,optimizer=sgd,kernel_fusion=false,recomputation=full,mbc4}
train MobileNetV2 V100 x4 fp32 b512 operator
train BERT_Large A100 x64 fp16 b4096 {operator,textbook} seq128
train BERT_Large A100 x64 fp16 b4096 operator {dropout=true,zero1,tp2}
train ViT_L_16 H100 x8 bf16 b1024 {operator,textbook}
train DLRM H100 x8 b65536 textbook
train {Mamba_2_8B,StableDiffusion_v1_5,GPT4,OpenVLA_7B} H100 x64 b256 textbook {zero0,zero3}

# What does not fit, and what would; what is refused.
train Llama3_70B H100 bf16 b8 {operator,textbook}
train Llama3_70B H100 x8 bf16 b8 operator {zero0,zero3,tp8,tp8 recomputation=full,zero3 offload_states=1}
train Llama3_405B Lab_64_H100 bf16 b64 {operator,textbook} tp8 pp8
train GPT3 Lab_64_H100 bf16 b64 operator zero3
train Llama3_8B T4 x4 fp16 b4 operator
train Llama3_8B Lab_64_H100 b64 {tp3,pp3,cp3,ep2,tp16,zero4,v2,pp2 v17,mbs3}
train Llama3_8B Lab_64_H100 b64 {tp64,tp8 pp8 cp2,mbs1 mbc2,acc128,shard_size=3,recomputed_share=2}
train Llama3_8B Lab_64_H100 b64 {kv_precision=fp8,draft_model=Llama3_2_1B,schedule=best,optimizer=lion}
train Llama3_8B Lab_64_H100 b{8,63} zero1
"""

INFER = """
infer ResNet50 {A100,H100,T4,JetsonAGXOrin,Hailo8,Coral} b{1,32} {operator,textbook}
infer ResNet50 A100 {fp32,tf32,fp16,bf16,int8,fp8} b32 operator
infer ResNet50 A100 x8 b{1,256} {operator,textbook}
infer ResNet50 H100 b{1,2,4,8,64,1024} fp16 operator
infer {MobileNetV2,EfficientNetB0,AlexNet,YOLOv8_Nano} {iPhone15Pro,JetsonOrinNano,RaspberryPi5} b1 \
    {operator,textbook}
infer {DS_CNN,WakeVision,AnomalyDetector,LeNet1} {STM32H7A3ZI,ESP32_S3,nRF52840} b1 textbook
infer BERT_Large A100 fp16 b{1,64} {operator,textbook} seq{128,512}
infer Llama3_8B H100 bf16 b{1,8} {operator,textbook} seq{128,2048}
infer Llama3_70B H100 x8 bf16 b8 {operator,textbook}
infer ViT_L_16 L4 b{1,64} operator
infer StableDiffusion_v1_5 {H100,RTX4090} b{1,4} textbook
infer DLRM {H200,A100} b{1,2048} textbook
infer {Mamba_2_8B,OpenVLA_7B,ACT_ALOHA} H100 b{1,16} textbook
infer ResNet50 A100 b32 operator \
    {efficiency=0.2,grid=Quebec,datacenter=Poland_Coal,unit_cost=5000USD,kwh_price=0.3USD/kWh,days365}
infer ResNet50 A100 b32 operator \
    {conventions.devices.dispatch_overhead=100us,conventions.devices.kernels.launch=0us,\
    also=SustainabilityModel}
infer ResNet50 {Bare,Priced} b8 {operator,textbook}
infer ResNet50 H100 {tp2,zero1,out4,kv_precision=fp8}
infer GPT4 H100 operator
infer Llama3_405B L4 b1 {operator,textbook}
"""


BY_HAND = ("Bare", "Priced", "Linked", "Narrow")


def made_by_hand():
    """Devices with the fewest figures, with a price, with links, and with one precision alone."""
    memory = {"capacity": "80 GB", "bandwidth": "2 TB/s"}
    bare = HardwareNode(name="Bare", compute={"peak_flops": "100 TFLOP/s"}, memory=memory)
    links = {"device_link": {"bandwidth": "200 GB/s"}, "host_link": {"bandwidth": "20 GB/s"}}
    return {
        "Bare": bare,
        "Priced": bare.replace(name="Priced", tdp="400 W", unit_cost="10000 USD"),
        "Linked": bare.replace(name="Linked", tdp="400 W", **links),
        "Narrow": HardwareNode(
            name="Narrow", compute={"dense": {"int8": "40 TOP/s"}, "default_precision": "int8"},
            memory={"capacity": "16 GB", "bandwidth": "100 GB/s"}),
    }


def place(name):
    """{hardware_obj} or {fleet_obj} of a name: a device, a cluster, or '2xDGX_H100@InfiniBand_NDR'."""
    if name in BY_HAND:
        return {"hardware_obj": made_by_hand()[name]}
    if "@" in name:
        nodes, _, fabric = name.partition("@")
        count, _, node = nodes.partition("x")
        parts = {"node": Systems.Nodes[node], "fabric": Systems.Fabrics[fabric]}
        return {"fleet_obj": Fleet(name=name, count=int(count), **parts)}
    if name in Systems.Clusters:
        return {"fleet_obj": Systems.Clusters[name]}
    return {"hardware_obj": Hardware[name]}


def arguments(words):
    """Keywords of an evaluation; 'conventions.pue=1.5' changes one of the shipped conventions, and
    'conventions.devices.kernels.launch=10us' a figure of devices that do not state it."""
    out = options(words)
    changes, devices = {}, {}
    for key in [key for key in out if key.startswith("conventions.")]:
        *groups, last = key.split(".")[1:]
        place = devices if groups else changes
        for group in groups[1:]:
            place = place.setdefault(group, {})
        place[last] = out.pop(key)
    if devices:
        changes["devices"] = DeviceClass(name="the caller's", **devices)
    if changes:
        out["conventions"] = mlsysim.zoo.conventions(**changes)
    return out


def evaluation(line, assumptions=True):
    """The ask of one line."""
    mode, model, where, *words = line.split()

    def ask():
        asked = arguments(words)
        if mode != "own":
            asked["mode"] = mode
        return SystemEvaluator.evaluate("golden", Models[model], **place(where), **asked)

    return Ask(name_of((mode, model, where), words), ask, assumptions)


def asks():
    for table in (SERVE, TRAIN, INFER):
        for line, marked in marked_lines(table):
            yield evaluation(line, assumptions=marked)
