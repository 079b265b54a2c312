#pragma once

#include <string>
#include <string_view>

namespace nn {

/// `text` from outside between single quotes, harmless in a message: control characters and bytes
/// that are not UTF-8 as escapes ("\n", "\x1b"), cut to `limit` characters.
std::string quote(std::string_view text, std::size_t limit = 100);

}  // namespace nn
