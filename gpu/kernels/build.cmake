# halfulp_kernel_objects(<target> BUILD <namespace> [CHECKED | CUDA] SOURCES <file.cuh>...)
#
# An object library of kernels in one build: each source is included by a generated file of one line
# and compiled with HALFULP_BUILD=<namespace>, which names the namespace of its entry points.
# CHECKED adds the instrumentation of the checked executor; CUDA compiles with nvcc. Mutants of the
# kernels are built by the same call from their transformed copies, under a namespace of their own.
function(halfulp_kernel_objects target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CHECKED;CUDA" "BUILD" "SOURCES")
  set(extension cpp)
  if(arg_CUDA)
    set(extension cu)
  endif()
  set(wrappers)
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(stem ${source} NAME_WE)
    set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/generated/${target}/${stem}.${extension})
    file(CONFIGURE OUTPUT ${wrapper} CONTENT "#include \"${source}\"\n" @ONLY)
    list(APPEND wrappers ${wrapper})
  endforeach()
  add_library(${target} OBJECT ${wrappers})
  target_compile_definitions(${target} PRIVATE HALFULP_BUILD=${arg_BUILD})
  target_link_libraries(${target} PRIVATE halfulp_options)
  if(arg_CUDA)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo>)
    return()
  endif()
  target_link_libraries(${target} PRIVATE halfulp_simt)
  # 16-byte accesses to arrays of narrower elements are CUDA's idiom, not C++'s.
  # A frame larger than a thread's stack ends in its guard page, not in the stack of another thread.
  # Faults name source lines: debug information always, and version 4, since binutils 2.40 takes
  # the first file included for the including one in version 5.
  target_compile_options(${target} PRIVATE
    -fno-strict-aliasing -fstack-clash-protection -Wno-unknown-pragmas -gdwarf-4)
  if(arg_CHECKED)
    target_link_libraries(${target} PRIVATE halfulp_simt_checked_options)
  endif()
endfunction()

# halfulp_require_distinct_names(<source>...): no kernel, function, type or constant is defined in
# two of the sources. All of a build share a namespace, so the linker would take one of two
# templates or inline functions of the same name for both, without a word: a copied kernel would be
# judged by the code of the original.
function(halfulp_require_distinct_names)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} lines REGEX
      "^(__global__|__device__|inline|constexpr|struct|class|void) |^ +[a-z0-9_]+_kernel\\(")
    foreach(line IN LISTS lines)
      # The last word before what a definition goes on with.
      string(REGEX REPLACE "__launch_bounds__\\([^)]*\\) *" "" line "${line}")
      string(REGEX REPLACE "([({=]| : ).*" "" line "${line}")
      if(NOT line MATCHES "[ *&]([A-Za-z0-9_]+) *$" OR CMAKE_MATCH_1 STREQUAL void)
        continue()
      endif()
      set(name ${CMAKE_MATCH_1})
      if(DEFINED file_of_${name} AND NOT file_of_${name} STREQUAL source)
        message(FATAL_ERROR "${name} is defined in ${file_of_${name}} and in ${source}: "
          "rename one, or the linker takes one of the two for both")
      endif()
      set(file_of_${name} ${source})
    endforeach()
  endforeach()
endfunction()
