/** The errors that a run found, and the money that they concern. Amounts are micro-USD. */
export class Findings {
  readonly failures: string[] = []
  /** Acknowledged and not there, or charged differently than acknowledged. */
  lostMicroUsd = 0n
  /** Ledger that do not agree with their own rows, or with the chain. */
  driftMicroUsd = 0n
  holdsLeft = 0

  fail(sentence: string): void {
    if (!this.failures.includes(sentence)) this.failures.push(sentence)
  }

  lose(amountMicroUsd: bigint, sentence: string): void {
    if (this.failures.includes(sentence)) return
    this.lostMicroUsd += magnitude(amountMicroUsd)
    this.fail(sentence)
  }

  drift(amountMicroUsd: bigint, sentence: string): void {
    this.driftMicroUsd = largest(this.driftMicroUsd, magnitude(amountMicroUsd))
    this.fail(sentence)
  }
}

const magnitude = (amount: bigint): bigint => (amount < 0n ? -amount : amount)
const largest = (one: bigint, other: bigint): bigint => (one > other ? one : other)
