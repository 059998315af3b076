# halfulp_planted_kernels(<prefix> BUILD <namespace> RECORDS <file>... STEMS <stem>[:<n>]...)
#
# Copies of kernels with the faults of the records, built for both host backends: object libraries
# <prefix>_host and <prefix>_host_checked, under <namespace> and <namespace>_checked, and the table
# planted/mutant_table.cpp in the current binary folder, which <prefix>_planted writes. A stem names
# a source of gpu/kernels; the mutants of one with :<n> are dealt out to n translation units.
include(${PROJECT_SOURCE_DIR}/gpu/kernels/build.cmake)

function(halfulp_planted_kernels prefix)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "BUILD" "RECORDS;STEMS")
  set(planted ${CMAKE_CURRENT_BINARY_DIR}/planted)
  set(batches)
  foreach(stem IN LISTS arg_STEMS)
    if(stem MATCHES "^(.+):([0-9]+)$")
      foreach(number RANGE 1 ${CMAKE_MATCH_2})
        list(APPEND batches ${planted}/${CMAKE_MATCH_1}_${number}.cuh)
      endforeach()
    else()
      list(APPEND batches ${planted}/${stem}.cuh)
    endif()
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/gpu/kernels/*.cuh
    ${PROJECT_SOURCE_DIR}/gpu/kernels/*.hpp)
  add_custom_command(OUTPUT ${batches} ${planted}/mutant_table.cpp
    COMMAND planter ${PROJECT_SOURCE_DIR} ${planted} ${arg_BUILD} ${arg_BUILD}_checked
      ${arg_STEMS} -- ${arg_RECORDS}
    DEPENDS planter ${arg_RECORDS} ${sources}
    COMMENT "Planting mutants for ${prefix}" VERBATIM)
  add_custom_target(${prefix}_planted DEPENDS ${batches} ${planted}/mutant_table.cpp)
  halfulp_kernel_objects(${prefix}_host BUILD ${arg_BUILD} SOURCES ${batches})
  halfulp_kernel_objects(${prefix}_host_checked BUILD ${arg_BUILD}_checked CHECKED
    SOURCES ${batches})
  foreach(objects ${prefix}_host ${prefix}_host_checked)
    add_dependencies(${objects} ${prefix}_planted)
    # A fault may leave a variable without use; quick to build matters more than quick to run.
    target_compile_options(${objects} PRIVATE -w -Og -g1)
    target_compile_definitions(${objects} PRIVATE HALFULP_FEW_VARIANTS)
  endforeach()
endfunction()
