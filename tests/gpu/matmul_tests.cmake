# Tests of the matmul kernels; included by tests/gpu/CMakeLists.txt.
halfulp_test(gpu_matmul_partition_test SOURCES matmul_partition_test.cpp LIBRARIES halfulp_simt)

add_library(halfulp_matmul_problems STATIC matmul_problems.cpp)
target_link_libraries(halfulp_matmul_problems PUBLIC halfulp_gpu)
halfulp_test(gpu_matmul_tile_test SOURCES matmul_tile_test.cpp matmul_split_k_test.cpp
  LIBRARIES halfulp_matmul_problems)
halfulp_test(gpu_matmul_streamk_test SOURCES matmul_streamk_test.cpp LIBRARIES halfulp_gpu)
