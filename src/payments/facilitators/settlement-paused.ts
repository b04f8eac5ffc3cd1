/** A good payment cannot be brought to the chain for a while; nothing was taken. `message` is one sentence for the payer. */
export class SettlementPaused extends Error {
  override readonly name = 'SettlementPaused'
}
