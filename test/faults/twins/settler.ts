/** An honest facilitator of x402 version 2, in the words of its wire; a hostile one spoils what it says. */
export interface Settler {
  kinds(): readonly object[]
  verify(question: WireQuestion): Promise<object>
  settle(question: WireQuestion): Promise<WireSettlement>
}

export interface WireQuestion {
  paymentPayload: { payload: Record<string, unknown>; accepted: { network: string } }
  paymentRequirements: Record<string, unknown>
}

export interface WireSettlement {
  success: boolean
  transaction: string
  errorReason?: string
}
