"""Every law at a few points: values, and of some the slopes, the bounds over a range, and an inversion."""

from mlsysim import Q_, laws

from .lines import Ask, lines, options
from recording import Numbers

VALUES = """
Roofline work=2TFLOP traffic={16GB,160MB} peak=1000TFLOP/s bandwidth=3.2TB/s
RidgePoint peak=989TFLOP/s bandwidth={3.35TB/s,300GB/s}
AttainableRate peak=989TFLOP/s bandwidth=3.35TB/s arithmetic_intensity={1FLOP/B,295FLOP/B,5000FLOP/B}
SoftRoofline work=2TFLOP traffic={16GB,160MB,6.4GB} peak=1000TFLOP/s bandwidth=3.2TB/s
SmallKernelTime read={8kB,1GB} written={8kB,1GB} row={0B,8kB} l2_cache=50MB rows={1,4096} units=132 floor=8470 start=2600 \
    switched=1200 share=0.907 cached=0.6 bandwidth=3.35TB/s clock=1.98GHz
RecurrenceTime launches=8 rows=64 chunks={1,512} blocks={8,264} units=132 work=50GFLOP aside=80MB in_order=40MB states=4MB peak=500TFLOP/s \
    bandwidth=2.4TB/s launch=2.4us row=0.2us step=1.6us
ConvolutionTime m={12544,802816} n=64 k={147,576} groups=1 tile_m=128 tile_n=64 group_n=8 depth_step=32 units=132 floor=7700 \
    wave=3600 split=30000 split_depth=700 rate=350TFLOP/s traffic=10MB bandwidth=3TB/s clock=1.98GHz
MatmulWork m={1,4096} n=4096 k=14336 count={1,8} a_bytes=2B b_bytes={2B,1B} c_bytes=2B
TileWave m={1,64,4096} n=4096 count=1 tile_m=64 tile_n=64 units={1,132}
BurstRate work={1GFLOP,1PFLOP} peak=700TFLOP/s burst={0,0.22} burst_time=58ms
MatmulTime m={1,128,8192} n=4096 k={4096,14336} count=1 traffic=134MB tile_m=64 tile_n=64 units=132 \
    split_depth=64 peak=700TFLOP/s bandwidth=2.9TB/s launch=2.6us wave=0.13us split=3.4us
AttentionWork batch={1,16} heads=32 kv_heads=8 qk_dim=128 v_dim=128 new_tokens={1,2048} past_tokens={0,2048} \
    causal={0,1} io_bytes=2B kv_bytes=2B
WindowedAttentionPairs new_tokens={1,4096} past_tokens={0,100} window={1,512,100000}
AttentionTime copies={8,512} group=4 new_tokens={1,2048} keys=2048 reach=2048 pair_work=512FLOP \
    pair_softmax=0.01ns traffic=16MB tile=128 units=132 peak=700TFLOP/s bandwidth=2.9TB/s launch=6.9us \
    block=3.1us block_rows=1.3us split=6.3us
KvBytesPerToken layers=80 kv_heads={8,64} head_dim=128 element_bytes={2B,0.5B}
KvCache layers=80 kv_heads=8 head_dim=128 element_bytes=2B seq_len={1,8192} batch_size={1,64}
MlaKvCache layers=61 kv_lora_rank=512 rope_head_dim=64 element_bytes=2B seq_len={1,8192} batch_size=16
PagedKv kv_per_token=320kB/token seq_len={1,16,2049} batch_size=8 page_tokens={1,16}
PointToPoint message={0MB,1MB,1GB} bandwidth=50GB/s alpha=5us
RingAllGather message={1MB,1GB} ranks={1,8} bandwidth=450GB/s alpha=0.5us
RingReduceScatter message={1MB,1GB} ranks={1,8} bandwidth=450GB/s alpha=0.5us
RingAllReduce message={1MB,1GB} ranks={1,2,64} bandwidth=450GB/s alpha=5us
TreeAllReduce message={1MB,1GB} ranks={1,2,64} bandwidth=50GB/s alpha=5us
DoubleBinaryTreeAllReduce message={1MB,1GB} ranks={1,64} bandwidth=50GB/s alpha=5us
DoubleBinaryTreeAllReduce message=1GB ranks=64 bandwidth=50GB/s alpha=5us latency_factor=1 \
    bandwidth_factor=1.2
AllToAll message={1MB,1GB} ranks={1,8,64} bandwidth=50GB/s alpha=5us
HierarchicalAllReduce message={1MB,16GB} ranks_per_node=8 nodes={1,32} bandwidth_intra=450GB/s \
    bandwidth_inter=50GB/s alpha_intra=0.5us alpha_inter=5us
BusBandwidth message=1GB ranks=8 passes={1,2} time=5ms
ProtocolRing message={8kB,1GB} ranks={2,8} passes={1,2} bandwidth=450GB/s launch=5.25us hop=0.78us \
    sync=16.6us low_latency_share=0.28 share=0.74 copy_ratio=2.6
SwitchAllReduce message={8kB,1GB} ranks=8 bandwidth=450GB/s start=68us share={0,0.9}
DirectAllReduce message={8kB,1GB} ranks={2,8} bandwidth=450GB/s start=4.3us hop=0.07us second=3.5us share=0.6
ProtocolAllToAll message={8kB,1GB} ranks=8 bandwidth=450GB/s launch=5.25us hop=0.78us sync=16.6us \
    pair_share=0.0129 share=0.74 copy_ratio=2.6
BubbleOverhead pp_size={1,8} microbatch_count={1,32} v_stages={1,4}
BubbleFraction pp_size={1,8} microbatch_count={1,32} v_stages={1,4}
TransformerActivations seq_len=4096 batch_size={1,8} hidden=8192 heads=64 element_bytes=2B tp_size={1,8} \
    sequence_parallel={0,1}
TrainingStateBytes params=8Gparam weight_bytes=2B/param gradient_bytes=2B/param optimizer_bytes=12B/param \
    dp_size={1,64} zero_stage={0,1,2,3}
MixedPrecisionAdam params={8Gparam,0Gparam}
TrainingWork params=70Gparam tokens=15000Gtoken
DecodeWork params=70Gparam tokens=1Gtoken
ChinchillaOptimal work={1ZFLOP,1000ZFLOP}
ChinchillaOptimal work=100ZFLOP tokens_per_param=100token/param
TrainingTime work=38000ZFLOP devices={1,16384} peak=989TFLOP/s mfu=0.4
ModelFlopsUtilisation work=50PFLOP devices=64 peak=989TFLOP/s time={1s,2s}
HardwareFlopsUtilisation work=50PFLOP recomputed={0GFLOP,16PFLOP} devices=64 peak=989TFLOP/s time=2s
ExpectedAcceptedTokens draft_acceptance_rate={0,0.7,1} draft_tokens={0,1,4}
DecayingAcceptance draft_acceptance_rate={0,0.84,1} draft_acceptance_decay={0.5,0.94,1} draft_tokens={0,1,5}
SpeculativeTokenTime draft_time=1ms verify_time=10ms draft_acceptance_rate={0,0.7,1} draft_tokens={1,4}
EnergyProportional tdp=700W utilization={0,0.4,1} time=1h
EnergyProportional tdp=700W utilization=0.4 time=1h idle_fraction=0
ClosPower ports={1,64,65,2048,2049,100000} radix={32,64} port_power=27W
OperatorLoad work=2TFLOP traffic=16GB peak=989TFLOP/s bandwidth=3350GB/s
OperatorLoad work=2TFLOP traffic=16GB peak=989TFLOP/s bandwidth=3350GB/s traffic_draw=0 resident=5ms resident_draw=0.7
EnergyPerOperation work=2TFLOP traffic=16GB energy_per_work=0.5pJ/FLOP energy_per_data=30pJ/B \
    static_power=100W time=5ms
FacilityEnergy energy=1000kWh pue={1,1.5}
OperationalCarbon facility_energy=1000kWh carbon_intensity={20gCO2e/kWh,700gCO2e/kWh}
EmbodiedCarbon device_carbon=164kgCO2e devices={0,8} used_time=30d lifetime=3yr
CarbonFootprint energy=1000kWh pue=1.1 carbon_intensity=429gCO2e/kWh device_carbon=164kgCO2e devices=8 \
    used_time=30d lifetime=3yr
WaterUse energy=1000kWh wue={0L/kWh,1.8L/kWh}
CapitalCost unit_cost=30000USD devices=8 used_time={30d,1000d} lifetime=3yr infrastructure={1,1.8}
EnergyCost facility_energy=1000kWh energy_price={0USD/kWh,0.12USD/kWh}
MaintenanceCost purchase=240000USD used_time=365d annual_maintenance={0,0.05}
TotalCost unit_cost=30000USD devices=8 used_time=30d lifetime=3yr facility_energy=1000kWh \
    energy_price=0.12USD/kWh infrastructure={1,1.8}
CostPerToken cost_rate=20USD/h token_throughput=5000token/s utilization={1,0.3}
ClusterMtbf part_mtbf=50000h parts={1,8192}
FailureProbability time={1h,1000h} mtbf=100h
YoungInterval checkpoint_time={0s,60s} mtbf=6h
CheckpointGoodput interval={60s,3600s} checkpoint_time=30s restart_time=300s mtbf={1h,100h}
TextbookPass work=16GFLOP weights=16GB batch_size={1,512} efficiency=0.5 activation_share=0.1 layers=32 \
    passes={1,3} peak=989TFLOP/s bandwidth=3.35TB/s layer_overhead=10us dispatch=10us
TextbookPrefillWork params=8Gparam layers=32 width=4096 new_tokens={1,2048} context=2048 batch_size={1,8}
TextbookDecode weights=16GB kv_cache={0GB,8GB} bandwidth=3.35TB/s layer_overhead=10us layers=32
ErlangC servers={1,4,64} load={0.5,3,60,100}
QueueWait servers={1,8} utilization={0.1,0.95} service_time=10ms arrival_cv={0.5,1} service_cv={0,2}
WaitQuantile wait_probability={0.005,0.5} wait_given=10ms quantile={0.5,0.99}
ResponseTail time={1ms,20ms,200ms} wait_probability=0.5 wait_given=10ms service_time=10ms service_cv={0,1,2}
ChinchillaLoss params={1Gparam,70Gparam} tokens=1400Gtoken irreducible=1.69 params_coefficient=406.4 \
    tokens_coefficient=410.7 params_exponent=0.34 tokens_exponent=0.28
ChinchillaAllocation work={1ZFLOP,1000ZFLOP} params_coefficient=482 tokens_coefficient=2085 \
    params_exponent=0.3478 tokens_exponent=0.3658
LifetimeWork params=8Gparam tokens=15000Gtoken served_tokens={0Gtoken,2000Gtoken}
PagedTokens scale={10,500} page_tokens={1,16} max_tokens={100,8192}
BatchedDecodeRate batch_size={1,64} weights=16GB kv_per_request=268MB bandwidth=3.35TB/s
InFlightStep decode_step_time=10ms added={0ms,30ms} prompts_per_step={0,0.3}
PassUnderWay step=10ms fixed={0ms,8ms} prompt=40ms load={0,0.5,0.9} mean_pass=20ms variation={0.5,1}
InFlightFirstToken around=12ms own_pass=40ms prompt=30ms crowd={0,1.5} busy={0.4,1} late=1ms
PromptQueue pass_time=300ms together={1,16} share={0,0.5,0.9}
TokenTimeSpread itl={25ms,40ms} decode_step_time=25ms by_requests={0ms,8ms} prompts_per_step=0.025 steps=655 running=17 variation={1,1.5}
TokenTimeQuantile mean=40ms deviation={0ms,6ms} z={1.2815515655446004,2.3263478740408408}
BurstFirstToken prompt={0ms,30ms} requests={1,64} together={1,8}
WeightStreamLayer layer_weights=0.4GB bandwidth=100GB/s work_per_sample=400GFLOP batch_size={1,1024} \
    peak=12500TFLOP/s efficiency=0.5 dispatch=10us
ClosBisection bandwidth=50GB/s nodes={1,7,512} oversubscription={1,4}
TorusBisection bandwidth=50GB/s nodes={64,512} dimensions={1,2,3} rows_cut={1,2}
DragonflyBisection bandwidth=50GB/s nodes={2,512}
CachedSupply cache_bandwidth=25GB/s remote_bandwidth=3GB/s host_bandwidth=60GB/s hit_ratio={0,0.25,1}
InputStall batch_size=256 sample_size=500kB worker_rate=0.5GB/s workers={1,16} step=100ms overlap={0,1}
CompressedWeights params=8Gparam bits={4,16} sparsity={0,0.5} index_bits=2 scale_bits=16 group=128
FlightLimitedRate bandwidth=50GB/s in_flight={0MB,4MB} latency={0us,5us,10ms}
ExpertLoad experts={8,256} top_k={2,8} tokens={1,4096}
DistinctParts experts=256 top_k={1,8} groups=8 limited_groups={4,8} parts={1,4,64}
TouchedExperts experts={8,256} top_k={2,8} tokens={1,64,4096} spread={0,0.5,1.0}
FullestRank experts={8,256} top_k={2,8} tokens={1,4096} ranks={1,8,64}
NodeMtbf accelerators=8 accelerator_mtbf=50000h nics=8 nic_mtbf=150000h psus=6 psu_mtbf=100000h \
    other_rate=1e-8Hz
DalyInterval checkpoint_time={0s,60s,20000s} mtbf=6h
FirstOrderGoodput interval={60s,3600s} checkpoint_time=30s restart_time=300s mtbf=6h lost_share={0.5,1}
SpareCoverage nodes={32,1024} node_mtbf=6000h repair_time=20h spares={0,4,16}
CheckpointCost size=2.4TB writers={8,256} writer_bandwidth=2GB/s shared_limit=100GB/s snapshot=5s \
    interval=3600s asynchronous={0,1}
RequiredRates work=16GFLOP traffic=15GB time=10ms efficiency=0.5 memory_share={0.85,1}
DataParallelRoofline params=8Gparam tokens=8ktoken element_bytes=2B devices={1,256} peak=989TFLOP/s \
    efficiency=0.5 bandwidth=50GB/s
GaussianPrivacy sampling_rate={0.001,0.01} steps={1000,100000} noise_multiplier={0.6,1.1}
"""

