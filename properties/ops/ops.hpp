// The rows of properties/operation.cpp's table, one file each.
#pragma once
#include "properties/operation.hpp"

namespace halfulp::properties {

Operation vector_add_operation();
Operation scatter_normalize_operation();
Operation graph_attention_operation();
Operation matmul_operation();
Operation flash_attention_operation();

}  // namespace halfulp::properties
