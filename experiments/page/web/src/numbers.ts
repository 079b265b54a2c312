/** Three significant digits; "-0.0123", "1.2e-7". */
export function short(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
  if (value === 0) return "0";
  const exponent = Number(value.toExponential(digits - 1).split("e")[1]);
  if (exponent < -4 || exponent >= 7) return value.toExponential(digits - 1);
  return value.toFixed(Math.max(digits - 1 - exponent, 0));
}

/** With its sign, for the terms of a sum. */
export const signed = (value: number): string => (value < 0 ? short(value).replace("-", "− ") : `+ ${short(value)}`);

/** All digits, as csv has them. */
export function exact(value: number): string {
  const text = String(value);
  return /[.eNI]/.test(text) ? text : `${text}.0`;
}
