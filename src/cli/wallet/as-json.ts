/** Amounts are texts of micro-USD, as JSON has no integers of that size. */
export const asJson = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? member.toString() : member))
