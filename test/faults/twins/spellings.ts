/** The ways in which twins write one payment: its header's name, its encoding, the order of its members. */
const spellings: readonly ((payment: object) => [name: string, value: string])[] = [
  payment => ['payment-signature', base64(JSON.stringify(payment))],
  payment => ['x-payment', base64(JSON.stringify(payment))],
  payment => ['x-402-payment', base64(JSON.stringify(payment, null, 1))],
  payment => ['payment-signature', Buffer.from(JSON.stringify(payment)).toString('base64url')],
  payment => ['payment-signature', base64(JSON.stringify(Object.fromEntries(Object.entries(payment).reverse())))],
  payment => [
    'payment-signature',
    base64(JSON.stringify({ ...payment, extensions: { walletAddress: 'somebody else' } })),
  ],
]

const base64 = (text: string): string => Buffer.from(text).toString('base64')

export function spell(payment: object, twin: number): [name: string, value: string] {
  const write = spellings[twin % spellings.length] ?? spellings[0]
  if (!write) throw new Error('There is no way to write a payment.')
  return write(payment)
}
