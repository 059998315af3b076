// Random choices for generators, on RapidCheck. Include from .cpp files only: the header is heavy.
//
//   Choices choose(random, size);
//   c.set("dim", choose.size_near(kernel.edges, 130));
//
// Every choice splits the generator's random state once, so that the same state makes the same
// case.
#pragma once
#include <rapidcheck.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/kernel.hpp"
#include "properties/case.hpp"

namespace halfulp::properties {

class Choices {
 public:
  Choices(const rc::Random& random, int size) : random_(random), size_(size) {}

  template <class T>
  T operator()(const rc::Gen<T>& generator) {
    return generator(random_.split(), size_).value();
  }

  // Uniform on [low, high], whatever the size.
  std::int64_t between(std::int64_t low, std::int64_t high);
  bool one_in(int count) { return between(1, count) == 1; }
  std::uint64_t bits();

  template <class T>
  T weighted(std::initializer_list<std::pair<std::size_t, T>> options) {
    return (*this)(rc::gen::weightedElement<T>(options));
  }
  std::string_view word(const std::vector<std::string_view>& words);

  // A size that a kernel with these edges treats differently from its neighbours: 0 (when `zero`),
  // 1, an edge or one beside it, twice an edge and one, a small prime; at most `largest`.
  std::int64_t size_near(const std::vector<int>& edges, std::int64_t largest, bool zero = false);

  int size() const { return size_; }

 private:
  rc::Random random_;
  int size_;
};

// The fields that every operation has: storage, fill (probe or not), layout, schedule, seed. `tiny`
// cases may get every schedule.
void choose_common(Choices& choose, const gpu::Kernel& kernel, gpu::Backend backend, bool tiny,
                   Case& c);

// One case in eight also gets a law that applies to it. Call last: it looks at the whole case.
void choose_law(Choices& choose, Case& c);

}  // namespace halfulp::properties
