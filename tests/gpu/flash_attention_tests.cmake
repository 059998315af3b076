# Tests of the flash_attention kernels; included by tests/gpu/CMakeLists.txt.
add_library(halfulp_flash_attention_problems STATIC flash_attention_problems.cpp)
target_link_libraries(halfulp_flash_attention_problems PUBLIC halfulp_gpu)
halfulp_test(gpu_flash_attention_test SOURCES flash_attention_naive_test.cpp
  LIBRARIES halfulp_flash_attention_problems)
