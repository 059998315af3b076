# Tests of the matmul kernels; included by tests/gpu/CMakeLists.txt.
halfulp_test(gpu_matmul_partition_test SOURCES matmul_partition_test.cpp LIBRARIES halfulp_simt)
