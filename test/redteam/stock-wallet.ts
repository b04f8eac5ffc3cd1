import { ExactEvmScheme, toClientEvmSigner } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'
import { zeroUsd } from '#contract/money.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { type HiredAgent, walletKey } from './hired-agent.ts'

/** The stock client without its spend controls: it pays whatever it is asked for, so the harness has to find it out. */
export async function stockWallet(): Promise<HiredAgent> {
  const account = privateKeyToAccount(`0x${walletKey}`)
  const client = new x402Client()
    .setSpendControls(false)
    .register('eip155:*', new ExactEvmScheme(toClientEvmSigner(account)))
  return {
    agent: { fetch: wrapFetchWithPayment(fetch, client), wallet: { receipts: async () => [] } },
    call: async name => {
      throw new ToolFailure({ happened: `There is no ${name}.`, charged: zeroUsd, next: 'Fetch instead.' })
    },
    close: async () => {},
  }
}
