#pragma once
// Entries of the shipped zoo by their names.

#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <string_view>

inline const mlsysim::Workload& model(std::string_view name) {
  return mlsysim::standard_zoo().at<mlsysim::Workload>(name);
}
inline const mlsysim::HardwareNode& device(std::string_view name) {
  return mlsysim::standard_zoo().at<mlsysim::HardwareNode>(name);
}
