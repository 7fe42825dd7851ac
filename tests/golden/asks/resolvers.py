"""Every resolver by itself: the example of its page, and what becomes of it with other inputs.

A line below a name changes its example. `-key` leaves an input out.
"""

from mlsysim import ResolverFactory

from .lines import Ask, marked_lines, options
from .scenarios import arguments

EXAMPLES = {
    "SingleNodeModel": "workload=ResNet50 hardware=A100 b32 fp16",
    "ServingModel": "workload=Llama3_8B hardware=H100 seq2048 out256 bf16",
    "TrainingMemoryModel": "workload=Llama3_8B hardware=H100 b8 seq2048 bf16",
    "DistributedModel": "workload=Llama3_8B fleet=Research_256 b512 seq2048 bf16",
    "SustainabilityModel": "fleet=Research_256 days30 grid=Quebec",
    "EconomicsModel": "fleet=Research_256 days30 grid=Quebec",
    "NetworkRooflineModel": "workload=Llama3_8B fleet=Research_256 b1024 bf16",
    "EfficiencyModel": "workload=Llama3_8B hardware=H100 workload_type=attention bf16",
    "ContinuousBatchingModel":
        "workload=Llama3_8B hardware=H100 max_seq_len=8192 mean_request_tokens=2048 max_batch_size=256 bf16",
    "InFlightBatchingModel":
        "workload=Llama3_8B hardware=H100 seq1024 out256 arrival_rate=8request/s engine=vllm"
        " target_ttft=200ms bf16",
    "TailLatencyModel": "arrival_rate=300request/s service_latency=10ms num_replicas=4",
    "ServingCapacityModel":
        "workload=Llama3_8B hardware=H100 arrival_rate=20request/s target_p99_latency=20s max_seq_len=1024"
        " bf16",
    "DataModel":
        "data_rate=20GB/s hardware=H100 fleet=Research_256 dataset_size=40TB cache_capacity=10TB"
        " shared_bandwidth=100GB/s",
    "TransformationModel":
        "b256 sample_size=500kB cpu_throughput=0.5GB/s workers=16 accelerator_step_time=100ms",
    "TopologyModel": "fabric=InfiniBand_NDR topology=torus_3d num_nodes=512",
    "ScalingModel": "compute_budget=1e23FLOP served_tokens=2Ttoken",
    "ReliabilityModel": "fleet=Frontier_8K job_duration=100h spare_nodes=8",
    "OrchestrationModel":
        "fleet=Research_256 arrival_rate_jobs_per_day=12 avg_job_duration=2d accelerators_per_job=8",
    "CheckpointModel": "workload=GPT3 hardware=H100 fleet=Research_256 asynchronous=true bf16",
    "InferencePassModel": "workload=DLRM hardware=H200 b2048 fp16",
    "WeightStreamingModel": "workload=Llama3_8B hardware=Cerebras_CS3 seq512 b64 fp16",
    "InferenceScalingModel": "workload=Llama3_8B hardware=H100 reasoning_steps=16 bf16",
    "CompressionModel": "workload=Llama3_8B hardware=H100 target_bitwidth=4 b8",
    "MoERoutingModel": "workload=Mixtral_8x7B b8 seq512 ep8 fleet=Research_256",
    "ResponsibleEngineeringModel": "base_training_time=10h epsilon=1",
    "SynthesisSolver": "workload=Llama3_8B target_latency=10ms bf16",
    "ParallelismOptimizer": "workload=Llama3_8B fleet=Lab_64_H100 b128 bf16 max_tp=8 max_pp=2",
    "BatchingOptimizer":
        "workload=Llama3_8B hardware=H100 arrival_rate=5request/s target_latency=10s seq512 out128"
        " num_replicas=4 service_time_cv=0.1 bf16",
    "PlacementOptimizer": "fleet=Research_256 days30",
    "CompressionOptimizer": "workload=Llama3_8B hardware=H100 size_limit=9GB",
    "SensitivitySolver": "workload=Llama3_8B hardware=H100 b32",
}

