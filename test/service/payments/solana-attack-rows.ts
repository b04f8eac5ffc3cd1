import { type Kept, kept } from './attack-app.ts'

const here = 'service/payments'
const settling = `${here}/svm-settling.test.ts`
const feePayer = `${here}/svm-fee-payer-attacks.test.ts`

/** Published attacks that are about a Solana transaction, with the tests of that rail that keep each. */
export const solanaAttackRows: [row: number, attack: string, answer: string, how: Kept[]][] = [
  [
    3,
    'a replay to books that lost the payment',
    '200 and one credit, found by the signature',
    kept(settling, 'books that lost the payment find its transaction by the signature that they would make'),
  ],
  [
    6,
    'two processes settle one transaction',
    'one credit',
    kept(settling, 'two processes of the same books that settle one transaction make one credit'),
  ],
  [
    7,
    'other bytes in the place of the fee payer’s signature',
    'the same payment, no second credit',
    kept(settling, 'any bytes in the place of the fee payer’s signature are the same payment'),
  ],
  [
    23,
    'the fee payer as the authority of the transfer',
    '400',
    kept(feePayer, 'the fee payer as the authority of the transfer'),
  ],
  [
    24,
    'a transfer of SOL, or an account to be made',
    '400',
    kept(feePayer, 'a transfer of the fee payer’s SOL', 'a token account whose rent the fee payer pays'),
  ],
  [
    25,
    'a fee beyond the limits',
    '400, nothing paid',
    kept(feePayer, 'a price of 5,000,000 for 1,400,000 units', 'one unit more than is paid for'),
  ],
  [
    26,
    'a program that names our fee payer',
    '400',
    kept(feePayer, 'a memo that names the fee payer', 'a write of memory by Lighthouse that the fee payer pays for'),
  ],
  [
    27,
    'a third signer, a missing signature, a lookup table, an old blockhash',
    '400',
    [
      ...kept(feePayer, 'a third signer', 'an address lookup table'),
      ...kept(`${here}/svm-attacks.test.ts`, 'no signature of the payer'),
      ...kept(settling, 'a blockhash that the chain has forgotten is expired'),
    ],
  ],
  [
    28,
    'a payee without an account for the token',
    'told to the operator, and no bad payment',
    kept(`${here}/svm-failures.test.ts`, 'a payee without an account of the token is told to the operator'),
  ],
]
