// What a process says before an access far out of bounds ends it.
//
//   report_stray_accesses();   // once, in a process that only runs kernels
//   // ... and then on stderr: "access 1536 bytes past the end of out"
#pragma once

namespace halfulp::gpu::simt {

// From now on a SIGSEGV says on stderr which fence of FencedMemory was hit, that the stack of a
// kernel's thread is full, or that the pointer was null, and ends the process as before. No effect
// in a build with AddressSanitizer, which reports for itself.
void report_stray_accesses();

}  // namespace halfulp::gpu::simt
