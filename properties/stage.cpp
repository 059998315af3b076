// Shared memory of two words; see stage.hpp.
#include "properties/stage.hpp"

#include <sys/mman.h>

#include <new>

#include "properties/assert.hpp"

namespace halfulp::properties {

StageBoard::StageBoard() {
  void* memory =
      mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  HALFULP_ASSERT(memory != MAP_FAILED, "no page of shared memory");
  words_ = new (memory) Words{};
}

StageBoard::~StageBoard() { munmap(words_, sizeof(Words)); }

void StageBoard::enter(Stage stage) {
  words_->stage.store(static_cast<std::uint32_t>(stage));
  words_->entered.fetch_add(1);
}

Stage StageBoard::stage() const {
  return words_->stage.load() == static_cast<std::uint32_t>(Stage::ours) ? Stage::ours
                                                                         : Stage::kernel;
}

std::uint32_t StageBoard::entered() const { return words_->entered.load(); }

}  // namespace halfulp::properties
