# Tests of the wrappers of gpu/simt/simt.cuh: on the host against tables, and host against GPU.
function(halfulp_wrapper_kernels target build)
  add_library(${target} OBJECT ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/wrappers_kernels.cpp)
  target_compile_definitions(${target} PRIVATE HALFULP_BUILD=${build})
  target_link_libraries(${target} PRIVATE halfulp_options halfulp_simt ${ARGN})
endfunction()
halfulp_wrapper_kernels(halfulp_wrappers_plain wrappers_plain)
halfulp_wrapper_kernels(halfulp_wrappers_checked wrappers_checked halfulp_simt_checked_options)

add_library(halfulp_wrappers STATIC ${CMAKE_CURRENT_LIST_DIR}/wrappers_host.cpp)
target_link_libraries(halfulp_wrappers PUBLIC halfulp_options
  PRIVATE halfulp_simt halfulp_wrappers_plain halfulp_wrappers_checked)
if(CMAKE_CUDA_COMPILER)
  add_library(halfulp_wrappers_cuda OBJECT ${CMAKE_CURRENT_LIST_DIR}/wrappers_cuda.cu)
  target_compile_definitions(halfulp_wrappers_cuda PRIVATE HALFULP_BUILD=wrappers_cuda)
  target_link_libraries(halfulp_wrappers_cuda PRIVATE halfulp_options)
  target_link_libraries(halfulp_wrappers PRIVATE halfulp_wrappers_cuda CUDA::cudart_static)
else()
  target_sources(halfulp_wrappers PRIVATE ${CMAKE_CURRENT_LIST_DIR}/wrappers_cuda_absent.cpp)
endif()

halfulp_test(gpu_wrappers_test SOURCES wrappers_test.cpp LIBRARIES halfulp_wrappers)
halfulp_test(gpu_wrappers_gpu_test SOURCES wrappers_gpu_test.cpp LIBRARIES halfulp_wrappers
  LABELS gpu)
