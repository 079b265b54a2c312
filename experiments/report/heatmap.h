#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "autograd/array/shape.h"
#include "experiments/report/palette.h"

// Matrices as pictures: a cell is a block of 24-bit colour, or characters where colour is off.

namespace experiments::report {

using autograd::Index;

/// What is drawn on.
struct Canvas {
  bool color = false;
  bool unicode = false;
  std::size_t width = 100;
};

struct Heatmap {
  std::string title;           // above
  std::vector<double> values;  // row-major
  std::string caption;         // below; "" for none
};

/// Maps of one size, one range and the same labels.
struct Heatmaps {
  Index rows = 0, columns = 0;
  std::vector<Heatmap> maps = {};
  std::vector<std::string> row_labels = {}, column_labels = {};  // none, or one each
  Hues hues = Hues::sequential;
  double high = 1;    // values lie in [0, high], or [-high, high] if diverging
  Index marked = -1;  // the row that a > points at
};

/// Side by side, in as few and as equal strips as the width allows. Cells are two columns wide, or
/// one if a single map would not fit otherwise. Labels are made printable, and cut; those
/// of columns run downwards. A value that is not finite is shown as "?". Each line ends in "\n".
///
/// In characters, a cell of [0, high] is one of ten levels. A diverging cell has a sign before its
/// level; if one column wide, it is a digit (positive) or a letter (negative).
std::string draw(const Heatmaps& maps, const Canvas& canvas);

/// One line: what the colours or characters stand for.
std::string legend(const Heatmaps& maps, const Canvas& canvas);

}  // namespace experiments::report
