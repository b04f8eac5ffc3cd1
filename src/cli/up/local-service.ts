import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { Clock } from '#contract/clock.ts'
import type { PaymentOption } from '#contract/payment.ts'
import type { Log } from '#service/service.ts'
import type { ServiceSettings } from '#service/settings.ts'
import type { Store } from '#service/store/store.ts'
import { CliError } from '../cli-error.ts'
import { type DataFolder, removeFile, writePrivateFile } from '../data-folder.ts'
import { localSecret } from '../folder-service.ts'

export interface LocalServiceOptions {
  folder: DataFolder
  host: string
  /** 0 lets the system choose. */
  port: number
  /** The local token's EIP-712 name, where it is not the default one. */
  tokenName?: string
  log: Log
}

/** A service, its local chain and a wallet with test money, all of one data folder. */
export interface LocalService {
  publicUrl: string
  baseUrl: string
  evmRpcUrl: string
  payee: string
  wallet: { address: string; privateKey: string }
  close(): Promise<void>
}

/** What the wallet is given when it has nothing: enough for several journeys within the default caps. */
const walletMicroUsd = 50_000_000n

/** Running answers get this long when the service stops. */
const stopGraceMs = 5_000

const adminTokenBytes = 32

/** Starts everything; what was started is stopped again where a later part fails. */
export async function startLocalService(options: LocalServiceOptions): Promise<LocalService> {
  const stops: (() => Promise<void>)[] = []
  const stop = async () => {
    for (const each of stops.splice(0).reverse()) await each()
  }
  try {
    return await start(options, stops, stop)
  } catch (error) {
    await stop()
    throw error
  }
}

async function start(
  { folder, host, port, tokenName, log }: LocalServiceOptions,
  stops: (() => Promise<void>)[],
  close: () => Promise<void>,
): Promise<LocalService> {
  await mkdir(folder.root, { recursive: true, mode: 0o700 })
  const parts = await loadParts()
  // The folder first: it is the lock, and everything after it belongs to one process.
  const store = await parts.openSqliteStore({ path: folder.database })
  stops.push(() => store.close())
  const listener = await openListener(parts, host, port)
  stops.push(() => listener.close(stopGraceMs))
  const chain = await parts.startLocalEvmChain({
    dataDir: folder.root,
    ...(tokenName === undefined ? {} : { tokenName }),
  })
  stops.push(() => chain.stop())
  const keys = await parts.loadLocalKeys(folder.root)
  await chain.fundEth(keys.facilitator.address)
  if ((await chain.balanceOf(keys.wallet.address)) === 0n) await chain.mintUsdc(keys.wallet.address, walletMicroUsd)

  const publicUrl = `http://${host.includes(':') ? `[${host}]` : host}:${listener.port}`
  const settings = localSettings(publicUrl, folder, optionOf(chain, keys.payee.address))
  const common = { settings, store, clock: parts.systemClock, log }
  const payments = await openPayments(parts, common, chain, keys.facilitator.privateKey)
  stops.push(() => payments.close())
  const video = new parts.DemoVideo({
    workFolder: folder.engines,
    onComplaint: (jobId, complaint) => log.warn({ jobId, complaint }, 'The video encoder failed.'),
  })
  stops.push(() => video.close())
  const adminToken = randomBytes(adminTokenBytes).toString('base64url')
  const service = new parts.RunningService({
    ...common,
    secrets: [await localSecret(folder)],
    models: parts.demoModels({ chat: new parts.DemoChat(), video }),
    payments,
    adminToken,
  })
  await service.start()
  stops.push(() => service.close())
  listener.serve((request, bindings) => service.app.fetch(request, bindings))
  // Once more, and so before the service: no request may arrive at one that is closing.
  stops.push(() => listener.close(stopGraceMs))
  await writePrivateFile(folder.admin, JSON.stringify({ url: publicUrl, token: adminToken, pid: process.pid }))
  stops.push(() => removeFile(folder.admin))
  await service.warm()
  return {
    publicUrl,
    baseUrl: `${publicUrl}${parts.basePath}`,
    evmRpcUrl: chain.rpcUrl,
    payee: keys.payee.address,
    wallet: keys.wallet,
    close,
  }
}

const localSettings = (publicUrl: string, folder: DataFolder, option: PaymentOption): ServiceSettings => ({
  publicUrl,
  signInDomains: [new URL(publicUrl).host],
  signInWindow: false,
  vendor: 'service',
  hostName: hostname(),
  systemPrompt: '',
  plan: 'default',
  paymentOptions: [option],
  mediaFolder: folder.media,
})

/** Settles on the local chain, and finishes first what an earlier start left behind. */
async function openPayments(
  parts: Parts,
  common: { settings: ServiceSettings; store: Store; clock: Clock; log: Log },
  chain: Chain,
  key: `0x${string}`,
) {
  const { rpcUrl, chainId } = chain
  const payments = new parts.TopUps({
    ...common,
    owner: randomUUID(),
    chain: await parts.openEvmPaymentChain({ rpcUrl }),
    facilitator: await parts.openLocalFacilitator({ network: `eip155:${chainId}`, rpcUrl, key }),
  })
  await payments.completer.start()
  return payments
}

/** Nothing of the service or the chain is loaded before `up` needs it. */
async function loadParts() {
  const [
    open,
    running,
    settings,
    listener,
    chat,
    video,
    models,
    topUp,
    evmChain,
    facilitator,
    clock,
    local,
    localKeys,
  ] = await Promise.all([
    import('#service/store/sqlite/open.ts'),
    import('#service/running-service.ts'),
    import('#service/settings.ts'),
    import('#service/listener.ts'),
    import('#service/engines/demo/chat.ts'),
    import('#service/engines/demo/video.ts'),
    import('#service/models/demo-models.ts'),
    import('#service/payments/top-up.ts'),
    import('#service/payments/evm-payment-chain.ts'),
    import('#service/payments/local-facilitator.ts'),
    import('#contract/clock.ts'),
    import('#local/evm-chain.ts'),
    import('#local/keys.ts'),
  ])
  return {
    ...open,
    ...running,
    ...settings,
    ...listener,
    ...chat,
    ...video,
    ...models,
    ...topUp,
    ...evmChain,
    ...facilitator,
    ...clock,
    ...local,
    ...localKeys,
  }
}

type Parts = Awaited<ReturnType<typeof loadParts>>
type Chain = Awaited<ReturnType<Parts['startLocalEvmChain']>>

async function openListener(parts: Parts, host: string, port: number) {
  try {
    return await parts.Listener.open({ host, port })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') {
      throw new CliError(
        `Port ${port} is taken.`,
        'Choose another with `--port`, or let the system choose with `--port 0`.',
      )
    }
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
      throw new CliError(
        `This machine has no address ${host}.`,
        'Give one that it has with `--host`, such as 127.0.0.1.',
      )
    }
    throw error
  }
}

const optionOf = (chain: Chain, payTo: string): PaymentOption => ({
  scheme: 'exact',
  network: `eip155:${chain.chainId}`,
  amount: '5000000',
  asset: chain.tokenAddress,
  payTo,
  maxTimeoutSeconds: 300,
  extra: { name: chain.tokenName, version: chain.tokenVersion },
})
