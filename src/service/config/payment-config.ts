import { z } from 'zod'
import { evmNetwork, smallestTopUpMicroUsd, usdcNameOnEvm, usdcOnEvm } from '#contract/wire/networks.ts'
import { onRampAt, onRampLength } from '#contract/wire/on-ramp.ts'
import { mostConfirmations } from '#payments/bounds.ts'
import { cdpFacilitatorUrl, cdpHeaders, cdpSecretNeeded, readCdpSecret } from '#payments/facilitators/cdp-key.ts'
import type { RemoteFacilitatorSettings } from '#payments/facilitators/remote-facilitator.ts'
import type { PaymentSettings } from '#payments/rails/rails.ts'
import { count, HttpUrl } from './config-values.ts'

const EvmAddress = z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'an address: 0x and 40 hexadecimal digits')

/** Long enough for a wallet to ask its owner. */
const maxTimeoutSeconds = 300

const facilitatorShape = {
  /** May be absent with `cdp`. */
  url: HttpUrl.optional(),
  /** The whole header, such as `Bearer …`. */
  authorization: z.string().optional(),
  /** A key of Coinbase's facilitator, which requires a new token for each request. */
  cdp: z
    .strictObject({
      apiKeyId: z.string().min(1),
      apiKeySecret: z.string().refine(secret => readCdpSecret(secret) !== null, cdpSecretNeeded),
    })
    .optional(),
}

type FacilitatorWords = z.output<z.ZodObject<typeof facilitatorShape>>

const hasUrl = ({ url, cdp }: FacilitatorWords) => url !== undefined || cdp !== undefined
const hasOneKey = ({ authorization, cdp }: FacilitatorWords) => !authorization || !cdp

const withoutUrl = { path: ['url'], error: 'Field is required' }
const twoKeys = 'Set either authorization or cdp'

const EvmFacilitator = z.strictObject(facilitatorShape).refine(hasUrl, withoutUrl).refine(hasOneKey, twoKeys)
const SolanaFacilitator = z
  .strictObject({ ...facilitatorShape, feePayer: z.string().min(32).max(44) })
  .refine(hasUrl, withoutUrl)
  .refine(hasOneKey, twoKeys)

const Evm = z
  .strictObject({
    /** CAIP-2; Base by default. */
    network: z
      .string()
      .regex(/^eip155:\d{1,18}$/, 'a network such as eip155:8453')
      .default(evmNetwork),
    token: z
      .strictObject({ address: EvmAddress, name: z.string().min(1), version: z.string().min(1) })
      .default({ address: usdcOnEvm, name: usdcNameOnEvm, version: '2' }),
    payTo: EvmAddress,
    rpcUrl: HttpUrl,
    confirmations: count(0, mostConfirmations).default(10),
    facilitatorKey: z
      .string()
      .regex(/^0x[0-9a-fA-F]{64}$/, 'a private key: 0x and 64 hexadecimal digits')
      .optional(),
    facilitator: EvmFacilitator.optional(),
    feesPerHourWei: z
      .string()
      .regex(/^\d{1,30}$/, 'wei in quotes, digits only')
      .optional(),
    contractWallets: z.boolean().default(false),
  })
  .refine(
    ({ facilitatorKey, facilitator }) => !facilitatorKey !== !facilitator,
    'Set either facilitatorKey or facilitator',
  )

const Solana = z
  .strictObject({
    payTo: z.string().min(32).max(44),
    rpcUrl: HttpUrl,
    commitment: z.enum(['confirmed', 'finalized']).default('confirmed'),
    feePayerKey: z.string().optional(),
    facilitator: SolanaFacilitator.optional(),
  })
  .refine(({ feePayerKey, facilitator }) => !feePayerKey !== !facilitator, 'Set either feePayerKey or facilitator')

const anyWallet = { address: '0', network: evmNetwork }

const OnRampTemplate = z
  .string()
  .refine(
    text => onRampAt(text, anyWallet) !== null,
    `an https address of at most ${onRampLength} characters, without a name and password; {address} and {network} stand for the wallet's`,
  )

export const PaymentConfig = z.strictObject({
  evm: Evm,
  solana: Solana.optional(),
  /** Where a wallet's owner can buy USDC. */
  onRamp: OnRampTemplate.optional(),
})

/** Returns the settings for `openService`. */
export function paymentSettings({ evm, solana, onRamp }: z.output<typeof PaymentConfig>): PaymentSettings {
  const { network, token, payTo, facilitatorKey, facilitator, feesPerHourWei, ...rest } = evm
  return {
    ...rest,
    options: [
      {
        scheme: 'exact',
        network,
        amount: `${smallestTopUpMicroUsd}`,
        asset: token.address,
        payTo,
        maxTimeoutSeconds,
        extra: { name: token.name, version: token.version },
      },
    ],
    ...(facilitatorKey ? { facilitatorKey: facilitatorKey as `0x${string}` } : {}),
    ...(facilitator ? { facilitator: facilitatorSettings(facilitator) } : {}),
    ...(feesPerHourWei === undefined ? {} : { feesPerHourWei: BigInt(feesPerHourWei) }),
    ...(solana ? { solana: solanaSettings(solana) } : {}),
    ...(onRamp === undefined ? {} : { onRamp }),
  }
}

function solanaSettings({ facilitator, ...rest }: z.output<typeof Solana>): NonNullable<PaymentSettings['solana']> {
  if (!facilitator) return rest
  return { ...rest, facilitator: { ...facilitatorSettings(facilitator), feePayer: facilitator.feePayer } }
}

/** Returns where a facilitator is, and how we authenticate there. */
export function facilitatorSettings(facilitator: FacilitatorWords): RemoteFacilitatorSettings {
  const { url = cdpFacilitatorUrl, authorization, cdp } = facilitator
  if (cdp) return { url, headers: cdpHeaders(cdp) }
  return authorization === undefined ? { url } : { url, headers: () => ({ authorization }) }
}
