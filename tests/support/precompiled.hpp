#pragma once
// Read once for all test programs (tests/CMakeLists.txt). A test still includes what it uses.

#include <support/catch.hpp>

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/fmt.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/units/unit_registry.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>
