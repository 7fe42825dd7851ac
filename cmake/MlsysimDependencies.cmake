# The third-party packages, each looked up only where something needs it.
#
# All of them are packages of Debian 12; nothing is downloaded while configuring.

# What was found is recorded for the SBOM and for packages: one line for each, name|packages of Debian|version|use.
# The use is "linked" (a part of the libraries), "headers", "component" (of what is opened on request) or "build" (not in
# what is installed).
set(MLSYSIM_RECORD)
macro(mlsysim_record name debian version use)
  string(APPEND MLSYSIM_RECORD "${name}|${debian}|${version}|${use}\n")
endmacro()

# mlsysim_dependency(<package> <debian package> <use> [<find_package arguments>...])
macro(mlsysim_dependency name debian use)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR
      "mlsysim needs ${name} (${ARGN}), which was not found.\n"
      "Install it with: apt-get install ${debian}   (scripts/setup installs everything), "
      "or point CMAKE_PREFIX_PATH at your copy.")
  endif()
  mlsysim_record(${name} "${debian}" "${${name}_VERSION}" ${use})
endmacro()

# mlsysim_optional(<name> <package> <target> <debian package>): MLSYSIM_WITH_<name> is AUTO (used where found), ON or OFF.
# Sets MLSYSIM_HAS_<name>, and MLSYSIM_OPTIONAL_LIBRARIES and MLSYSIM_OPTIONAL_PACKAGES for what links and finds them.
set(MLSYSIM_OPTIONAL_LIBRARIES)
set(MLSYSIM_OPTIONAL_PACKAGES)
set(MLSYSIM_OPTIONAL_DEBIAN)
macro(mlsysim_optional name package target debian)
  set(MLSYSIM_WITH_${name} AUTO CACHE STRING "Use ${package}: AUTO (where it is found), ON or OFF")
  set_property(CACHE MLSYSIM_WITH_${name} PROPERTY STRINGS AUTO ON OFF)
  set(MLSYSIM_HAS_${name} FALSE)
  if(MLSYSIM_WITH_${name})
    find_package(${package} QUIET)
    if(TARGET ${target})
      set(MLSYSIM_HAS_${name} TRUE)
      list(APPEND MLSYSIM_OPTIONAL_LIBRARIES ${target})
      list(APPEND MLSYSIM_OPTIONAL_PACKAGES ${package})
      list(APPEND MLSYSIM_OPTIONAL_DEBIAN ${debian})
      mlsysim_record(${package} ${debian} "${${package}_VERSION}" linked)
    elseif(NOT MLSYSIM_WITH_${name} STREQUAL "AUTO")
      message(FATAL_ERROR "MLSYSIM_WITH_${name} is ON, but ${package} was not found. Install ${debian}, or set it to AUTO.")
    endif()
  endif()
endmacro()

mlsysim_dependency(fmt libfmt-dev linked 9)
mlsysim_dependency(yaml-cpp libyaml-cpp-dev linked)
mlsysim_dependency(nlohmann_json nlohmann-json3-dev headers 3.9)
mlsysim_dependency(ZLIB zlib1g-dev linked)
if(MLSYSIM_WITH_MODELS)
  mlsysim_dependency(Protobuf "libprotobuf-dev protobuf-compiler" linked 3.12)
  # minizip comes with zlib and has no package file for CMake: it is linked by its name.
  find_path(MLSYSIM_MINIZIP_INCLUDE minizip/unzip.h)
  if(NOT MLSYSIM_MINIZIP_INCLUDE)
    message(FATAL_ERROR "mlsysim needs minizip (minizip/unzip.h), which was not found.\nInstall it with: apt-get install libminizip-dev   (scripts/setup installs everything)")
  endif()
  mlsysim_record(minizip libminizip-dev "" linked)
endif()
if(MLSYSIM_WITH_VALIDATION)
  mlsysim_dependency(Eigen3 libeigen3-dev headers 3.4)
endif()
if(MLSYSIM_WITH_OPS)
  # The history of predictions: a file that many programs read, and that two jobs may write at once.
  mlsysim_dependency(SQLite3 libsqlite3-dev linked 3.24)
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
mlsysim_dependency(Threads libc6-dev linked)

