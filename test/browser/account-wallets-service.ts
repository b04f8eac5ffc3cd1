import { randomUUID } from 'node:crypto'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { systemClock } from '#contract/time.ts'
import { evmNetwork, solanaNetwork, usdcOnSolana } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { openEvmPaymentChain } from '#payments/evm/evm-payment-chain.ts'
import { openLocalFacilitator } from '#payments/evm/local-facilitator.ts'
import { RailChains, RailFacilitators } from '#payments/rails/rails.ts'
import { openSvm } from '#payments/solana/open-svm.ts'
import { TopUps } from '#payments/top-ups/top-up.ts'
import { Listener } from '#service/http/listener.ts'
import { newSvmAccount, type SvmAccount, type SvmChain } from '../payments/svm-chain.ts'
import { newAccount, type TestChain } from '../payments/test-chain.ts'
import { optionTo } from '../payments/top-up-world.ts'
import { type OpenedService, openService, type TestClock } from '../service/open-service.ts'

export interface PayableService {
  url: string
  service: OpenedService
  /** Receives the money on Base. */
  evmPayee: string
  solanaPayee: SvmAccount
  close(): Promise<void>
}

/** A service on a port of this machine that takes payments on both chains. */
export async function servePayable(evm: TestChain, solana: SvmChain): Promise<PayableService> {
  const listener = await Listener.open({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${listener.port}`
  const key = generatePrivateKey()
  await evm.fund(privateKeyToAccount(key).address)
  const [feePayer, solanaPayee, evmPayee] = [await newSvmAccount(), await newSvmAccount(), newAccount().address]
  solana.node.airdrop(feePayer.signer.address, 1_000_000_000n)
  await solana.mint(solanaPayee.address, 0n)
  const facilitator = await openLocalFacilitator({ network: evmNetwork, rpcUrl: evm.url, key })
  const chain = await openEvmPaymentChain({ rpcUrl: evm.url, confirmations: 0 })
  const { payTo, rpcUrl } = { payTo: solanaPayee.address, rpcUrl: solana.url }
  const svm = openSvm({ payTo, rpcUrl, commitment: 'confirmed', feePayerKey: feePayer.secretKey }, systemClock)
  const paymentOptions: PaymentOption[] = [
    optionTo(evmPayee),
    {
      ...{ scheme: 'exact', network: solanaNetwork, amount: '5000000', asset: usdcOnSolana, payTo },
      ...{ maxTimeoutSeconds: 300, extra: { feePayer: feePayer.address } },
    },
  ]
  const note = () => undefined
  const service = await openService({
    clock: systemClock as TestClock,
    settings: { publicUrl: url, signInDomains: [`127.0.0.1:${listener.port}`], paymentOptions },
    payments: store =>
      new TopUps({
        settings: { publicUrl: url, paymentOptions },
        ...{ store, clock: systemClock, owner: randomUUID(), log: { info: note, warn: note, error: note } },
        facilitator: new RailFacilitators({ evm: facilitator, svm: svm.facilitator }),
        chain: new RailChains({ evm: chain, svm: svm.chain }),
        ...(svm.drafts ? { drafts: { [solanaNetwork]: svm.drafts } } : {}),
      }),
  })
  listener.serve((request, bindings) => service.service.app.fetch(request, bindings))
  return {
    ...{ url, service, evmPayee, solanaPayee },
    async close() {
      await listener.close(0)
      await service.close()
    },
  }
}
