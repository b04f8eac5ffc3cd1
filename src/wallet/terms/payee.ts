/** A token on a chain that may be paid with; its unit is a micro-USD (six decimals), whatever an offer says. */
export interface Rail {
  /** CAIP-2. */
  network: string
  asset: string
}

/** Who may be paid for which service. */
export interface Payee extends Rail {
  origin: string
  payTo: string
}
