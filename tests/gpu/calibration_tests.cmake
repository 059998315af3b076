# Tests of gpu/calibration.hpp on each backend.
foreach(backend host cuda)
  set(labels)
  if(backend STREQUAL cuda)
    set(labels gpu)
  endif()
  halfulp_test(gpu_calibration_${backend}_test SOURCES calibration_test.cpp LIBRARIES halfulp_gpu
    LABELS ${labels})
  target_compile_definitions(gpu_calibration_${backend}_test PRIVATE
    HALFULP_TEST_BACKEND=${backend})
endforeach()
