/** Names of entries that belong to one request. With the line number they are unique, so nothing is booked twice. */
export const entryRefs = {
  charge: (request: string) => `charge:${request}`,
  writeOff: (request: string) => `writeoff:${request}`,
  staking: (request: string) => `staking:${request}`,
  refund: (request: string) => `refund:${request}`,
  stakingBack: (request: string) => `staking-back:${request}`,
}

/** A credit may not take one of these names. */
export const isReservedRef = (ref: string): boolean => /^(charge|writeoff|staking|refund|staking-back):/.test(ref)
