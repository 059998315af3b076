// Source lines of code addresses, through addr2line; each address is looked up once. Frames inlined
// from the surface and the standard library are passed over: the line wanted is the kernel's.
#include "gpu/simt/locations.hpp"

#include <link.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdio>
#include <map>
#include <mutex>
#include <vector>

#include "gpu/simt/report.hpp"

namespace halfulp::gpu::simt {
namespace {

constexpr std::uintptr_t kIsSite = std::uintptr_t{1} << 63;
static_assert(sizeof(std::source_location) == sizeof(std::uintptr_t));

struct Module {
  std::string path;
  std::uintptr_t base = 0;  // what the loader added to the addresses in the file
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> segments;
};

int collect(dl_phdr_info* info, std::size_t, void* data) {
  Module module{info->dlpi_name, info->dlpi_addr, {}};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    module.segments.emplace_back(begin, begin + segment.p_memsz);
  }
  static_cast<std::vector<Module>*>(data)->push_back(std::move(module));
  return 0;
}

// Kernels may come from a library that is loaded later, so the list is made anew each time.
std::vector<Module> modules() {
  std::vector<Module> result;
  dl_iterate_phdr(collect, &result);
  return result;
}

const Module* module_of(const std::vector<Module>& all, std::uintptr_t address) {
  for (const Module& module : all) {
    for (const auto& [begin, end] : module.segments) {
      if (address >= begin && address < end) return &module;
    }
  }
  return nullptr;
}

std::string executable() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : std::string();
}

std::string quoted(const std::string& path) {
  std::string result = "'";
  for (const char c : path) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// addr2line's answer for one address: a line a frame, innermost first.
std::vector<std::string> frames(const std::string& path, std::uintptr_t offset) {
  std::array<char, 32> hex{};
  std::snprintf(hex.data(), hex.size(), "0x%zx", static_cast<std::size_t>(offset));
  const std::string command = "addr2line -i -e " + quoted(path) + " " + hex.data() + " 2>/dev/null";
  std::vector<std::string> lines;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return lines;
  std::array<char, 4096> line{};
  while (std::fgets(line.data(), static_cast<int>(line.size()), pipe) != nullptr) {
    std::string text = line.data();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (const auto note = text.find(" ("); note != text.npos) text.resize(note);
    lines.push_back(std::move(text));
  }
  pclose(pipe);
  return lines;
}

std::string basename(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

std::string look_up(std::uintptr_t address) {
  const std::vector<Module> all = modules();
  const Module* module = module_of(all, address);
  if (module == nullptr) return "?";
  const std::string path = module->path.empty() ? executable() : module->path;
  // A return address is that of the next instruction.
  const std::uintptr_t offset = address - 1 - module->base;
  for (const std::string& frame : frames(path, offset)) {
    const bool library = frame.find("gpu/simt/") != frame.npos || frame.rfind("/usr/", 0) == 0;
    if (library || frame.rfind("??", 0) == 0) continue;
    return basename(frame);
  }
  std::array<char, 32> hex{};
  std::snprintf(hex.data(), hex.size(), "+0x%zx", static_cast<std::size_t>(offset));
  return basename(path) + hex.data();
}

}  // namespace

Place::Place(const void* code) : bits_(reinterpret_cast<std::uintptr_t>(code)) {}
Place::Place(const std::source_location& site)
    : bits_(std::bit_cast<std::uintptr_t>(site) | kIsSite) {}

std::string Place::text() const {
  if ((bits_ & kIsSite) != 0) return print(std::bit_cast<std::source_location>(bits_ & ~kIsSite));
  static std::mutex mutex;
  static std::map<std::uintptr_t, std::string> known;
  const std::scoped_lock lock(mutex);
  const auto [entry, created] = known.try_emplace(bits_);
  if (created) entry->second = look_up(bits_);
  return entry->second;
}

bool in_program_data(std::uintptr_t address) {
  thread_local std::pair<std::uintptr_t, std::uintptr_t> recent{0, 0};
  if (address >= recent.first && address < recent.second) return true;
  const std::vector<Module> all = modules();
  const Module* module = module_of(all, address);
  if (module == nullptr) return false;
  for (const auto& segment : module->segments) {
    if (address >= segment.first && address < segment.second) recent = segment;
  }
  return true;
}

}  // namespace halfulp::gpu::simt
