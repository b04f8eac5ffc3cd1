import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { openEvmPaymentChain } from '#payments/evm/evm-payment-chain.ts'
import { openRemoteEvmFacilitator } from '#payments/evm/open-evm.ts'
import { OneAtATime } from '#payments/facilitators/fee-budget.ts'
import { newAccount, startTestChain, tokenName } from '../../payments/test-chain.ts'
import { sign } from '../../payments/top-up-world.ts'
import { facilitatorAnswerMs, lateMs } from './bounds.ts'
import { evmSettler } from './evm-settler.ts'
import { openHostileFacilitator } from './hostile-facilitator.ts'
import type { Rail } from './rail.ts'

const fiveMicroUsd = 5_000_000n

/** A separate chain with the local token; the hostile facilitator is behind HTTP. */
export async function openEvmRail(): Promise<Rail> {
  const chain = await startTestChain()
  const key = generatePrivateKey()
  await chain.fund(privateKeyToAccount(key).address)
  const option: PaymentOption = {
    scheme: 'exact',
    network: evmNetwork,
    amount: `${fiveMicroUsd}`,
    asset: usdcOnEvm,
    payTo: newAccount().address,
    maxTimeoutSeconds: 300,
    extra: { name: tokenName, version: '2' },
  }
  // The chain counts the minter's transactions only once they are in a block.
  const mints = new OneAtATime()
  const settler = evmSettler(chain.url, key)
  return {
    option,
    chain: await openEvmPaymentChain({ rpcUrl: chain.url, confirmations: 0 }),
    async settleBadly(behaviour) {
      const hostile = await openHostileFacilitator(settler, behaviour, lateMs)
      return {
        openFacilitator: () =>
          openRemoteEvmFacilitator({
            url: hostile.url,
            network: evmNetwork,
            rpcUrl: chain.url,
            answerMs: facilitatorAnswerMs,
          }),
        settlements: () => hostile.asked.filter(({ path }) => path === 'POST /settle').length,
        quiet: () => hostile.quiet(),
        close: () => hostile.close(),
      }
    },
    async pay() {
      const account = newAccount()
      await mints.run(() => chain.mint(account.address, fiveMicroUsd))
      return { payer: account.address.toLowerCase(), payment: await sign(account, option) }
    },
    transfers: () => chain.transactionsTo(option.payTo),
    close: () => chain.stop(),
  }
}
