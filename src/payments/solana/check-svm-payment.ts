import { usdcDecimals } from '#contract/wire/networks.ts'
import { type PaymentOption, SolanaPayload } from '#contract/wire/payment.ts'
import { placesOf, type ReceivedPayment } from '../payment/payment-header.ts'
import { svmPaymentKey } from '../payment/payment-key.ts'
import { refusedPayment } from '../payment/payment-reasons.ts'
import type { SvmPayment } from '../payment/signed-payment.ts'
import { tokenAccountOf } from './solana-address.ts'
import { isSignedBy } from './solana-key.ts'
import { readMessage, readTransaction } from './solana-message.ts'
import { checkCost, readTransfer, type SvmTransfer } from './svm-transfer.ts'

/**
 * A transaction that does one transfer and is signed by its payer. Whose it is and what it costs is still to be checked.
 * Throws `invalidPayment`.
 */
export function decodeSvmPayment({ payload }: ReceivedPayment, option: PaymentOption): SvmPayment {
  const parsed = SolanaPayload.safeParse(payload)
  if (!parsed.success) throw refusedPayment('payload_members', { members: placesOf(parsed.error.issues) })
  const { message, signatures } = decodeTransaction(parsed.data.transaction)
  const transfer = transferIn(message)
  // The place of the fee payer's signature is ours to fill; what somebody put there says nothing.
  const [, signature] = signatures
  if (signatures.length !== 2 || !signature || !isSignedBy(transfer.payer, message, signature)) {
    throw refusedPayment('invalid_signature')
  }
  return {
    rail: 'svm',
    key: svmPaymentKey(option.network, message),
    option: { ...option, amount: `${transfer.amount}` },
    payer: transfer.payer,
    feePayer: transfer.feePayer,
    destination: transfer.destination,
    message: base64(message),
    signature: base64(signature),
    lastBlockHeight: null,
  }
}

/** Compares all but the amount with our own option, whatever the client says it accepted. Throws `invalidPayment`. */
export function checkSvmTerms({ option, message }: SvmPayment, { accepted }: ReceivedPayment): void {
  const transfer = transferIn(Buffer.from(message, 'base64'))
  const { asset, payTo, extra } = option
  if ((accepted && accepted.asset !== asset) || transfer.mint !== asset || transfer.decimals !== usdcDecimals) {
    throw refusedPayment('wrong_asset', { asset })
  }
  const payee = tokenAccountOf(payTo, asset)
  // From the payee's own account nothing would come in.
  if ((accepted && accepted.payTo !== payTo) || transfer.destination !== payee || transfer.source === payee) {
    throw refusedPayment('wrong_recipient', { payTo })
  }
  if (transfer.feePayer !== extra?.feePayer) throw refusedPayment('wrong_fee_payer', { feePayer: extra?.feePayer })
  checkCost(transfer)
}

function decodeTransaction(text: string) {
  const bytes = Buffer.from(text, 'base64')
  const transaction = bytes.toString('base64') === text ? readTransaction(bytes) : null
  if (!transaction) throw refusedPayment('not_a_transaction')
  return transaction
}

function transferIn(bytes: Uint8Array): SvmTransfer {
  const message = readMessage(bytes)
  if (!message) throw refusedPayment('not_a_transaction')
  return readTransfer(message)
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
