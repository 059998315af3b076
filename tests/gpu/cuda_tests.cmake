# Tests of kernels on a device, in one program: each that is carried there holds every kernel.
# Included by tests/gpu/CMakeLists.txt after the parts whose problems it uses.
halfulp_test(gpu_kernels_cuda_test
  SOURCES flash_attention_cuda_test.cpp flash_attention_mask_mod_cuda_test.cpp matmul_cuda_test.cpp
    wide_cuda_test.cpp
  LIBRARIES halfulp_flash_attention_problems halfulp_matmul_problems halfulp_wide
  LABELS gpu)
