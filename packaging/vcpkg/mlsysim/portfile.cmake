# An overlay port of a clone: vcpkg install mlsysim --overlay-ports=packaging/vcpkg
# libmd, the MD5 of PyTorch's logs, is taken from the system (apt-get install libmd-dev).
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)
vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES program MLSYSIM_BUILD_CLI)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${features}
    -DMLSYSIM_BUILD_PYTHON=OFF -DMLSYSIM_BUILD_PLUGINS=OFF -DMLSYSIM_BUILD_EXAMPLES=OFF
    -DMLSYSIM_BUILD_TESTS=OFF -DMLSYSIM_BUILD_BENCH=OFF
    -DMLSYSIM_WITH_NLOPT=OFF -DMLSYSIM_WITH_PAGMO=OFF -DMLSYSIM_WITH_HTTP=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/mlsysim)
if("program" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES mlsysim AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
