#include "reference/answer.hpp"
