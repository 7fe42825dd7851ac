#pragma once
/// Everything a user needs, in one include. Inside the library, name the header you mean.

#include <mlsysim/catalogue/models/distributed.hpp>
#include <mlsysim/catalogue/models/economics.hpp>
#include <mlsysim/catalogue/models/serving.hpp>
#include <mlsysim/catalogue/models/single_node.hpp>
#include <mlsysim/catalogue/models/sustainability.hpp>
#include <mlsysim/catalogue/models/training_memory.hpp>
#include <mlsysim/engine/engine.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/explain.hpp>
#include <mlsysim/pipeline/builder.hpp>
#include <mlsysim/pipeline/pipeline.hpp>
#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/resolve/contract.hpp>
#include <mlsysim/resolve/evaluate.hpp>
#include <mlsysim/resolve/registry.hpp>
#include <mlsysim/spec/zoo.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>
