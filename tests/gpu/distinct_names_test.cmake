# Two sources of kernels that define one name: cmake -DROOT=<project> -DFOLDER=<scratch> -P <this>
# ends with the error; with -DCOPY=renamed it does not.
include(${ROOT}/gpu/kernels/build.cmake)
set(text "
inline constexpr int kBlock = 128;
template <class T>
__global__ void __launch_bounds__(kBlock) add_kernel(VectorAdd v) {
Status add(const Arguments& arguments) {
")
file(WRITE ${FOLDER}/first.cuh "${text}")
if(COPY STREQUAL renamed)
  string(REPLACE "kBlock" "kOther" text "${text}")
  string(REPLACE "add_kernel" "other_kernel" text "${text}")
elseif(COPY STREQUAL kernel)
  string(REPLACE "kBlock" "kOther" text "${text}")
else()
  string(REPLACE "add_kernel" "other_kernel" text "${text}")
endif()
file(WRITE ${FOLDER}/second.cuh "${text}")
halfulp_require_distinct_names(${FOLDER}/first.cuh ${FOLDER}/second.cuh)
