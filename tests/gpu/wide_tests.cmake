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

# Kernels with faults that only these tests see, by the planter of tests/mutants.
file(GLOB wide_records CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/wide_mutants/*.mutants)
set(wide_stems scatter_normalize_gather_csc graph_attention_fused_csc matmul_tile
  flash_attention_naive flash_attention_online_f32 flash_attention_mma_f16)
set(wide_planted ${CMAKE_CURRENT_BINARY_DIR}/wide_planted)
list(TRANSFORM wide_stems REPLACE "(.+)" "${wide_planted}/\\1.cuh" OUTPUT_VARIABLE wide_batches)
file(GLOB wide_kernel_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/gpu/kernels/*.cuh
  ${PROJECT_SOURCE_DIR}/gpu/kernels/*.hpp)
add_custom_command(OUTPUT ${wide_batches} ${wide_planted}/mutant_table.cpp
  COMMAND planter ${PROJECT_SOURCE_DIR} ${wide_planted} wide_mutants wide_mutants_checked
    ${wide_stems} -- ${wide_records}
  DEPENDS planter ${wide_records} ${wide_kernel_sources}
  COMMENT "Planting mutants with narrow offsets" VERBATIM)
add_custom_target(wide_mutants_planted DEPENDS ${wide_batches} ${wide_planted}/mutant_table.cpp)
halfulp_kernel_objects(halfulp_wide_mutants_host BUILD wide_mutants SOURCES ${wide_batches})
halfulp_kernel_objects(halfulp_wide_mutants_checked BUILD wide_mutants_checked CHECKED
  SOURCES ${wide_batches})
foreach(objects halfulp_wide_mutants_host halfulp_wide_mutants_checked)
  add_dependencies(${objects} wide_mutants_planted)
  target_compile_options(${objects} PRIVATE -w -Og -g1)
  target_compile_definitions(${objects} PRIVATE HALFULP_FEW_VARIANTS)
endforeach()
halfulp_test(gpu_wide_mutants_test
  SOURCES wide_mutants_test.cpp ${wide_planted}/mutant_table.cpp
  LIBRARIES halfulp_wide halfulp_wide_mutants_host halfulp_wide_mutants_checked halfulp_simt
  LABELS mutants)
add_dependencies(gpu_wide_mutants_test wide_mutants_planted)