if(MLSYSIM_WITH_OPS OR MLSYSIM_WITH_PLUGINS)
  # MD5, the checksum in logs of TORCH_TRACE, and SHA-256, the digest of plugins; the library comes with Debian itself, its header with libmd-dev.
  find_library(MLSYSIM_MD_LIBRARY md)
  find_path(MLSYSIM_MD_INCLUDE sha2.h)
  if(NOT MLSYSIM_MD_LIBRARY OR NOT MLSYSIM_MD_INCLUDE)
    message(FATAL_ERROR "mlsysim needs libmd, which was not found.\nInstall it with: apt-get install libmd-dev")
  endif()
  mlsysim_record(libmd libmd-dev "" linked)
endif()

# Sending metrics and logs to servers; without it they are written to files alone.
if(MLSYSIM_WITH_OPS)
  find_library(MLSYSIM_HTTPLIB cpp-httplib)
  find_path(MLSYSIM_HTTPLIB_INCLUDE httplib.h)
endif()
set(MLSYSIM_HTTP_LIBRARY)
set(MLSYSIM_WITH_HTTP AUTO CACHE STRING "Send over HTTP (cpp-httplib): AUTO (where it is found), ON or OFF")
if(MLSYSIM_WITH_HTTP AND MLSYSIM_HTTPLIB AND MLSYSIM_HTTPLIB_INCLUDE)
  set(MLSYSIM_HTTP_LIBRARY cpp-httplib)
  mlsysim_record(cpp-httplib libcpp-httplib-dev "" component)
elseif(MLSYSIM_WITH_HTTP AND NOT MLSYSIM_WITH_HTTP STREQUAL "AUTO")
  message(FATAL_ERROR "MLSYSIM_WITH_HTTP is ON, but cpp-httplib was not found. Install libcpp-httplib-dev, or set it to AUTO.")
endif()

# Ranks of mpirun that work on one search (--mpi): a component of its own.
set(MLSYSIM_WITH_MPI AUTO CACHE STRING "Build the component for MPI: AUTO (where it is found), ON or OFF")
set(MLSYSIM_HAS_MPI FALSE)
if(MLSYSIM_WITH_MPI AND MLSYSIM_WITH_OPS AND MLSYSIM_BUILD_CLI)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(MLSYSIM_HAS_MPI TRUE)
    mlsysim_record(MPI libopenmpi-dev "" component)
  elseif(NOT MLSYSIM_WITH_MPI STREQUAL "AUTO")
    message(FATAL_ERROR "MLSYSIM_WITH_MPI is ON, but MPI was not found. Install libopenmpi-dev, or set it to AUTO.")
  endif()
endif()

# Back ends of the search strategies gradient and evolutionary.
mlsysim_optional(NLOPT NLopt NLopt::nlopt libnlopt-dev)
mlsysim_optional(PAGMO Pagmo Pagmo::pagmo libpagmo-dev)

# yaml-cpp 0.8 put its target into a namespace.
if(TARGET yaml-cpp::yaml-cpp)
  set(MLSYSIM_YAML_TARGET yaml-cpp::yaml-cpp)
else()
  set(MLSYSIM_YAML_TARGET yaml-cpp)
endif()

if(MLSYSIM_BUILD_CLI)
  mlsysim_dependency(CLI11 libcli11-dev headers 2.1)
endif()
if(MLSYSIM_BUILD_TESTS)
  mlsysim_dependency(Catch2 catch2 build)
endif()
if(MLSYSIM_BUILD_BENCH)
  mlsysim_dependency(benchmark libbenchmark-dev build 1.7)
endif()
if(MLSYSIM_BUILD_PYTHON)
  mlsysim_dependency(Python3 python3-dev build 3.9 COMPONENTS Interpreter Development.Module)
  set(PYBIND11_FINDPYTHON ON)
  mlsysim_dependency(pybind11 pybind11-dev headers 2.10)
elseif(MLSYSIM_BUILD_TESTS)
  mlsysim_dependency(Python3 python3 build 3.9 COMPONENTS Interpreter)
endif()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/dependencies.txt CONTENT "${MLSYSIM_RECORD}" @ONLY)
