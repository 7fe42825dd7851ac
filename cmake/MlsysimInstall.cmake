# Installation: headers and libraries come with the parts (MlsysimRooms.cmake); here the rest.
include(CMakePackageConfigHelpers)

install(EXPORT mlsysimTargets
  NAMESPACE mlsysim::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mlsysim
  COMPONENT dev)
list(JOIN MLSYSIM_COMPONENT_NAMES " " MLSYSIM_COMPONENT_NAMES_SPACED)
configure_package_config_file(cmake/mlsysimConfig.cmake.in ${PROJECT_BINARY_DIR}/mlsysimConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mlsysim
  PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mlsysimConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/mlsysimConfig.cmake
  ${PROJECT_BINARY_DIR}/mlsysimConfigVersion.cmake
  cmake/MlsysimPlugin.cmake
  cmake/installed_zoo.cpp
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mlsysim
  COMPONENT dev)

# Relative, so that the installation can be moved.
file(RELATIVE_PATH MLSYSIM_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/mlsysim.pc.in ${PROJECT_BINARY_DIR}/mlsysim.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mlsysim.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT dev)

# Files of an earlier version would name entries a second time.
install(CODE "file(REMOVE_RECURSE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/mlsysim/zoo\")"
  COMPONENT runtime)
install(DIRECTORY ${MLSYSIM_ZOO_BUILD}/
  DESTINATION ${CMAKE_INSTALL_DATADIR}/mlsysim/zoo
  COMPONENT runtime)
install(FILES ${MLSYSIM_MEASURE_FILES}
  DESTINATION ${CMAKE_INSTALL_DATADIR}/mlsysim
  COMPONENT runtime)
# What students begin with; the model solutions stay with the sources.
install(DIRECTORY examples/course
  DESTINATION ${CMAKE_INSTALL_DATADIR}/mlsysim
  COMPONENT dev
  PATTERN solutions EXCLUDE
  PATTERN __pycache__ EXCLUDE)
install(FILES LICENSE
  DESTINATION ${CMAKE_INSTALL_DATADIR}/mlsysim
  COMPONENT runtime)

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_CONTACT "The mlsysim authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_COMPONENTS_ALL runtime dev)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME mlsysim)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libmlsysim-dev)
# Without the runtime package there is no zoo, and find_package would say so.
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "mlsysim (= ${PROJECT_VERSION}), libfmt-dev, libyaml-cpp-dev, zlib1g-dev, libmd-dev, libprotobuf-dev, libminizip-dev, libsqlite3-dev")
foreach(package IN LISTS MLSYSIM_OPTIONAL_DEBIAN)
  string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", ${package}")
endforeach()
# The component for MPI is a package of its own, so that the program does not need Open MPI.
if(MLSYSIM_HAS_MPI)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_NAME mlsysim-mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "mlsysim (= ${PROJECT_VERSION})")
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
include(CPack)