# One point of each of these laws: the slopes at it, and the bounds around it.
SLOPES = """
Roofline work=2TFLOP traffic=16GB peak=1000TFLOP/s bandwidth=3.2TB/s
SoftRoofline work=2TFLOP traffic=6.4GB peak=1000TFLOP/s bandwidth=3.2TB/s
MatmulTime m=128 n=4096 k=4096 count=1 traffic=134MB tile_m=64 tile_n=64 units=132 split_depth=64 \
    peak=700TFLOP/s bandwidth=2.9TB/s launch=2.6us wave=0.13us split=3.4us
AttentionTime copies=512 group=4 new_tokens=2048 keys=2048 reach=2048 pair_work=512FLOP pair_softmax=0.01ns \
    traffic=16MB tile=128 units=132 peak=700TFLOP/s bandwidth=2.9TB/s launch=6.9us block=3.1us \
    block_rows=1.3us split=6.3us
RingAllReduce message=1GB ranks=64 bandwidth=450GB/s alpha=5us
ProtocolRing message=1GB ranks=8 passes=2 bandwidth=450GB/s launch=5.25us hop=0.78us sync=16.6us \
    low_latency_share=0.28 share=0.74 copy_ratio=2.6
HierarchicalAllReduce message=16GB ranks_per_node=8 nodes=32 bandwidth_intra=450GB/s bandwidth_inter=50GB/s \
    alpha_intra=0.5us alpha_inter=5us
TransformerActivations seq_len=4096 batch_size=1 hidden=8192 heads=64 element_bytes=2B tp_size=8
TrainingStateBytes params=8Gparam weight_bytes=2B/param gradient_bytes=2B/param optimizer_bytes=12B/param \
    dp_size=64 zero_stage=1
SpeculativeTokenTime draft_time=1ms verify_time=10ms draft_acceptance_rate=0.7 draft_tokens=4
TotalCost unit_cost=30000USD devices=8 used_time=30d lifetime=3yr facility_energy=1000kWh \
    energy_price=0.12USD/kWh
CheckpointGoodput interval=3600s checkpoint_time=30s restart_time=300s mtbf=6h
TextbookPass work=16GFLOP weights=16GB efficiency=0.5 activation_share=0.1 layers=32 peak=989TFLOP/s \
    bandwidth=3.35TB/s layer_overhead=10us dispatch=10us
QueueWait servers=8 utilization=0.8 service_time=10ms
ChinchillaLoss params=70Gparam tokens=1400Gtoken irreducible=1.69 params_coefficient=406.4 \
    tokens_coefficient=410.7 params_exponent=0.34 tokens_exponent=0.28
"""

