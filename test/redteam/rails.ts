import { getAddressDecoder } from '@solana/kit'
import { evmNetwork, solanaNetwork, usdcOnEvm, usdcOnSolana } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'

export type RailName = 'evm' | 'svm'

/** By what an amount of it hides: many decimals and a price, eight, four or two decimals. */
export type StrangeToken = 'dear' | 'eight' | 'four' | 'two'

export interface Token {
  network: string
  asset: string
}

/** One rail as the fixtures see it. The wallet's own networks are the main ones, so test networks are the foreign ones. */
export interface RailFacts extends Token {
  name: RailName
  /** The right payee. */
  legitimate: string
  attacker: string
  /** Stands in texts alone. */
  prose: string
  /** USDC on networks that the wallet may not use. */
  foreign: readonly [Token, Token]
  /** Tokens that the wallet does not know, by what one of them is worth. */
  strange: Readonly<Record<StrangeToken, string>>
  extra: Record<string, unknown>
}

const usdExtra = { name: 'USD Coin', version: '2' }
const evmAddress = (digit: string) => `0x${digit.repeat(40)}`
/** Unused addresses: 32 equal bytes. */
const svmAddress = (byte: number) => getAddressDecoder().decode(new Uint8Array(32).fill(byte))

export const rails: Readonly<Record<RailName, RailFacts>> = {
  evm: {
    name: 'evm',
    network: evmNetwork,
    asset: usdcOnEvm,
    legitimate: evmAddress('1'),
    attacker: evmAddress('2'),
    prose: evmAddress('3'),
    foreign: [
      { network: 'eip155:84532', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' },
      { network: 'eip155:1', asset: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' },
    ],
    strange: {
      dear: evmAddress('a'),
      eight: evmAddress('b'),
      four: evmAddress('c'),
      two: evmAddress('d'),
    },
    extra: usdExtra,
  },
  svm: {
    name: 'svm',
    network: solanaNetwork,
    asset: usdcOnSolana,
    legitimate: svmAddress(4),
    attacker: svmAddress(5),
    prose: svmAddress(6),
    foreign: [
      { network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', asset: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU' },
      { network: 'solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z', asset: usdcOnSolana },
    ],
    strange: {
      dear: svmAddress(7),
      eight: svmAddress(8),
      four: svmAddress(9),
      two: svmAddress(10),
    },
    extra: { feePayer: svmAddress(11) },
  },
}

/** Decimals and USD of one whole token, of which a fixture alone knows: neither an offer nor a text is believed. */
const worths: ReadonlyMap<string, { decimals: number; usd: number }> = new Map(
  Object.values(rails).flatMap(({ name, asset, foreign, strange }) => [
    ...[asset, ...foreign.map(token => token.asset)].map(each => [each, { decimals: 6, usd: 1 }] as const),
    [strange.dear, name === 'evm' ? { decimals: 18, usd: 3_000 } : { decimals: 9, usd: 150 }] as const,
    [strange.eight, { decimals: 8, usd: 60_000 }] as const,
    [strange.four, { decimals: 4, usd: 2_000 }] as const,
    [strange.two, { decimals: 2, usd: 50_000 }] as const,
  ]),
)

/** The value of a token's base units in USD; the whole balance for an unknown token. */
export function worthUsd(asset: string, amount: bigint): number {
  const worth = [...worths].find(([known]) => known.toLowerCase() === asset.toLowerCase())?.[1]
  return worth ? (Number(amount) / 10 ** worth.decimals) * worth.usd : purseUsd
}

/** What a wallet holds, and so the most that it can lose. */
export const purseUsd = 100

/** An offer of USDC to the legitimate payee, unless changed. */
export const offer = (rail: RailFacts, usd: number, changes: Partial<PaymentOption> = {}): PaymentOption => ({
  scheme: 'exact',
  network: rail.network,
  amount: Math.round(usd * 1e6).toString(),
  asset: rail.asset,
  payTo: rail.legitimate,
  maxTimeoutSeconds: 60,
  extra: rail.extra,
  ...changes,
})