CHANGES = {
    "SingleNodeModel": """
        {operator,textbook} b{1,256}
        fp32
        int8
        efficiency=0.3 {operator,textbook}
        hardware={H100,T4,Coral,STM32H7A3ZI} -precision
        workload={MobileNetV2,BERT_Large,ViT_B_16}
        workload=Llama3_8B hardware=H100 b4 {operator,textbook}
        workload=Llama3_8B hardware=H100 b4 is_training=true zero{0,2,3} dp8 \
            recomputation={none,selective,full}
        workload=Llama3_8B hardware=H100 b4 is_training=true {operator,textbook} optimizer={sgd,adamw}
        workload=DLRM textbook
        workload=Llama2_70B hardware=T4
        conventions.memory_reserve=8GiB
        {fp8,b0,-workload,seq0,zero5,batchsize=3}
        """,
    "ServingModel": """
        {operator,textbook} b{1,32}
        workload=Llama3_70B tp{1,4,8} {operator,textbook}
        workload=Llama3_70B tp4 pp2 b16
        workload=Mixtral_8x7B tp{1,2} ep4 b16
        workload=DeepSeek_V3 hardware=H200 fp8 tp8 b16 {operator,textbook}
        decode_hardware={A100,H200,L4} {operator,textbook}
        decode_hardware=A100 network_bandwidth={1GB/s,400GB/s}
        workload=Llama3_70B tp8 decode_hardware=H200 b16
        draft_model=Llama3_2_1B draft_tokens={1,4,16} {operator,textbook}
        draft_model=Llama3_2_1B draft_acceptance_rate={0,1} decode_hardware=A100
        cached_prefix_len={512,2048} prefill_chunk_tokens=512
        kv_precision={fp8,int4} b64
        workload=Llama3_70B fleet=Lab_64_H100 tp16 b16
        workload=Llama3_405B
        workload=Llama3_405B decode_hardware=A100
        {workload=ResNet50,tp3,tp64,network_bandwidth=50,decode_hardware=Nothing,cached_prefix_len=4096}
        """,
    "TrainingMemoryModel": """
        {operator,textbook} zero{0,1,2,3} dp8
        tp{2,8} sequence_parallel={true,false}
        pp4 v{1,2} schedule={1f1b,gpipe,zero_bubble}
        cp4 {operator,textbook}
        workload=Mixtral_8x7B ep8 dp8 zero1
        recomputation={none,full,norm,activation,pointwise,feed_forward,attention,per_operator}
        recomputation=full recomputed_share=0.5
        {fp8,gradient_precision=fp32,optimizer=sgd,trainable_fraction=0.01,dropout=true,kernel_fusion=false}
        attention_kernel={unfused,flash1} recomputation=none
        {offload_weights=0.5,offload_activations=1,offload_states=1} dp8 zero3
        shard_size=4 dp16 zero3
        acc4
        workload=ResNet50 hardware=A100 fp16 b{32,256} {operator,textbook}
        {workload=GPT4,v40,shard_size=3,tp64,optimizer=lion}
        """,
    "DistributedModel": """
        {operator,textbook} zero{0,1,3}
        {tp8,pp4,cp2,tp4 pp4,tp4 pp2 cp2} {operator,textbook}
        tp8 tp_overlap=0.7
        pp8 v{2,4} {mbs1,mbc16} schedule={1f1b,zero_bubble}
        fleet={Lab_64_H100,Training_1K_A100,Meta_RSC2} b2048 zero2
        workload=Mixtral_8x7B ep8 tp2 {operator,textbook}
        recomputation={none,full} zero3
        {offload_states=1,offload_activations=0.5} zero3
        overlap_efficiency={0,1} {operator,textbook}
        {congestion_factor=3,straggler_factor=1.5,efficiency=0.3} zero3
        {acc2,backward_prefetch=false,overlap_slowdown=0.4} zero3
        workload=Llama3_405B {operator,textbook}
        workload=ResNet50 b4096 fp16
        {tp3,ep2,b100,cp512,mbs3,fleet=H100,fleet=None}
        """,
    "SustainabilityModel": """
        days{1,365}
        mfu={0.1,0.5,1}
        utilization={0,0.5,1}
        embodied_carbon_per_device=164kgCO2e amortization_years={1,5}
        -grid
        -grid datacenter={Quebec_Hydro,Norway_Hydro,US_Hyperscale,Iowa_Reference,Poland_Coal}
        -grid datacenter={China_Avg_Facility,India_Avg_Facility}
        datacenter=Poland_Coal
        grid={China_Avg,EU_Avg,France,Germany,Iceland,India_Avg,Iowa,Norway,Poland}
        grid={Texas_2023,US_Avg,World,Japan,Sweden,Taiwan}
        fleet={Mega_100K,Meta_RSC1,Kempner_H100_384}
        conventions.pue=1.4 conventions.wue=3L/kWh
        {days0,mfu=2,utilization=-1,-fleet}
        """,
    "EconomicsModel": """
        days{1,365,3650}
        kwh_price={0USD/kWh,0.05USD/kWh,0.4USD/kWh}
        mfu={0.1,0.6}
        utilization={0,1}
        unit_cost={0USD,40000USD}
        amortization_years={1,7}
        infrastructure_multiplier={1.5,3}
        -grid
        -grid datacenter={Norway_Hydro,Poland_Coal}
        grid={Germany,Texas_2023,China_Avg,India_Avg,Norway,Japan}
        fleet={Mega_100K,Meta_RSC1,Kempner_H100_384}
        conventions.maintenance_share=0.1
        {days0,kwh_price=0.1,infrastructure_multiplier=0.5}
        """,
    "NetworkRooflineModel": """
        {operator,textbook} b{256,4096}
        seq{512,8192}
        efficiency={0.2,0.9} {operator,textbook}
        fleet={Lab_64_H100,Frontier_8K,Training_1K_A100,Mega_100K} b131072
        workload={Llama3_70B,Mixtral_8x7B,ResNet50}
        {fp8,fp16}
        {b0,fp4,fleet=H100}
        """,
    "EfficiencyModel": """
        workload_type={ffn,attention,conv,other} {operator,textbook}
        workload_type=attention use_flash_attention={true,false}
        workload_type=ffn b{16,256} seq512
        workload_type=ffn efficiency=0.3
        workload=ResNet50 hardware=A100 workload_type=conv fp16 b{1,64}
        hardware={A100,V100,MI300X,TPUv5p} workload_type=ffn -precision
        -workload_type
        {workload_type=norm,fp4}
        """,
    "ContinuousBatchingModel": """
        {operator,textbook} max_batch_size={1,32,1024}
        -max_batch_size
        -mean_request_tokens
        out512 mean_request_tokens=1024
        max_seq_len={2048,131072}
        page_tokens={1,16,256}
        engine={sglang,tensorrt_llm,vllm}
        {fp8,kv_precision=fp8,efficiency=0.3}
        workload=Llama3_70B tp8 {operator,textbook}
        workload=Llama3_70B
        workload=Mixtral_8x7B tp2 ep2
        hardware={A100,MI300X,L4}
        {max_seq_len=0,workload=ResNet50,tp7,mean_request_tokens=9000}
        """,
    "InFlightBatchingModel": """
        {operator,textbook}
        -arrival_rate
        -arrival_rate concurrency={1,16,256}
        arrival_rate={0.1request/s,2request/s,20request/s,100request/s}
        engine={generic,sglang,tensorrt_llm,tensorrt_llm_cpp}
        {prefill_chunk_tokens=512,cached_prefix_len=512,kv_share=0.5}
        {equal_lengths=true,max_batch_size=4,weight_bits=4}
        -arrival_rate num_requests={64,1000} max_batch_size=32
        {fp8,kv_precision=fp8,efficiency=0.3}
        draft_model=Llama3_2_1B draft_tokens=4 draft_acceptance_rate={0.6,0.9}
        prefill_replicas={1,2} decode_hardware={A100,H100} network_bandwidth=50GB/s
        prefill_replicas=2 prefill_tp_size={1,2} arrival_rate=2request/s
        acceptance_length=2.5 draft_tokens=4
        draft_model=Llama3_2_1B draft_tokens=4 draft_acceptance_decay=0.9
        workload=DeepSeek_V3 draft_model=DeepSeek_V3 hardware=H200 fp8 tp8 draft_tokens={1,3}
        target_itl=15ms -target_ttft
        target_itl=5ms target_ttft=20ms
        workload=Llama3_70B tp8 arrival_rate=2request/s
        workload=Llama3_70B arrival_rate=2request/s
        workload=Llama3_70B fleet=Lab_64_H100 tp16 arrival_rate=2request/s
        workload=Mixtral_8x7B tp2 ep2 arrival_rate=2request/s
        hardware={A100,L40S,MI300X}
        {concurrency=4,arrival_rate=8,engine=vlllm,kv_share=2,workload=ResNet50}
        """,
    "TailLatencyModel": """
        {operator,textbook} num_replicas={1,3,4,16,1000}
        service_time_cv={0,0.5,3} arrival_cv={0.5,2}
        target_latency={12ms,50ms,1s} {operator,textbook}
        arrival_rate={1request/s,399request/s,400request/s,1000request/s}
        service_latency={1ms,100ms}
        -num_replicas
        {arrival_rate=0request/s,arrival_rate=10GB/s,num_replicas=0,service_time_cv=-1,-service_latency}
        """,
    "ServingCapacityModel": """
        {operator,textbook} arrival_rate={1request/s,500request/s}
        target_p99_latency={1s,5s,60s}
        target_p99_ttft={100ms,2s} target_itl=20ms
        out{64,512} mean_request_tokens=768
        max_batch_size={1,64}
        engine={sglang,tensorrt_llm}
        workload=Llama3_70B tp8
        workload=Llama3_70B
        {fp8,efficiency=0.3,service_time_cv=0,service_time_cv=2,page_tokens=64,kv_precision=fp8}
        max_replicas={1,8} arrival_rate=200request/s
        hardware={A100,L4,B200}
        {target_p99_latency=0s,workload=BERT_Large,-arrival_rate}
        """,
    "DataModel": """
        {operator,textbook} data_rate={1GB/s,500GB/s}
        -fleet
        -cache_capacity
        -dataset_size
        -shared_bandwidth
        cache_bandwidth={1GB/s,100GB/s}
        cache_capacity={1TB,100TB}
        shared_bandwidth={1GB/s,10TB/s}
        hardware={A100,JetsonAGXOrin} -fleet
        fleet=Meta_RSC1
        {data_rate=20,data_rate=0GB/s,hardware=None}
        """,
    "TransformationModel": """
        workers={1,4,64}
        -workers
        b{1,1024}
        sample_size={10kB,5MB}
        cpu_throughput={0.05GB/s,5GB/s}
        accelerator_step_time={1ms,1s}
        overlap={0,0.5,1}
        {overlap=2,workers=0,-sample_size,sample_size=500}
        """,
    "TopologyModel": """
        topology={fat_tree,dragonfly,torus_3d,torus_2d,mesh_2d,ring} {operator,textbook}
        num_nodes={1,2,64,1000} topology=fat_tree
        num_nodes={1,2,1000}
        switch_ports={16,128} topology={fat_tree,dragonfly} num_nodes=2048
        fabric={Ethernet_100G,RoCE_400G,EFA_100G}
        -topology
        -num_nodes
        {num_nodes=0,topology=star,switch_ports=0}
        """,
    "ScalingModel": """
        {operator,textbook} compute_budget={1e18FLOP,1.2e20FLOP,1e26FLOP}
        fit={besiroglu,hoffmann}
        -served_tokens {operator,textbook}
        target_model_size={7Gparam,70Gparam} -served_tokens
        -compute_budget device_time=1000d
        target_model_size=8Gparam fit=hoffmann
        served_tokens={1Gtoken,100Ttoken}
        {-compute_budget,compute_budget=0FLOP,fit=kaplan,compute_budget=1e23}
        """,
    "ReliabilityModel": """
        {operator,textbook} job_duration={1h,1000h}
        fleet={Lab_64_H100,Meta_Llama3_16K,Mega_100K} {operator,textbook}
        checkpoint_time={1s,600s} recovery_time={60s,1h}
        checkpoint_interval={60s,10h}
        accelerator_mtbf={5000h,500000h} nic_mtbf=1000000h psu_mtbf=1000000h
        spare_nodes={0,1,100} repair_time={10min,1000min}
        -spare_nodes
        {job_duration=0h,spare_nodes=-1,job_duration=100}
        """,
    "OrchestrationModel": """
        {operator,textbook} arrival_rate_jobs_per_day={1,15.5,16,40}
        avg_job_duration={1h,30d}
        accelerators_per_job={1,64,256,512}
        duration_cv={0,0.5,3} {operator,textbook}
        -accelerators_per_job
        fleet=Frontier_8K arrival_rate_jobs_per_day=400
        {arrival_rate_jobs_per_day=0,avg_job_duration=2}
        """,
    "CheckpointModel": """
        {operator,textbook} asynchronous={true,false}
        optimizer={none,sgd,adam,adamw}
        {fp32,fp8}
        checkpoint_interval={0.1h,10h}
        writers={1,1024} writer_bandwidth={0.5GB/s,20GB/s} {-fleet,fleet_mtbf=5h}
        shared_limit={10GB/s,5TB/s}
        fleet_mtbf={1h,1000h}
        -fleet
        workload={ResNet50,Llama3_405B,DeepSeek_V3}
        {writers=0,workload=None,checkpoint_interval=1}
        """,
    "InferencePassModel": """
        b{1,65536}
        {fp32,fp8,int8}
        efficiency={0.1,1}
        workload={StableDiffusion_v1_5,DiffusionPolicy_PushT} b1 \
            {denoising_steps=10,denoising_steps=50,-efficiency}
        workload={Mamba_130M,Mamba_2_8B,DS_CNN,WakeVision,AnomalyDetector,OpenVLA_7B} b1
        hardware={A100,L4,B200}
        workload=DS_CNN hardware={STM32H7A3ZI,ESP32_S3} b1 -precision
        conventions.textbook_layer_overhead=100us
        {workload=Llama3_8B,b0,fp4,hardware=Hailo8,hardware=T4}
        """,
    "WeightStreamingModel": """
        {operator,textbook} b{1,1024}
        phase={decode,prefill}
        seq{128,2048} phase=prefill
        efficiency={0.2,1}
        injection_bandwidth={10GB/s,1TB/s}
        workload={Llama3_70B,GPT3,Mixtral_8x7B}
        hardware={H100,Groq_LPU}
        {workload=ResNet50,bf16,b0,injection_bandwidth=0GB/s}
        """,
    "InferenceScalingModel": """
        {operator,textbook} reasoning_steps={1,256}
        context_length={128,32768}
        tokens_per_step={10,500}
        samples={8,100}
        workload=Llama3_70B tp{2,8}
        device_price={1USD/h,10USD/h}
        efficiency=0.3
        fp8
        hardware={A100,MI300X,T4} -precision
        workload=Llama3_70B
        {reasoning_steps=0,workload=ResNet50,device_price=3,tp5}
        """,
    "CompressionModel": """
        {operator,textbook} target_bitwidth={2,3,4,8,16}
        weight_only={true,false} target_bitwidth=8
        group_size={32,1024}
        method=pruning sparsity={0.3,0.5,0.9} sparsity_type={unstructured,structured,n_m} -target_bitwidth
        method=distillation student_share={0.1,0.5} -target_bitwidth {operator,textbook}
        baseline_precision={fp32,fp8}
        {size_limit=4GB,max_accuracy_drop=0.01,min_speedup=3,require_hardware_support=true}
        hardware={A100,T4,RTX4090} b1 seq512
        workload={ResNet50,Llama3_70B,GPT4}
        efficiency=0.3
        {method=shrinking,target_bitwidth=0,sparsity=2}
        """,
    "MoERoutingModel": """
        {operator,textbook} ep{1,2,8}
        b{1,256} seq{1,4096}
        routing_imbalance_factor={1,1.5,3} {operator,textbook}
        -fleet
        workload={DeepSeek_V3,Qwen3_30B_A3B,GPT_OSS_120B} ep{1,8}
        workload=DeepSeek_V3 ep64 b64
        {fp8,bf16}
        fleet=Training_1K_A100
        {workload=Llama3_8B,ep3,ep512,routing_imbalance_factor=0.5}
        """,
    "ResponsibleEngineeringModel": """
        {operator,textbook} epsilon={0.1,3,10}
        delta={1e-5,1e-9}
        min_subgroup_prevalence={0.001,0.3} error_rate=0.1 detectable_gap={0.01,0.05}
        method={ghost,microbatch} microbatch={1,8} device_batch=64
        sampling_rate=0.01 steps={1000,100000} delta=1e-6
        workload=Llama3_8B hardware=H100 bf16 seq1024 device_batch=8 method={ghost,microbatch}
        {epsilon=0,base_training_time=10,sampling_rate=2,min_subgroup_prevalence=0}
        """,
    "SynthesisSolver": """
        {operator,textbook} target_latency={1ms,5ms,100ms}
        b{1,64} {operator,textbook}
        seq{128,32768}
        {fp8,int4,efficiency=0.5,efficiency=1}
        workload={Llama3_70B,Mixtral_8x7B,ResNet50,BERT_Large}
        target_latency=0.1ms
        {target_latency=0ms,target_latency=10,workload=None,-target_latency}
        """,
    "ParallelismOptimizer": """
        {operator,textbook}
        workload=Mixtral_8x7B ep8
        workload=Llama3_70B b64 {operator,textbook}
        workload=Llama3_405B
        max_tp=4 max_pp=4 max_cp=2
        max_zero_stage={0,1,3} max_v_stages=2
        recomputation={none,full,selective}
        overlap_efficiency=0.5 tp_overlap=0
        optimizer=sgd
        seq{1024,16384}
        efficiency=0.3
        fleet=Training_1K_A100 b1024
        {max_tp=0,b0,ep2,fleet=H100}
        """,
    "BatchingOptimizer": """
        {operator,textbook} arrival_rate={0.5request/s,50request/s,500request/s}
        target_latency={1s,3s,60s}
        num_replicas={1,16}
        service_time_cv={0,1,2}
        seq{128,4096} out{16,512}
        workload=Llama3_70B tp8
        workload=Llama3_70B
        {fp8,efficiency=0.3,max_search_batch=4,max_search_batch=512}
        hardware={A100,L4}
        {target_latency=10,arrival_rate=0request/s,workload=ResNet50}
        """,
    "PlacementOptimizer": """
        {operator,textbook} days{1,365}
        regions={Quebec,Quebec%Poland%Texas_2023,Iowa%Norway}
        carbon_price={0USD/tCO2e,50USD/tCO2e,1000USD/tCO2e} {operator,textbook}
        mfu={0.1,0.6}
        utilization={0.2,1}
        fleet={Lab_64_H100,Meta_RSC1,Kempner_H100_384}
        {regions=Atlantis,days0,carbon_price=5}
        """,
    "CompressionOptimizer": """
        {operator,textbook} size_limit={5GB,1GB}
        -size_limit
        max_accuracy_drop={0.001,0.01} min_speedup={1.2,3}
        require_hardware_support=true
        baseline_precision={fp32,bf16}
        b{1,64} seq512
        workload={Llama3_70B,ResNet50}
        hardware={A100,RTX4090}
        {size_limit=9,max_accuracy_drop=2,workload=None}
        """,
    "SensitivitySolver": """
        {operator,textbook} b{1,256}
        mode={infer,serve,train}
        workload=Llama3_70B accelerators=8 {operator,textbook}
        perturbation={0.01,0.5}
        workload={ResNet50,BERT_Large,Mixtral_8x7B}
        hardware={A100,T4,MI300X} -precision
        seq{128,32768}
        efficiency=0.3
        {perturbation=0,perturbation=1,workload=GPT4}
        """,
}


def changed(example, change):
    """The words of an example with those of a change: a key of both is replaced, '-key' leaves it out."""
    words = change.split()
    gone = {word[1:] for word in words if word.startswith("-")}
    added = [word for word in words if not word.startswith("-")]
    gone |= set(options(added))
    return [word for word in example.split() if not set(options([word])) & gone] + added


def asks():
    for name, example in EXAMPLES.items():
        yield resolution(name, "example", example.split())
        for change, marked in marked_lines(CHANGES[name]):
            yield resolution(name, change.replace(" ", ","), changed(example, change), assumptions=marked)


def resolution(name, label, words, assumptions=True):
    def ask():
        given = arguments(words)
        # Commas divide the choices of a table, so that a list of regions is written with another sign.
        if "regions" in given:
            given["regions"] = given["regions"].replace("%", ",")
        return ResolverFactory.get(name).solve(**given)

    return Ask(f"resolver/{name}/{label}", ask, assumptions)
