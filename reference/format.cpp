#include "reference/format.hpp"
