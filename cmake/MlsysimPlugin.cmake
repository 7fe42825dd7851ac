# Part of the installed package: how a plugin is built.

# mlsysim_add_plugin(<name> SOURCES <file>... [MANIFEST <file>]): the library mlsysim-plugin-<name>.so, its manifest
# beside it. Only the entry symbol is visible: a plugin that shares symbols with others shares their bugs, and one with
# unique symbols is never unloaded.
function(mlsysim_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MANIFEST" "SOURCES")
  if(NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "mlsysim_add_plugin(${name}): expected SOURCES <file>... [MANIFEST <file>], found '${ARGN}'")
  endif()
  set(target mlsysim-plugin-${name})
  add_library(${target} MODULE ${arg_SOURCES})
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}.map)
  file(WRITE ${script} "{ global: mlsysim_get_plugin_api; local: *; };\n")
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME ${target} SUFFIX .so
    C_STANDARD 11 C_VISIBILITY_PRESET hidden
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS ${script})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
  endif()
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections -ffp-contract=off)
  target_link_options(${target} PRIVATE -Wl,--version-script=${script} -Wl,--exclude-libs,ALL -Wl,--gc-sections)
  if(MLSYSIM_SANITIZE)
    # Only in the build tree: the run-time of the sanitizers comes with the program.
    target_compile_options(${target} PRIVATE -fsanitize=${MLSYSIM_SANITIZE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND MLSYSIM_SANITIZE MATCHES undefined)
      # As for all other targets: see mlsysim_target_defaults.
      target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute>)
    endif()
    target_link_options(${target} PRIVATE -fsanitize=${MLSYSIM_SANITIZE})
  else()
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  # A plugin in C needs the header alone.
  set(sources ${arg_SOURCES})
  list(FILTER sources INCLUDE REGEX "\\.(cpp|cc|cxx)$")
  if(sources)
    target_link_libraries(${target} PRIVATE mlsysim::plugin_sdk)
  else()
    target_link_libraries(${target} PRIVATE mlsysim::plugin_abi)
  endif()
  if(arg_MANIFEST)
    cmake_path(GET arg_MANIFEST FILENAME file)
    add_custom_command(TARGET ${target} POST_BUILD
      COMMAND ${CMAKE_COMMAND} -E copy_if_different ${CMAKE_CURRENT_SOURCE_DIR}/${arg_MANIFEST} $<TARGET_FILE_DIR:${target}>/${file}
      VERBATIM)
  endif()
endfunction()
