# The libraries of a build folder for another one: with MLSYSIM_CORE the bindings for one more CPython are compiled against
# libraries that are there, and no source of the library is compiled again.

set(core_file core/mlsysim-core.cmake)
if(NOT MLSYSIM_CORE)
  get_property(core_targets GLOBAL PROPERTY MLSYSIM_PARTS)
  list(APPEND core_targets mlsysim)
  if(TARGET mlsysim_program)
    set_target_properties(mlsysim_program PROPERTIES EXPORT_NAME program)
    list(APPEND core_targets mlsysim_program)
  endif()
  export(TARGETS ${core_targets} NAMESPACE mlsysim:: FILE ${PROJECT_BINARY_DIR}/${core_file})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/core/source.txt CONTENT "${PROJECT_SOURCE_DIR}\n" @ONLY)
  return()
endif()

if(NOT EXISTS ${MLSYSIM_CORE}/${core_file})
  message(FATAL_ERROR "MLSYSIM_CORE is ${MLSYSIM_CORE}, which is no build folder of mlsysim.\n"
    "Make one: cmake -S ${PROJECT_SOURCE_DIR} -B ${MLSYSIM_CORE} -G Ninja && cmake --build ${MLSYSIM_CORE}")
endif()
file(STRINGS ${MLSYSIM_CORE}/core/source.txt core_source)
if(NOT core_source STREQUAL PROJECT_SOURCE_DIR)
  message(FATAL_ERROR "MLSYSIM_CORE was built from ${core_source}, and not from ${PROJECT_SOURCE_DIR}.")
endif()
include(${MLSYSIM_CORE}/${core_file})
if(TARGET mlsysim::program)
  add_library(mlsysim_program ALIAS mlsysim::program)
endif()
set(MLSYSIM_ZOO_BUILD ${MLSYSIM_CORE}/share/mlsysim/zoo)
add_custom_target(mlsysim_zoo_files)  # it is there already
