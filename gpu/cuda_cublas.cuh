// cuBLAS, loaded at its first use, so that programs start without it.
//
//   const Cublas& library = cublas();
//   if (!library.missing.empty()) ...   // says why, and what to install
//   error = library.error("cublasSetStream", library.set_stream(library.handle, stream));
#pragma once
#include <cublas_v2.h>
#include <dlfcn.h>

#include <string>

namespace halfulp::gpu {

// The library of the version that the declarations are of, and this process's handle.
struct Cublas {
  std::string missing;  // why there is none
  void* library = nullptr;
  cublasHandle_t handle = nullptr;
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasSetMathMode) set_math_mode = nullptr;
  decltype(&cublasGemmEx_64) multiply = nullptr;
  decltype(&cublasGetStatusString) text = nullptr;

  template <class Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) missing = "libcublas has no " + std::string(name);
  }
  // Empty for success.
  std::string error(const char* call, cublasStatus_t status) const {
    if (status == CUBLAS_STATUS_SUCCESS) return {};
    return std::string(call) + ": " + text(status);
  }
};

inline Cublas load_cublas() {
  const std::string version = std::to_string(CUBLAS_VER_MAJOR);
  const std::string name = "libcublas.so." + version;
  Cublas made;
  // By the loader's rules, then where CUDA's installer puts it.
  for (const char* folder : {"", "/usr/local/cuda/lib64/"}) {
    if (made.library == nullptr) {
      made.library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
    }
  }
  if (made.library == nullptr) {
    const char* why = dlerror();
    made.missing = "cannot load " + name + " (" + (why == nullptr ? "no reason given" : why) +
                   "); install libcublas-" + version +
                   "-0 of CUDA, or name its folder in LD_LIBRARY_PATH";
    return made;
  }
  made.find("cublasCreate_v2", made.create);
  made.find("cublasSetStream_v2", made.set_stream);
  made.find("cublasSetWorkspace_v2", made.set_workspace);
  made.find("cublasSetMathMode", made.set_math_mode);
  made.find("cublasGemmEx_64", made.multiply);
  made.find("cublasGetStatusString", made.text);
  if (made.missing.empty()) made.missing = made.error("cublasCreate", made.create(&made.handle));
  return made;
}

inline const Cublas& cublas() {
  static const Cublas instance = load_cublas();
  return instance;
}

}  // namespace halfulp::gpu
