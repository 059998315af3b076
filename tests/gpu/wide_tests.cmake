# Tests of kernels on operands whose strides are 2^30 and more; included by tests/gpu/CMakeLists.txt
# after the parts whose problems it uses.
add_library(halfulp_wide STATIC
  wide_call.cpp wide_layout.cpp wide_memory.cpp wide_problems.cpp kernels_problems.cpp)
target_link_libraries(halfulp_wide
  PUBLIC halfulp_flash_attention_problems halfulp_matmul_problems PRIVATE halfulp_simt)
if(CMAKE_CUDA_COMPILER)
  target_sources(halfulp_wide PRIVATE wide_memory_cuda.cpp)
  target_link_libraries(halfulp_wide PRIVATE CUDA::cudart_static)
else()
  target_sources(halfulp_wide PRIVATE wide_memory_cuda_absent.cpp)
endif()
halfulp_test(gpu_wide_test SOURCES wide_test.cpp LIBRARIES halfulp_wide)

# Kernels with faults that only these tests see.
include(${PROJECT_SOURCE_DIR}/tests/mutants/plant.cmake)
file(GLOB wide_records CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/wide_mutants/*.mutants)
halfulp_planted_kernels(halfulp_wide_mutants BUILD wide_mutants RECORDS ${wide_records}
  STEMS scatter_normalize_gather_csc graph_attention_fused_csc matmul_tile flash_attention_naive
    flash_attention_online_f32 flash_attention_mma_f16)
halfulp_test(gpu_wide_mutants_test
  SOURCES wide_mutants_test.cpp ${CMAKE_CURRENT_BINARY_DIR}/planted/mutant_table.cpp
  LIBRARIES halfulp_wide halfulp_wide_mutants_host halfulp_wide_mutants_host_checked halfulp_simt
  LABELS mutants)
add_dependencies(gpu_wide_mutants_test halfulp_wide_mutants_planted)
