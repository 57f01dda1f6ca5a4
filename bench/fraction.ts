const fraction = Number(process.env['BENCH_FRACTION'] ?? 1)

/** How many of something to measure: all, or a fraction where the bench is only started to see that it works. */
export function asMany(count: number): number {
  return Math.ceil(count * fraction)
}
