#pragma once

#include <string>
#include <vector>

#include "autograd/array/shape.h"

namespace experiments::training {

using autograd::Index;

/// The texts of the tokens of a model with `rows` of them, from JSON: a list, or an object that
/// maps each text to its number, as vocab.json of GPT-2, whose alphabet of bytes becomes bytes.
/// Rows that have no text because a table was filled up to a multiple of a power of two (50257 to
/// 50304) get
/// "". IoError, and DataError for anything else; both name the path.
std::vector<std::string> read_vocabulary(const std::string& path, Index rows);

}  // namespace experiments::training
