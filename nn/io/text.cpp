#include "nn/io/text.h"

#include <fmt/format.h>

namespace nn {

std::string quote(std::string_view text, std::size_t limit) {
  std::string out = fmt::format("{:?}", text.substr(0, 4 * limit));  // 4 bytes at most a character
  out = out.substr(1, out.size() - 2);
  std::size_t characters = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool begins_one = (out[i] & 0xc0) != 0x80;
    if (begins_one && ++characters > limit) return "'" + out.substr(0, i) + "...'";
  }
  return "'" + out + "'";
}

}  // namespace nn