# (law, free input, result, value): which input gives the result.
INVERSIONS = (
    ("Roofline", "bandwidth", "time", "10ms", "work=2TFLOP traffic=16GB peak=1000TFLOP/s"),
    ("RingAllReduce", "bandwidth", "time", "4ms", "message=1GB ranks=8 alpha=5us"),
    ("RingAllReduce", "bandwidth", "time", "1us", "message=1GB ranks=8 alpha=5us"),
    ("TextbookDecode", "bandwidth", "itl", "10ms", "weights=16GB kv_cache=8GB layer_overhead=10us layers=32"),
    ("ClusterMtbf", "parts", "mtbf", "5h", "part_mtbf=50000h"),
    ("TrainingTime", "devices", "time", "30d", "work=38000ZFLOP peak=989TFLOP/s mfu=0.4"),
    ("CostPerToken", "token_throughput", "cost_per_token", "1USD/Mtoken", "cost_rate=20USD/h"),
)


def value(name, words):
    return Ask(f"law/{name}/{','.join(words)}", lambda: getattr(laws, name).solve(**options(words)))


def slopes(name, words):
    def ask():
        out = {}
        for (result, by), slope in getattr(laws, name).gradient(**options(words)).items():
            parts = ("kind", "right", "left", "elasticity")
            out[f"{result}.{by}"] = {part: getattr(slope, part) for part in parts}
        return Numbers(out)

    return Ask(f"law/{name}/slopes", ask)


def bounds(name, words):
    """The first input that has a unit may be half or twice as large."""

    def ask():
        given = options(words)
        free = next(key for key, here in given.items() if isinstance(here, str))
        given[free] = (Q_(given[free]) * 0.5, Q_(given[free]) * 2)
        ranges = getattr(laws, name).bounds(**given)
        return Numbers({result: {"low": low, "high": high} for result, (low, high) in ranges.items()})

    return Ask(f"law/{name}/bounds", ask)


def inversion(name, free, result, target, words):
    def ask():
        found = getattr(laws, name).invert(free, result, equals=target, **options(words.split()))
        out = {"outcome": found.outcome, "reachable": list(found.reachable)}
        out["solutions"] = [list(pair) for pair in found.solutions]
        return Numbers(out)

    return Ask(f"law/{name}/invert,{free},{result}={target}", ask)


def asks():
    for line in lines(VALUES):
        name, *words = line.split()
        yield value(name, words)
    for line in lines(SLOPES):
        name, *words = line.split()
        yield slopes(name, words)
        yield bounds(name, words)
    for row in INVERSIONS:
        yield inversion(*row)
