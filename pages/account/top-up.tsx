import type { JSX } from 'preact'
import { me } from './session.ts'

/** How to buy credit. */
export function TopUp(): JSX.Element {
  return (
    <section aria-labelledby="top-up-title">
      <h2 id="top-up-title">Top up</h2>
      <p>
        A wallet buys credit in USDC: <a href="/docs/topUpX402Balance">POST /x402/top-up</a> says how
        {me.value?.kind === 'key' ? ', for the wallet’s own account. For this one, ask the operator.' : '.'}
      </p>
    </section>
  )
}
