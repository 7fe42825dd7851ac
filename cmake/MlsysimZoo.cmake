# The zoo at run time: share/mlsysim/zoo beside bin/, in the build tree as in an installed one.

set(MLSYSIM_ZOO_SOURCE ${PROJECT_SOURCE_DIR}/zoo)
set(MLSYSIM_ZOO_BUILD ${PROJECT_BINARY_DIR}/share/mlsysim/zoo)

# The zoo is data that users add to, so its files are found, not listed.
file(GLOB_RECURSE zoo_files CONFIGURE_DEPENDS ${MLSYSIM_ZOO_SOURCE}/*)
list(SORT zoo_files)
list(JOIN zoo_files "\n" zoo_list)
# Changes only when a file appears or vanishes, and then makes the copy afresh.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/zoo/files.txt CONTENT "${zoo_list}\n" @ONLY)

set(zoo_stamp ${PROJECT_BINARY_DIR}/zoo/copied.stamp)
set(zoo_copy)
if(zoo_files)
  set(zoo_copy COMMAND ${CMAKE_COMMAND} -E copy_directory ${MLSYSIM_ZOO_SOURCE} ${MLSYSIM_ZOO_BUILD})
endif()
add_custom_command(OUTPUT ${zoo_stamp}
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${MLSYSIM_ZOO_BUILD}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${MLSYSIM_ZOO_BUILD}
  ${zoo_copy}
  COMMAND ${CMAKE_COMMAND} -E touch ${zoo_stamp}
  DEPENDS ${zoo_files} ${PROJECT_BINARY_DIR}/zoo/files.txt
  COMMENT "Copying the zoo to share/mlsysim/zoo"
  VERBATIM)
add_custom_target(mlsysim_zoo_files ALL DEPENDS ${zoo_stamp})
# The course lies beside it; in a fresh folder nothing is there yet.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/mlsysim)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/examples/course ${PROJECT_BINARY_DIR}/share/mlsysim/course SYMBOLIC)
# So do the script that measures a machine and the list of its points.
foreach(file IN LISTS MLSYSIM_MEASURE_FILES)
  cmake_path(GET file FILENAME name)
  file(CREATE_LINK ${file} ${PROJECT_BINARY_DIR}/share/mlsysim/${name} SYMBOLIC)
endforeach()

# mlsysim_add_zoo_cache(<tool target>): the binary cache of the zoo, written beside the copied files by a tool that is
# called as `tool <zoo folder> <cache file>`. Call it once the tool's target exists; ALL builds it, and the install
# carries it because it lies in the folder that is installed.
function(mlsysim_add_zoo_cache tool)
  set(stamp ${PROJECT_BINARY_DIR}/zoo/cache.stamp)
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${tool} ${MLSYSIM_ZOO_BUILD} ${MLSYSIM_ZOO_BUILD}/zoo.cache
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${tool} ${PROJECT_BINARY_DIR}/zoo/copied.stamp
    COMMENT "Writing share/mlsysim/zoo/zoo.cache"
    VERBATIM)
  add_custom_target(mlsysim_zoo_cache ALL DEPENDS ${stamp})
endfunction()
