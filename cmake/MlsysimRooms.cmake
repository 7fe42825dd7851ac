# Rooms and parts. A room is a folder of include/mlsysim and src with one CMakeLists.txt that lists its files; a part
# is a library made of rooms:
#
#   core     units scalars table tape physics spec lowering resolve price answer   no threads, files, dlopen or clock
#   zoo      files zoo model_files programs compile telemetry traffic          yaml-cpp, protobuf inside
#   mlsysim  catalogue pipeline engine launch explore plugin report ci watch observe validation picture course
#
# The lists are collected first and the libraries made afterwards, so that a part without a source yet is an
# interface library and everything configures.
#
# Most of what a small file costs is its includes, so neighbours of a room are compiled together (MLSYSIM_UNITY).

# mlsysim_room(<room> PART <part> [HEADERS <file>...] [SOURCES <file>...] [KERNELS <file>...])
#
# HEADERS are relative to include/mlsysim/<room>, SOURCES and KERNELS to src/<room>. KERNELS are compiled with the
# flags of mlsysim_kernel_sources().
function(mlsysim_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PART" "HEADERS;SOURCES;KERNELS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_PART)
    message(FATAL_ERROR "mlsysim_room(${room}): expected PART <part> [HEADERS ...] [SOURCES ...] [KERNELS ...], "
                        "found '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(arg_KERNELS)
    list(TRANSFORM arg_KERNELS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE kernels)
    mlsysim_kernel_sources(${kernels})
  endif()
  foreach(file IN LISTS arg_HEADERS)
    cmake_path(SET path NORMALIZE ${PROJECT_SOURCE_DIR}/include/mlsysim/${room}/${file})
    set_property(GLOBAL APPEND PROPERTY MLSYSIM_${arg_PART}_HEADERS ${path})
  endforeach()
  foreach(file IN LISTS arg_SOURCES arg_KERNELS)
    set_property(GLOBAL APPEND PROPERTY MLSYSIM_${arg_PART}_SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  set_property(GLOBAL PROPERTY MLSYSIM_PART_OF_${room} ${arg_PART})
  # Groups of nearly equal length. Files with flags of their own, such as kernels, are left out by CMake itself.
  list(LENGTH arg_SOURCES count)
  math(EXPR groups "(${count} + 7) / 8")
  set(i 0)
  foreach(file IN LISTS arg_SOURCES)
    math(EXPR group "${i} * ${groups} / ${count}")
    math(EXPR i "${i} + 1")
    set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/${file} DIRECTORY ${PROJECT_SOURCE_DIR}/src
      PROPERTIES UNITY_GROUP ${room}_${group})
  endforeach()
endfunction()

# mlsysim_alone(<file>...): sources of this room that are compiled for themselves, because their local names would meet
# those of their neighbours.
function(mlsysim_alone)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set_source_files_properties(${ARGN} DIRECTORY ${PROJECT_SOURCE_DIR}/src PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# mlsysim_part(<part> TARGET <name> [PUBLIC <library>...] [PRIVATE <library>...]): the library of the rooms collected.
# PRIVATE libraries that are header-only should be wrapped in $<BUILD_INTERFACE:>, so that users need not find them.
function(mlsysim_part part)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TARGET" "PUBLIC;PRIVATE")
  get_property(headers GLOBAL PROPERTY MLSYSIM_${part}_HEADERS)
  get_property(sources GLOBAL PROPERTY MLSYSIM_${part}_SOURCES)
  if(sources)
    add_library(${arg_TARGET} ${sources})
    set(scope PUBLIC)
    mlsysim_target_defaults(${arg_TARGET})
    # Private headers are named by their room: "explore/search/search.hpp".
    target_include_directories(${arg_TARGET} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    set_target_properties(${arg_TARGET} PROPERTIES UNITY_BUILD ${MLSYSIM_UNITY} UNITY_BUILD_MODE GROUP)
    target_link_libraries(${arg_TARGET} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
    set_target_properties(${arg_TARGET} PROPERTIES
      VERSION ${PROJECT_VERSION}
      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  else()
    add_library(${arg_TARGET} INTERFACE)
    set(scope INTERFACE)
    target_link_libraries(${arg_TARGET} INTERFACE ${arg_PUBLIC})
  endif()
  add_library(mlsysim::${part} ALIAS ${arg_TARGET})
  target_compile_features(${arg_TARGET} ${scope} cxx_std_20)
  target_include_directories(${arg_TARGET} ${scope} $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # Headers in a folder `detail` are shared between rooms, and neither installed nor part of the interface.
  list(FILTER headers EXCLUDE REGEX "/detail/")
  # The file set brings the include directory of the build tree with it.
  target_sources(${arg_TARGET} ${scope}
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers})
  set_target_properties(${arg_TARGET} PROPERTIES
    EXPORT_NAME ${part}
    VERIFY_INTERFACE_HEADER_SETS ON)
  install(TARGETS ${arg_TARGET} EXPORT mlsysimTargets
    ARCHIVE COMPONENT dev
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev
    FILE_SET HEADERS COMPONENT dev)
  set_property(GLOBAL APPEND PROPERTY MLSYSIM_PARTS ${arg_TARGET})
endfunction()
