# Tests of how kernels are built: a name that two sources define is refused.
foreach(copy kernel constant renamed)
  set(test gpu_kernel_names.${copy})
  add_test(NAME ${test}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR}
      -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/names/${copy} -DCOPY=${copy}
      -P ${CMAKE_CURRENT_LIST_DIR}/distinct_names_test.cmake)
  if(NOT copy STREQUAL renamed)
    set_tests_properties(${test} PROPERTIES
      PASS_REGULAR_EXPRESSION "kernel is defined|kBlock is defined")
  endif()
endforeach()
