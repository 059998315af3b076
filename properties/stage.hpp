// What a process that judges is busy with, for the process that watches it: the kernel's own call,
// or work of ours. A word of shared memory, so that telling costs nothing.
//
//   StageBoard board;                         // before the fork; both processes hold it
//   board.enter(Stage::kernel);               // the one that judges
//   if (board.entered() != last) ...          // the one that watches: a stage has ended
#pragma once
#include <atomic>
#include <cstdint>

namespace halfulp::properties {

enum class Stage : std::uint32_t { ours, kernel };

class StageBoard {
 public:
  StageBoard();
  ~StageBoard();
  StageBoard(const StageBoard&) = delete;
  StageBoard& operator=(const StageBoard&) = delete;

  void enter(Stage stage);
  // Anything but `ours` is the kernel: it may have written over this word.
  Stage stage() const;
  std::uint32_t entered() const;  // how often a stage was entered

 private:
  struct Words {
    std::atomic<std::uint32_t> stage;
    std::atomic<std::uint32_t> entered;
  };
  Words* words_ = nullptr;
};

}  // namespace halfulp::properties
