"""The zoo by name."""

import pytest

import mlsysim
from mlsysim import Hardware, HardwareNode, Infrastructure, LookupError, Models, Q_, Systems


def test_nested_flat_and_by_key_are_one_object():
    assert Hardware.Cloud.H100 is Hardware.H100 is Hardware["H100"]
    assert Models.Language.Llama3_8B is Models.Llama3_8B
    assert Systems.Clusters.Frontier_8K.total_accelerators == 8192
    assert Systems.Nodes.DGX_H100.accelerator is Hardware.Cloud.H100
    assert Systems.Fabrics.InfiniBand_NDR.name == "InfiniBand_NDR"
    assert Infrastructure.Grids.Quebec.carbon_intensity == Q_("20 gCO2e/kWh")
    assert Infrastructure.Datacenters.Quebec_Hydro.grid is not None


def test_aliases_lead_to_the_entry():
    assert Hardware.V100_32GB is Hardware.V100 and "V100_32GB" in Hardware
    assert "V100_32GB" not in Hardware.names()


def test_lists():
    everything = Hardware.list()
    assert len(everything) >= 40 and all(isinstance(h, HardwareNode) for h in everything)
    assert [h.name for h in everything] == sorted(h.name for h in everything)
    assert set(Hardware.Cloud.list()) <= set(everything) and len(Hardware.Cloud) < len(Hardware)
    assert len({h.name for h in everything}) == len(everything)


def test_lists_sorted_by_a_figure():
    fastest = Hardware.list(sort_by="memory.bandwidth", reverse=True)
    known = [h.memory.bandwidth for h in fastest if h.memory.bandwidth is not None]
    assert known == sorted(known, reverse=True) and len(known) > 40
    assert all(h.memory.bandwidth is None for h in fastest[len(known):])
    with pytest.raises(LookupError, match="memory"):
        Hardware.list(sort_by="memmory.bandwidth")


def test_near_misses():
    with pytest.raises(AttributeError, match="H100"):
        Hardware.Cloud.H1000
    with pytest.raises(LookupError, match="Llama3_8B"):
        Models["Llama3-8B"]
    assert not hasattr(Hardware, "Nonsense")


def test_completion():
    assert {"Cloud", "H100", "list"} <= set(dir(Hardware)) and "Llama3_8B" in dir(Models)


def test_read_only():
    with pytest.raises(AttributeError):
        Hardware.Mine = 3


def test_figures_of_prices():
    price = Infrastructure.Pricing["cloud.electricity"]
    assert price.value.check("USD/kWh") and Infrastructure.Pricing.cloud.electricity is price
    assert Infrastructure.Pricing.Cloud.electricity is price


def test_provenance_of_a_figure():
    said = Hardware.H100.provenance("memory.bandwidth")
    assert said.kind == "datasheet" and said.authored == "3.35 TB/s" and said.citation
    assert "H100.memory.bandwidth" in str(said)
    assert Hardware.H100.provenance("tdp").figure == "power.tdp"
    with pytest.raises(LookupError, match="memory.bandwidth"):
        Hardware.H100.provenance("memory.bandwith")
    assert HardwareNode(name="X").provenance() is None


def test_own_files(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "schema: mlsysim/hardware@1\n"
        "entries:\n"
        "- name: MyChip\n"
        "  title: My chip\n"
        "  source: {kind: illustrative, ref: nvidia-a100-datasheet, recorded: 2026-11-21, note: Made up.}\n"
        "  category: cloud\n"
        "  compute: {dense: {fp16: 50 TFLOP/s}, default_precision: fp16}\n"
        "  memory: {capacity: 16 GB, bandwidth: 500 GB/s}\n")
    chip = mlsysim.zoo.load(file)["MyChip"]
    assert chip.compute.peak_flops == Q_("50 TFLOP/s") and chip.title == "My chip"
    profile = mlsysim.Engine.solve(mlsysim.Models.Llama3_8B, chip)
    assert not profile.feasible
    with pytest.raises(mlsysim.ErrorList) as caught:
        file.write_text("schema: mlsysim/hardware@1\nentries:\n- name: Bad\n  memory: {capacity: 16 GBs}\n")
        mlsysim.zoo.load(file)
    assert caught.value.problems and any("GBs" in p.found + p.message for p in caught.value.problems)


def test_conventions():
    own = mlsysim.zoo.conventions(idle_fraction=0.5)
    assert own.idle_fraction == 0.5 and mlsysim.zoo.conventions().idle_fraction != 0.5
