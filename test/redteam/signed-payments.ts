import { recoverTypedDataAddress } from 'viem'
import type { SeenRequest } from './hostile-hosts.ts'
import { worthUsd } from './rails.ts'
import { svmLegs } from './svm-legs.ts'

/** Value that a signed request would move, whether it was accepted or not. */
export interface SignedPayment {
  host: string
  path: string
  /** The same bytes sent again have the same key: they move the value once. */
  key: string
  /** The header itself, to look for it where it must not stand. */
  header: string
  network: string
  asset: string
  payTo: string
  payer: string
  amount: bigint
  usd: number
  /** From its arrival to its end; null where the chain bounds it. */
  lifeSeconds: number | null
  /** Whether signature and what the client says it accepted belong together. */
  isSound: boolean
}

interface Payload {
  accepted?: { network?: string; asset?: string; payTo?: string; amount?: string; extra?: Record<string, unknown> }
  payload?: { signature?: string; authorization?: Record<string, string>; transaction?: string }
}

/** Every payment in these requests, wherever it stands: in a header of any name, or in a body. */
export async function signedPayments(requests: readonly SeenRequest[]): Promise<SignedPayment[]> {
  const found = requests.flatMap(request => payloadsOf(request).map(([header, read]) => ({ request, header, read })))
  const signed = await Promise.all(
    found.map(async ({ request: { host, path, atMs }, header, read }) => {
      const legs = await legsOf(read, atMs)
      return legs.map(leg => ({ host, path, header, ...leg }))
    }),
  )
  return signed.flat()
}

/** One of each: what was sent again moves nothing more. */
export const distinct = (payments: readonly SignedPayment[]): SignedPayment[] => [
  ...new Map(payments.map(payment => [payment.key, payment])).values(),
]

/** Requests that carry more than one payment, or one under several names. */
export const doubledHeaders = (requests: readonly SeenRequest[]): number =>
  requests.filter(request => payloadsOf(request).length > 1).length

function payloadsOf({ rawHeaders, body }: SeenRequest): [string, Payload][] {
  const values = rawHeaders.filter((_, index) => index % 2 === 1)
  return [...values, body].flatMap(text => {
    const read = readPayload(text)
    return read ? [[text, read] as [string, Payload]] : []
  })
}

function readPayload(text: string): Payload | null {
  for (const json of [text, Buffer.from(text, 'base64').toString()]) {
    try {
      const read: Payload | null = JSON.parse(json)
      if (read?.payload?.authorization || read?.payload?.transaction) return read
    } catch {
      // No JSON, so no payment.
    }
  }
  return null
}

type Leg = Omit<SignedPayment, 'host' | 'path' | 'header'>

async function legsOf(read: Payload, atMs: number): Promise<Leg[]> {
  const { accepted = {}, payload = {} } = read
  if (payload.transaction) {
    const { key, legs } = await svmLegs(payload.transaction)
    return legs.map(({ mint, owner, amount, payer, isSigned }, index) => ({
      key: `${key}:${index}`,
      network: accepted.network ?? '',
      asset: mint,
      payTo: owner,
      ...{ amount, payer },
      usd: worthUsd(mint, amount),
      lifeSeconds: null,
      isSound: isSigned && accepted.asset === mint && accepted.payTo === owner && accepted.amount === amount.toString(),
    }))
  }
  const { from = '', to = '', value = '0', validBefore = '0', nonce = '' } = payload.authorization ?? {}
  const [network = '', asset = ''] = [accepted.network, accepted.asset]
  return [
    {
      key: `${network}:${asset}:${nonce}`,
      network,
      asset,
      payTo: to,
      payer: from,
      amount: BigInt(value),
      usd: worthUsd(asset, BigInt(value)),
      lifeSeconds: Number(validBefore) - Math.floor(atMs / 1_000),
      isSound: accepted.payTo === to && accepted.amount === value && (await isSigned(read)),
    },
  ]
}

async function isSigned({ accepted = {}, payload = {} }: Payload): Promise<boolean> {
  const { from = '', to = '', value = '', validAfter = '', validBefore = '', nonce = '' } = payload.authorization ?? {}
  try {
    const signer = await recoverTypedDataAddress({
      domain: {
        name: String(accepted.extra?.name),
        version: String(accepted.extra?.version),
        chainId: Number(accepted.network?.split(':')[1]),
        verifyingContract: hex(accepted.asset?.toLowerCase()),
      },
      types: {
        TransferWithAuthorization: [
          { name: 'from', type: 'address' },
          { name: 'to', type: 'address' },
          { name: 'value', type: 'uint256' },
          { name: 'validAfter', type: 'uint256' },
          { name: 'validBefore', type: 'uint256' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      primaryType: 'TransferWithAuthorization',
      message: {
        from: hex(from),
        to: hex(to.toLowerCase()),
        value: BigInt(value),
        validAfter: BigInt(validAfter),
        validBefore: BigInt(validBefore),
        nonce: hex(nonce),
      },
      signature: hex(payload.signature),
    })
    return signer.toLowerCase() === from.toLowerCase()
  } catch {
    return false
  }
}

const hex = (text: string | undefined) => (text ?? '0x') as `0x${string}`
