# Tests of the kernels, the registry and the backends; included by tests/gpu/CMakeLists.txt.
set(planted_source ${CMAKE_CURRENT_LIST_DIR}/planted/planted_kernels.cuh
  ${CMAKE_CURRENT_LIST_DIR}/planted/planted_protocols.cuh)
halfulp_kernel_objects(halfulp_planted_host BUILD planted_host SOURCES ${planted_source})
halfulp_kernel_objects(halfulp_planted_host_checked BUILD planted_host_checked CHECKED
  SOURCES ${planted_source})
add_library(halfulp_planted STATIC planted/planted.cpp kernels_problems.cpp)
target_link_libraries(halfulp_planted PUBLIC halfulp_gpu
  PRIVATE halfulp_planted_host halfulp_planted_host_checked)
if(CMAKE_CUDA_COMPILER)
  halfulp_kernel_objects(halfulp_planted_cuda BUILD planted_cuda CUDA SOURCES ${planted_source})
  target_link_libraries(halfulp_planted PRIVATE halfulp_planted_cuda)
  target_compile_definitions(halfulp_planted PRIVATE HALFULP_WITH_CUDA)
endif()

halfulp_test(gpu_kernels_test
  SOURCES kernels_test.cpp kernels_refusal_test.cpp registry_test.cpp LIBRARIES halfulp_planted)
# What the registry is compared with.
file(GLOB kernel_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/gpu/kernels/*.cuh)
file(GLOB cuda_only_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/gpu/kernels/*.cu)
halfulp_kernel_entries(entry_points ${kernel_sources} ${cuda_only_sources})
halfulp_kernel_entries(cuda_only_entry_points ${cuda_only_sources})
list(JOIN entry_points " " entry_points)
list(JOIN cuda_only_entry_points " " cuda_only_entry_points)
set_source_files_properties(registry_test.cpp PROPERTIES COMPILE_DEFINITIONS
  "HALFULP_ENTRY_POINTS=\"${entry_points}\"")
set_property(SOURCE registry_test.cpp APPEND PROPERTY COMPILE_DEFINITIONS
  "HALFULP_CUDA_ONLY_ENTRY_POINTS=\"${cuda_only_entry_points}\"")
halfulp_test(gpu_backend_host_test
  SOURCES backend_host_test.cpp backend_protocol_test.cpp LIBRARIES halfulp_planted)
halfulp_test(gpu_backend_cuda_test SOURCES backend_cuda_test.cpp LIBRARIES halfulp_planted
  LABELS gpu)
