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
