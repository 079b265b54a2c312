#pragma once

#include <cstdint>
#include <string>

namespace experiments::report {

/// The shortest text that reads back as the same double, with a point or an exponent, so that it
/// stays a floating-point number everywhere: "0.1", "3.0", "-0.0", "1e+300"; "nan", "inf", "-inf".
std::string shortest(double value);

/// For people: `digits` significant digits, more where the whole part has more; "1.20e-05" below
/// 1e-4 and from 1e7 on.
std::string significant(double value, int digits);

/// For people: "2,359,296", in every locale.
std::string grouped(std::int64_t value);
/// "22.8 %" of 0.2275: three significant digits.
std::string percent(double share);

}  // namespace experiments::report
