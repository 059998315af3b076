# Tests of the SIMT executor and its checker. Their kernels are compiled twice, plain and
# instrumented.
function(halfulp_simt_test_kernels target build)
  add_library(${target} OBJECT ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/simt_kernels.cpp)
  target_compile_definitions(${target} PRIVATE HALFULP_BUILD=${build})
  target_compile_options(${target} PRIVATE -Wno-array-bounds)  # some faults are plain to see
  target_link_libraries(${target} PRIVATE halfulp_options halfulp_simt ${ARGN})
endfunction()
halfulp_simt_test_kernels(halfulp_simt_kernels_plain test_plain)
halfulp_simt_test_kernels(halfulp_simt_kernels_checked test_checked halfulp_simt_checked_options)

halfulp_test(gpu_simt_test
  SOURCES simt_clean_test.cpp simt_fault_test.cpp simt_schedule_test.cpp simt_numbers_test.cpp
          simt_session_test.cpp simt_tensor_test.cpp simt_fenced_memory_test.cpp
          simt_stray_access_test.cpp simt_run.cpp
  LIBRARIES halfulp_simt halfulp_simt_kernels_plain halfulp_simt_kernels_checked)
target_compile_options(gpu_simt_test PRIVATE -fstack-clash-protection)  # as kernels are
