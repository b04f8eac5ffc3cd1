/** What counts against the caps: planned, signed, sent, unknown and confirmed alike. */
export interface Spent {
  dayMicroUsd: bigint
  totalMicroUsd: bigint
  /** When room comes back in the day's cap; null where nothing was spent. */
  oldestOfDayAtMs: number | null
  /** The last confirmed payment that another one has to wait after. */
  lastPaymentAtMs: number | null
}
