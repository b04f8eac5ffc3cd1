import { ExactEvmScheme } from '@x402/evm/exact/client'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { SignedTopUp } from '../load-records.ts'

/** Signs a top-up with the reference client's own scheme. */
export async function signTopUp(
  wallet: PrivateKeyAccount,
  option: PaymentOption,
  amountMicroUsd: bigint,
): Promise<SignedTopUp> {
  const accepted = { ...option, amount: `${amountMicroUsd}` } as Parameters<ExactEvmScheme['createPaymentPayload']>[1]
  const made = await new ExactEvmScheme(wallet).createPaymentPayload(2, accepted)
  const { authorization } = made.payload as { authorization: { nonce: string; validBefore: string } }
  return {
    kind: 'top-up',
    wallet: wallet.address,
    nonce: authorization.nonce.toLowerCase(),
    amountMicroUsd,
    header: Buffer.from(JSON.stringify({ ...made, accepted })).toString('base64'),
    validBeforeMs: Number(authorization.validBefore) * 1000,
    expired: false,
    acknowledged: null,
  }
}
