#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "autograd/gradcheck/op_cases.h"
#include "autograd/gradcheck/second_order.h"
#include "experiments/registry.h"
#include "experiments/report/text.h"
#include "nn/gradcheck/module_cases.h"

namespace experiments::tools {
namespace {

using autograd::GradcheckCase;
using autograd::GradcheckReport;
using autograd::SecondOrderReport;
using Cases = std::span<const GradcheckCase>;

struct Chosen {
  const GradcheckCase* gradcheck_case;
  const char* kind;  // "op" or "module"
};

/// The case of that name, or else all of its forms: "gelu" is gelu_erf and gelu_tanh.
std::vector<const GradcheckCase*> named(Cases cases, const std::string& name) {
  std::vector<const GradcheckCase*> exact, forms;
  for (const GradcheckCase& c : cases) {
    if (c.name == name) exact.push_back(&c);
    if (name == "all" || c.name.starts_with(name + '_')) forms.push_back(&c);
  }
  return exact.empty() ? forms : exact;
}

std::vector<const GradcheckCase*> require_named(Cases cases, const std::string& flag,
                                                const std::string& name) {
  const std::vector<const GradcheckCase*> found = named(cases, name);
  if (!found.empty() || name == "all") return found;
  std::vector<std::string> names = {"all"};
  for (const GradcheckCase& c : cases) names.push_back(c.name);
  throw UsageError(fmt::format("{}: expected a name from gradcheck --list, or all, got {}{}", flag,
                               report::quote(name), report::did_you_mean(name, names)));
}

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// check_case and check_second_order, where an op that throws has failed too.
GradcheckReport checked(const GradcheckCase& c, std::uint64_t seed, int trials) {
  try {
    return autograd::check_case(c, seed, trials);
  } catch (const autograd::Error& error) {
    GradcheckReport report;
    report.ok = false;
    report.worst.abs_error = report.worst.rel_error = report.worst.excess = kNone;
    report.message = fmt::format("{}: threw {}", c.name, error.what());
    return report;
  }
}
SecondOrderReport checked_second_order(const GradcheckCase& c, std::uint64_t seed, int trials) {
  try {
    return autograd::check_second_order(c, seed, trials);
  } catch (const autograd::Error& error) {
    const std::string message = fmt::format("{}: hvp threw {}", c.name, error.what());
    return {.ok = false, .hvp = kNone, .message = message};
  }
}

class Gradcheck : public Experiment {
 public:
  void add_options(Options& options) override {
    options.text("--op", op_, "op to check, or all; without --module, no layer is checked", "NAME");
    options.text("--module", module_, "layer to check, or all; without --op, no op is checked",
                 "NAME");
    options.integer("--trials", trials_, 0, 10000,
                    "trials of random shapes and inputs, for each; 0: 8, which has every kind of "
                    "shape, or 4 with --quick");
    options.toggle("--list", list_, "list the names instead of checking");
  }

  void validate(const Run& run) override {
    if (run.dtype != autograd::DType::f64)
      throw UsageError("--dtype: gradcheck needs f64, as differences of f32 are noise; got 'f32'");
    const bool both = op_.empty() && module_.empty();
    if (both || !op_.empty())
      for (const auto* c : require_named(autograd::op_cases(), "--op", both ? "all" : op_))
        chosen_.push_back({c, "op"});
    if (both || !module_.empty())
      for (const auto* c : require_named(nn::module_cases(), "--module", both ? "all" : module_))
        chosen_.push_back({c, "module"});
  }

  Report run(const Run& run) override {
    if (list_) return list();
    const int trials = static_cast<int>(trials_ > 0 ? trials_ : run.quick ? 4 : 8);
    Report report;
    report.columns = {{"name", "name"},
                      {"kind", "kind"},
                      {"trials", "trials"},
                      {"checked", "checked"},
                      {"kinks", "kinks"},
                      {"undecided", "undecided"},
                      {"abs_error", "worst error", 2},
                      {"rel_error", "relative", 2},
                      {"excess", "excess", 2},
                      {"second_order", "second order", 2},
                      {"ok", "ok"}};
    std::vector<std::string> failed;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      const GradcheckCase& chosen = *chosen_[i].gradcheck_case;
      int drawn = 0;
      const auto make = [&](autograd::Draw& draw) {
        const double done = static_cast<double>(i) + static_cast<double>(drawn++) / (2 * trials);
        run.progress(done / static_cast<double>(chosen_.size()));
        return chosen.make(draw);
      };
      const GradcheckCase watched{chosen.name, make};
      const GradcheckReport found = checked(watched, run.seed, trials);
      const SecondOrderReport second = checked_second_order(watched, run.seed, trials);
      report.rows.push_back(row(chosen_[i], trials, found, second));
      for (const std::string& message : {found.message, second.message})
        if (!message.empty()) report.notes.push_back(message);
      if (!found.ok || !second.ok) failed.push_back(chosen.name);
    }
    report.notes.emplace_back(
        "excess: the error over what is allowed, 1e-6 |numeric| and what rounding may do to it; "
        "above 1 fails. relative: the error over |analytic| or |numeric|, or over a million times "
        "the rounding where both are smaller. kinks: points where the function bends, held to the "
        "slopes on both sides. undecided: numbers so small that they are lost in the rounding of "
        "the function; a trial in which all are has failed. second order: the excess of exact "
        "Hessian-vector products, held to differences of the gradient, to the symmetry of the "
        "Hessian, and forward mode to backward.");
    report.failed = !failed.empty();
    report.failure = fmt::format("{} of {} gradients are wrong or undecided: {}", failed.size(),
                                 chosen_.size(), report::join(failed, ", "));
    return report;
  }

 private:
  static std::vector<Value> row(const Chosen& chosen, int trials, const GradcheckReport& found,
                                const SecondOrderReport& second) {
    return {chosen.gradcheck_case->name, chosen.kind,
            std::int64_t{trials},        std::int64_t{found.checked},
            std::int64_t{found.kinks},   std::int64_t{found.undecided},
            found.worst.abs_error,       found.worst.rel_error,
            found.worst.excess,          second.worst(),
            found.ok && second.ok};
  }

  Report list() const {
    Report report;
    report.columns = {{"name", "name"}, {"kind", "kind"}};
    for (const Chosen& chosen : chosen_)
      report.rows.push_back({chosen.gradcheck_case->name, chosen.kind});
    return report;
  }

  std::string op_;
  std::string module_;
  Index trials_ = 0;
  bool list_ = false;
  std::vector<Chosen> chosen_;
};

}  // namespace

std::unique_ptr<Experiment> make_gradcheck() { return std::make_unique<Gradcheck>(); }

}  // namespace experiments::tools
