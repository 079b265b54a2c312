#pragma once

#include <string>

namespace experiments::report {

/// The hues of a map: from 0 up, or both ways from 0.
enum class Hues { sequential, diverging };

struct Rgb {
  int red, green, blue;
  friend bool operator==(const Rgb&, const Rgb&) = default;
};

/// sequential: `share` in [0, 1], dark violet to bright yellow. diverging: in [-1, 1], bright blue,
/// near black at 0, bright orange. Clamped.
Rgb color_of(Hues hues, double share);

/// The escape sequence that sets the background (24-bit colour).
std::string background(Rgb color);
inline constexpr const char* kPlain = "\x1b[0m";

/// Levels 0 to 9, darkest first.
inline constexpr const char* kRamp = " .:-=+*#%@";

}  // namespace experiments::report
