# Flags of our own targets. Nothing here is global, and nothing reaches a user of the library.

# mlsysim_target_defaults(<target>): language, warnings, floating-point rules, visibility, sanitizers.
function(mlsysim_target_defaults target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON)
  # A shared build exports everything: the headers carry no export marks.
  if(NOT BUILD_SHARED_LIBS)
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  else()
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  endif()
  # Kernels have -O3 of their own; for the rest -O2 is as fast and compiles in four fifths of the time. Where somebody asks for less
  # than CMake's -O3, that is it.
  if(CMAKE_CXX_FLAGS_RELEASE MATCHES "-O3")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # At -O1 g++ 12 takes the room inside a long string for the place to which it is copied.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds -Wno-stringop-overflow>)
  endif()
  # No fused multiply-add behind our back: same inputs, same bytes on every machine of one kind.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow -Wpedantic -ffp-contract=off>
    # Named initialisers leave members to their defaults on purpose.
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${MLSYSIM_WERROR}>>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 sees overlapping copies in std::string::insert that are not there (gcc bug 105651).
    # ... and optional members that are not read before they are set.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-maybe-uninitialized>)
  endif()
  if(MLSYSIM_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # g++ takes the sources of a group for headers, in which a class must not hold what is local to a file.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
  if(MLSYSIM_HARDENING)
    # Files of others are read: what overwrites the stack or the table of functions ends the program instead.
    target_compile_options(${target} PRIVATE -fstack-protector-strong
      $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|i.86")
      target_compile_options(${target} PRIVATE -fcf-protection=full)
    endif()
    target_link_options(${target} PRIVATE LINKER:-z,relro,-z,now)
  endif()
  if(MLSYSIM_PLAIN_KERNELS)
    target_compile_definitions(${target} PRIVATE MLSYSIM_PLAIN_KERNELS)
  endif()
  if(MLSYSIM_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${MLSYSIM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND MLSYSIM_SANITIZE MATCHES undefined)
      # With these three g++ no longer takes the address of a function for a constant that is not null, which tables of
      # fields ask at compile time. What they would find is a signal at the address 0 all the same.
      target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute>)
    endif()
    target_link_options(${target} PRIVATE -fsanitize=${MLSYSIM_SANITIZE})
    # target_clones resolves before the sanitizer run-time is up.
    target_compile_definitions(${target} PRIVATE MLSYSIM_PLAIN_KERNELS)
  endif()
endfunction()

# mlsysim_glue(<target> [<batch>]): a target that passes values on and computes nothing itself: -O1 is as fast there and
# compiles in two thirds of the time. With a batch, so many files are compiled together (MLSYSIM_UNITY).
function(mlsysim_glue target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:${MLSYSIM_GLUE_OPTIMIZATION}>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # At -O1 g++ 12 takes the room inside a long string for the place to which it is copied.
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
  endif()
  if(ARGC GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${MLSYSIM_UNITY} UNITY_BUILD_BATCH_SIZE ${ARGV1})
  endif()
endfunction()

# mlsysim_unoptimized(<target>): a test, which calls the library and computes little itself: it compiles in two thirds of the time.
function(mlsysim_unoptimized target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O0>)
endfunction()

# mlsysim_precompile(<target> <header> | <target> REUSE_FROM <other>): includes that are read once for many files.
function(mlsysim_precompile target)
  target_precompile_headers(${target} ${ARGN})
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # ccache answers for such files where it is told that the header's macros are the same ones. The header itself keeps
    # the times of its files, by which the compiler knows them again: one of an older tree would not do.
    set(launcher "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${CMAKE_CXX_COMPILER_LAUNCHER}")
    if(NOT "REUSE_FROM" IN_LIST ARGN)
      set(launcher "")
    endif()
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()

# mlsysim_kernel_sources(<file>...): block kernels. They are optimised fully even where the rest is not, and may
# ignore errno and floating-point traps; never fast-math, never -march (see docs/explanation/architecture.md).
function(mlsysim_kernel_sources)
  set(options -fno-math-errno -fno-trapping-math -ffp-contract=off)
  if(NOT MLSYSIM_SANITIZE)
    list(PREPEND options $<$<NOT:$<CONFIG:Debug>>:-O3>)
  endif()
  # The targets of the library live in src/, those of tests and benchmarks in the caller's folder.
  set_source_files_properties(${ARGN}
    DIRECTORY ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR}
    PROPERTIES COMPILE_OPTIONS "${options}")
endfunction()

# mlsysim_executable(<target> [PART <part>] <source>...): a program of ours, placed in bin/ so that ../share/mlsysim/zoo is
# found. It links the whole library, or one part with those below it, so that it is built without the rest.
function(mlsysim_executable target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PART" "")
  if(NOT arg_PART)
    set(arg_PART mlsysim)
  endif()
  add_executable(${target} ${arg_UNPARSED_ARGUMENTS})
  mlsysim_target_defaults(${target})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  target_link_libraries(${target} PRIVATE mlsysim::${arg_PART})
  add_dependencies(${target} mlsysim_zoo_files)
endfunction()

# The environment in which Python has the package of this build. The interpreter is not sanitized, so the run-time of the
# sanitizer comes before it, and what it keeps until its end is no leak of ours.
set(MLSYSIM_PYTHON_ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python")
if(MLSYSIM_SANITIZE MATCHES "address|thread" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  if(MLSYSIM_SANITIZE MATCHES address)
    set(runtime asan)
  else()
    set(runtime tsan)
  endif()
  set(preload)
  foreach(library ${runtime} stdc++)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${library}.so
      OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(APPEND preload "${path} ")
  endforeach()
  list(APPEND MLSYSIM_PYTHON_ENVIRONMENT "LD_PRELOAD=${preload}" "ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0")
endif()
