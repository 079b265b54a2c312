#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/slope.h"

namespace autograd {

/// Puts the arrays of the inputs that require a gradient back when it ends, also when f throws.
class RestoreInputs {
 public:
  explicit RestoreInputs(const std::vector<Tensor>& inputs);
  ~RestoreInputs();
  RestoreInputs(const RestoreInputs&) = delete;
  RestoreInputs& operator=(const RestoreInputs&) = delete;

  const Array& original(std::size_t k) const { return originals_[k]; }
  void put_back(std::size_t k) { inputs_[k].set_data(originals_[k]); }

 private:
  std::vector<Tensor> inputs_;  // handles on the same tensors
  std::vector<Array> originals_;
};

/// The second half of gradcheck: moves elements of the inputs, evaluates f and holds the given
/// gradients to the slopes it sees.
class GradientComparison {
 public:
  /// What stays the same during one check. `value` evaluates f at the inputs as they are now.
  struct Setting {
    std::function<Array()> value;
    const std::vector<Tensor>& inputs;
    RestoreInputs& restore;
    const Array& cotangent;
    const GradcheckOptions& options;
  };

  /// What messages call input k.
  static std::string input_name(const GradcheckOptions& options, std::size_t k);

  GradientComparison(const Setting& setting, Generator& generator)
      : setting_(setting), cotangent_(&setting_.cotangent), generator_(generator) {}

  void compare_input(std::size_t k, const Array& gradient);
  /// After all inputs: the elements that were left undecided, with the gradients of another
  /// cotangent.
  void compare_undecided(const Array& cotangent, const std::vector<Array>& gradients);
  /// After all inputs: the kinks found, moved by the same amount at once.
  void compare_kinks();
  /// Counts and the worst element; the message is up to the caller.
  const GradcheckReport& report() const { return report_; }
  /// Whether f was flat, bit for bit, in all that was compared.
  bool vacuous() const { return report_.checked > 0 && flat_ == report_.checked; }
  /// Whether no number could be told from rounding.
  bool undecided() const {
    return report_.undecided > 0 && flat_ + report_.undecided == report_.checked;
  }
  std::string wrong_text() const;
  std::string kink_text() const;       // "" without kinks
  std::string undecided_text() const;  // "" where all were decided

 private:
  void compare_element(std::size_t k, Index index, double analytic);
  void compare_direction(std::size_t k, const Array& gradient);
  void compare(std::size_t k, Index index, double analytic, const Difference& difference);
  void note_kink(const GradcheckElement& element, const Slope& slope);
  std::vector<Index> chosen_elements(Index numel);
  Difference along(std::function<void(double t)> move) const;
  std::string place(const GradcheckElement& element) const;
  std::string input_of(const GradcheckElement& element) const {
    return input_name(setting_.options, static_cast<std::size_t>(element.input));
  }

  Setting setting_;
  const Array* cotangent_;
  Generator& generator_;
  GradcheckReport report_;
  std::vector<GradcheckElement> kinks_;                   // the elements that are at one
  std::vector<std::pair<std::size_t, Index>> undecided_;  // (input, element)
  Index flat_ = 0;                                        // numbers of SlopeKind::flat
  std::string kink_text_;       // on the first kink, or the first that is wrong
  std::string undecided_text_;  // on the last one
};

}  // namespace autograd
