import { randomBytes } from 'node:crypto'
import type { MicroUsd } from '#contract/money.ts'
import { paymentSignature } from '#contract/wire/headers.ts'
import { x402Version } from '#contract/wire/networks.ts'
import type { EvmAuthorization } from '#contract/wire/payment.ts'
import type { WalletKey } from '../keys/keys.ts'
import type { ChosenOption } from '../terms/chosen-option.ts'
import type { SignedPayment } from '../terms/signed-payment.ts'

const nonceBytes = 32

/** EIP-3009, as the token's contract has it. */
const transferTypes = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** Signs one transfer to the chosen payee (x402 version 2, scheme `exact`). The amount is the policy's, not the offer's. */
export async function signExactPayment(
  key: WalletKey,
  chosen: ChosenOption,
  amountMicroUsd: MicroUsd,
  nowMs: number,
): Promise<SignedPayment> {
  if (key.namespace !== 'eip155') throw new TypeError('This key signs for no EVM chain.')
  const { option, payee } = chosen
  const validBeforeSeconds = Math.floor(nowMs / 1_000) + option.maxTimeoutSeconds
  const authorization: EvmAuthorization = {
    from: key.address,
    to: payee.payTo,
    value: amountMicroUsd.toString(),
    // A chain's clock is seconds behind ours; from the beginning of time is what every chain takes.
    validAfter: '0',
    validBefore: validBeforeSeconds.toString(),
    nonce: `0x${randomBytes(nonceBytes).toString('hex')}`,
  }
  const signature = await key.signTypedData({
    domain: {
      name: chosen.tokenName,
      version: chosen.tokenVersion,
      chainId: chainIdOf(payee.network),
      verifyingContract: lowerCase(payee.asset),
    },
    types: transferTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      from: authorization.from,
      to: lowerCase(payee.payTo),
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
      nonce: authorization.nonce,
    },
  })
  const { scheme, network, asset, payTo, maxTimeoutSeconds, extra } = option
  const accepted = { scheme, network, amount: authorization.value, asset, payTo, maxTimeoutSeconds, extra }
  return {
    payload: paymentSignature.format({ x402Version, accepted, payload: { signature, authorization } }),
    nonce: authorization.nonce,
    validBeforeMs: validBeforeSeconds * 1_000,
  }
}

/** Checksums are for people; the hash is over the bytes. */
const lowerCase = (address: string): `0x${string}` => address.toLowerCase() as `0x${string}`

function chainIdOf(network: string): number {
  const id = /^eip155:(\d{1,12})$/.exec(network)?.[1]
  if (id === undefined) throw new TypeError('A rail of this wallet is no EVM chain.')
  return Number(id)
}
