// What a worker process does: it reads requests, one a line, and answers each with one line.
//
//   process.start([=](int socket) { serve(socket, {.search_s = 5, .board = &board}); });
//   send_line(process.socket(), request(c, Attempt::first));
//
// The answer is the record of a judgement, or kNoMemory. An allocation may fail because this
// machine has too little memory, because of what an earlier kernel did to the heap, or because of
// what this one does. So the first failure is answered with kNoMemory: the worker is to be ended
// and a fresh one asked with Attempt::second. That one first goes through everything that judging
// needs, the kernel aside. Memory that ends there is the machine's lack, and the case is skipped;
// memory that ends only with the kernel is a fault.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "properties/case.hpp"
#include "properties/check.hpp"

namespace halfulp::properties {

enum class Attempt : std::uint8_t { first, second };

constexpr std::string_view kNoMemory = "no memory";  // short: sent without allocating

std::string request(const Case& c, Attempt attempt);
void serve(int socket, const JudgeOptions& options);  // until the socket is closed

}  // namespace halfulp::properties
