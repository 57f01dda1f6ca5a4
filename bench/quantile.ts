/** Returns the median of the values, in any order; NaN if there are none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** @param share 0.99 for the 99th percentile */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? NaN
}
