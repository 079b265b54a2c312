#include "autograd/gradcheck/op_cases.h"

namespace autograd {

std::span<const GradcheckCase> op_cases() {
  static const std::vector<GradcheckCase> cases = [] {
    std::vector<GradcheckCase> all = detail::elementwise_cases();
    for (const std::vector<GradcheckCase>& part :
         {detail::reduction_cases(), detail::layout_cases()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return cases;
}

}  // namespace autograd
