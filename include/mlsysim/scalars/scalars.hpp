#pragma once
/// All scalars of laws and the whole overload set.

#include <mlsysim/scalars/batch.hpp>
#include <mlsysim/scalars/dual.hpp>
#include <mlsysim/scalars/interval.hpp>
#include <mlsysim/scalars/loops.hpp>
#include <mlsysim/scalars/traced.hpp>
