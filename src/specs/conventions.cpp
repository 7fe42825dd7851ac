#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/reflect/member.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/zoo.hpp>

namespace mlsysim {

Conventions conventions_of(const Zoo& zoo) {
  Conventions out;
  for (const auto& f : describe<Conventions>()) {
    if (f.kind == ValueKind::object) continue;
    const auto& figure = zoo.scalar("default." + f.name);
    const AnyQuantity& value = figure.value;
    if (!(value.exponents() == f.exps))
      throw DimensionError({.id = "mlsysim.spec.010",
                            .message = "the default '" + figure.name + "' has another dimension than its use",
                            .key = figure.name,
                            .found = std::string(value.text()),
                            .expected = "a value in " + std::string(f.unit.empty() ? "no unit" : f.unit)});
    check_range(f, value.base());
    f.write(&out, Value{value.base()});
  }
  out.device_class = &zoo.at<DeviceClass>(kDeviceClass);
  out.products = &zoo.at<KernelFamily>(kProducts);
  out.attention = &zoo.at<KernelFamily>(kAttention);
  out.collectives = &zoo.at<KernelFamily>(kCollectives);
  out.recurrences = &zoo.at<KernelFamily>(kRecurrences);
  return out;
}

}  // namespace mlsysim
