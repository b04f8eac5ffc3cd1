import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { toFacilitatorSvmSigner } from '@x402/svm'
import { ExactSvmScheme } from '@x402/svm/exact/facilitator'
import { createWalletClient, http, publicActions } from 'viem'
import { solanaNetwork } from '#contract/wire/networks.ts'
import { connectChain } from '#local/evm/token.ts'
import { localServer } from '../../local-server.ts'
import type { SvmAccount, SvmChain } from '../../payments/svm-chain.ts'
import { newAccount, type TestChain } from '../../payments/test-chain.ts'

/** How the facilitator behaves; `lose after` settles and never says so, `lie` says so and settles nothing. */
export type Behaviour = 'settle' | 'lose before' | 'lose after' | 'lie' | 'refuse'

export interface FacilitatorServer {
  url: string
  behaves: Behaviour
  /** Bodies of `/settle`. */
  received: { paymentPayload: { payload: Record<string, unknown> } }[]
  close(): Promise<unknown>
}

export async function stockEvm(chain: TestChain): Promise<FacilitatorServer> {
  const account = newAccount()
  await chain.fund(account.address)
  const transport = http(chain.url)
  const client = createWalletClient({ account, chain: connectChain(chain.url).chain, transport, pollingInterval: 15 })
  const signer = toFacilitatorEvmSigner({
    ...client.extend(publicActions),
    address: account.address,
  } as unknown as Parameters<typeof toFacilitatorEvmSigner>[0])
  return serve(new x402Facilitator().register('eip155:8453', new ExactEvmScheme(signer)), `0x${'ab'.repeat(32)}`)
}

/** Pays fees from each of these accounts, and names the next one whenever it is asked. */
export async function stockSvm(chain: SvmChain, ...feePayers: SvmAccount[]): Promise<FacilitatorServer> {
  const signers = feePayers.map(({ signer }) => toFacilitatorSvmSigner(signer, { defaultRpcUrl: chain.url }))
  const addresses = signers.flatMap(signer => signer.getAddresses())
  const [first] = signers
  if (!first) throw new Error('A facilitator needs an account.')
  const scheme = new ExactSvmScheme({
    ...first,
    getAddresses: () => addresses,
    signTransaction: (transaction, feePayer, network) =>
      (signers[addresses.indexOf(feePayer)] ?? first).signTransaction(transaction, feePayer, network),
  })
  let turn = 0
  scheme.getExtra = () => ({ feePayer: addresses[turn++ % addresses.length] })
  return serve(new x402Facilitator().register(solanaNetwork, scheme), '2'.repeat(88))
}

/** The reference facilitator behind the questions of its protocol. */
async function serve(stock: x402Facilitator, liedTransaction: string): Promise<FacilitatorServer> {
  const server = await localServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (request.url === '/supported') return void response.end(JSON.stringify(stock.getSupported()))
    const body = JSON.parse(Buffer.concat(chunks).toString())
    self.received.push(body)
    const { behaves } = self
    const { network } = body.paymentRequirements
    if (behaves === 'lose before') return void response.destroy()
    if (behaves === 'lie')
      return void response.end(JSON.stringify({ success: true, payer: '', network, transaction: liedTransaction }))
    if (behaves === 'refuse')
      return void response.end(JSON.stringify({ success: false, errorReason: 'too_busy', transaction: '', network }))
    const answer = await stock.settle(body.paymentPayload, body.paymentRequirements)
    if (behaves === 'lose after') response.destroy()
    else response.end(JSON.stringify(answer))
  })
  const self: FacilitatorServer = {
    url: server.url,
    behaves: 'settle',
    received: [],
    close: server.close,
  }
  return self
}
