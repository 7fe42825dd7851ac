# Rooms and parts. A room is a folder of include/mlsysim and of src, with every file below them; a part is a library made of
# rooms (src/CMakeLists.txt).
#
# Most of what a small file costs is its includes, so neighbours of a room are compiled together (MLSYSIM_UNITY).

# mlsysim_alone(<folder of src> <file>...): sources of a room that are compiled for themselves, because their local names would meet
# those of their neighbours.
function(mlsysim_alone folder)
  list(TRANSFORM ARGN PREPEND ${folder}/)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# mlsysim_part(<part> TARGET <name> HEADERS <file>... ROOMS <room>... [BELOW <folder>] [KERNELS <file>...]
#              [WITHOUT <file>...] [PUBLIC <library>...] [PRIVATE <library>...])
#
# The library of the rooms, with the headers of include/mlsysim that lie in no room. KERNELS are compiled with the flags of
# mlsysim_kernel_sources(), those of WITHOUT are left out. Programs of a room lie in its folder `tool`, its commands in `cli`: neither is part of the library. The
# rooms of components lie BELOW src/components, their headers beside the others. PRIVATE libraries that
# are header-only should be wrapped in $<BUILD_INTERFACE:>, so that users need not find them.
function(mlsysim_part part)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TARGET;BELOW" "HEADERS;ROOMS;KERNELS;WITHOUT;PUBLIC;PRIVATE")
  mlsysim_kernel_sources(${arg_KERNELS})
  add_library(${arg_TARGET} ${arg_KERNELS})
  set(include ${PROJECT_SOURCE_DIR}/include)
  list(TRANSFORM arg_HEADERS PREPEND ${include}/mlsysim/ OUTPUT_VARIABLE headers)
  foreach(room IN LISTS arg_ROOMS)
    set_property(GLOBAL APPEND PROPERTY MLSYSIM_ROOMS ${room})
    set_property(GLOBAL PROPERTY MLSYSIM_PART_OF_${room} ${part})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${include}/mlsysim/${room}/*.hpp ${include}/mlsysim/${room}/*.h)
    list(APPEND headers ${found})
    file(GLOB_RECURSE sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${arg_BELOW}${room}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "^${arg_BELOW}${room}/(tool|cli)/")
    list(REMOVE_ITEM sources ${arg_KERNELS} ${arg_WITHOUT})
    target_sources(${arg_TARGET} PRIVATE ${sources})
    string(REPLACE "/" "_" name ${room})
    # Groups of nearly equal length. Files with flags of their own are left out by CMake itself.
    list(LENGTH sources count)
    math(EXPR groups "(${count} + 7) / 8")
    set(i 0)
    foreach(file IN LISTS sources)
      math(EXPR group "${i} * ${groups} / ${count}")
      math(EXPR i "${i} + 1")
      set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${name}_${group})
    endforeach()
  endforeach()
  mlsysim_target_defaults(${arg_TARGET})
  # Private headers are named by their room: "explore/search/search.hpp".
  target_include_directories(${arg_TARGET} PRIVATE ${PROJECT_SOURCE_DIR}/src $<$<BOOL:${arg_BELOW}>:${PROJECT_SOURCE_DIR}/src/components>)
  target_link_libraries(${arg_TARGET} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  add_library(mlsysim::${part} ALIAS ${arg_TARGET})
  target_compile_features(${arg_TARGET} PUBLIC cxx_std_20)
  target_include_directories(${arg_TARGET} PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # Headers in a folder `detail` are shared between rooms, and neither installed nor part of the interface.
  list(FILTER headers EXCLUDE REGEX "/detail/")
  # The file set brings the include directory of the build tree with it.
  target_sources(${arg_TARGET} PUBLIC FILE_SET HEADERS BASE_DIRS ${include} FILES ${headers})
  set_target_properties(${arg_TARGET} PROPERTIES
    UNITY_BUILD ${MLSYSIM_UNITY} UNITY_BUILD_MODE GROUP
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    EXPORT_NAME ${part}
    VERIFY_INTERFACE_HEADER_SETS ON)
  install(TARGETS ${arg_TARGET} EXPORT mlsysimTargets
    ARCHIVE COMPONENT dev
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev
    FILE_SET HEADERS COMPONENT dev)
  set_property(GLOBAL APPEND PROPERTY MLSYSIM_PARTS ${arg_TARGET})
endfunction()
