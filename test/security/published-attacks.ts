import { shown, type Threat } from './threat.ts'

const payments = 'payments'
const here = shown(`${payments}/x402-attacks.test.ts`)

/** What has been published of attacks on payments by x402, and what their authors found in the stock packages, by number. */
export const publishedAttacks: readonly Threat[] = [
  {
    id: '1',
    threat: 'the same header again',
    answer: '200, the same bytes, no second credit',
    shownBy: [here],
  },
  {
    id: '2',
    threat: 'the same header to a ledger that has no record of it',
    answer: 'the chain is asked, then 200 and one credit',
    shownBy: [
      shown(
        `${payments}/top-up.test.ts`,
        'attack 2: a ledger that knows nothing of a landed payment is caught up from the chain, once',
      ),
    ],
  },
  {
    id: '3',
    threat: 'a replay to a ledger that lost the payment, on Solana',
    answer: '200 and one credit, found by the signature',
    shownBy: [
      shown(
        `${payments}/svm-settling.test.ts`,
        '3: a ledger that lost the payment finds its transaction by the signature that it would make, and credits it once',
      ),
    ],
  },
  {
    id: '4',
    threat: 'ten duplicates at once',
    answer: 'one transfer, ten identical answers',
    shownBy: [here],
  },
  {
    id: '5',
    threat: 'two processes settle one authorization',
    answer: 'one transfer, one credit; both return the same answer',
    shownBy: [
      shown(
        `${payments}/top-up.test.ts`,
        'attack 5: twins at two processes of one store get identical answers and make one transfer',
      ),
      shown(`${payments}/two-machines.test.ts`, 'a process that was away for longer than its lease, and then hears …'),
    ],
  },
  {
    id: '6',
    threat: 'two processes settle one Solana transaction',
    answer: 'one credit',
    shownBy: [
      shown(
        `${payments}/svm-settling.test.ts`,
        '6, X1: two processes of the same ledger that settle one transaction make one credit',
      ),
    ],
  },
  {
    id: '7',
    threat: 'other bytes in place of the fee payer’s signature',
    answer: 'the same payment, no second credit',
    shownBy: [
      shown(
        `${payments}/svm-settling.test.ts`,
        '7, X2: any bytes in the place of the fee payer’s signature are the same payment',
      ),
    ],
  },
  {
    id: '8',
    threat: 'an amount below the minimum, or above the maximum',
    answer: '400 amount_too_low, amount_too_high',
    shownBy: [here],
  },
  {
    id: '9',
    threat: 'a signed value that is not the accepted amount',
    answer: '400 amount_mismatch',
    shownBy: [here],
  },
  {
    id: '10',
    threat: 'another payee, token, network or scheme in the client’s accepted option',
    answer: '400 that names the wrong one',
    shownBy: [here],
  },
  {
    id: '11',
    threat: 'signed for another payee, token or chain',
    answer: '400 wrong_recipient, invalid_signature',
    shownBy: [here],
  },
  {
    id: '12',
    threat: 'expired, with a few seconds left, not valid yet, or valid for years',
    answer: '400 expired, not_yet_valid, validity_too_long',
    shownBy: [here],
  },
  {
    id: '13',
    threat: 'an amount that is negative, hexadecimal, beyond 256 bits or not a number',
    answer: '400 before the chain or a facilitator is asked',
    shownBy: [here],
  },
  {
    id: '14',
    threat: 'a permit2 payload, alone or beside the authorization',
    answer: '400 payload_members',
    shownBy: [here],
  },
  {
    id: '15',
    threat: 'another name and version of the token in the client’s accepted option',
    answer: 'ignored: the service checks and settles its own option',
    shownBy: [here],
  },
  {
    id: '16',
    threat: 'a payer without the token',
    answer: '400 insufficient_funds',
    shownBy: [here],
  },
  {
    id: '17',
    threat: 'a payer who empties the wallet between verification and settlement',
    answer: '400, nothing credited',
    shownBy: [
      shown(
        `${payments}/top-up-crashes.test.ts`,
        'attack 17, node open: a payer who empties the wallet meanwhile gets a 400, and a resend is judged anew',
        'attack 17, node plain: a payer who empties the wallet meanwhile gets a 400, and a resend is judged anew',
      ),
      shown(
        `${payments}/svm-settling.test.ts`,
        '17: a payer who empties the wallet between check and settlement is refused, and costs us no fee',
      ),
    ],
  },
  {
    id: '18',
    threat: 'another party submits the authorization first',
    answer: '200: the amount that arrived is credited to its payer, once',
    shownBy: [
      shown(`${payments}/top-up.test.ts`, 'X10, attack 18: a payment that another party submitted is credited once'),
      shown(
        `${payments}/confirmations.test.ts`,
        'one that another party submitted is picked up and credited later, without another request',
      ),
    ],
  },
  {
    id: '19',
    threat: 'the answer to a settlement is lost',
    answer: '500 pending: the same payload must be sent again, never a fresh 402; then 200',
    shownBy: [
      shown(
        `${payments}/top-up.test.ts`,
        'X5, attack 19: a transaction that was lost is pending, never a fresh 402, and sent again later',
      ),
      shown(
        `${payments}/remote-facilitator.test.ts`,
        'however a facilitator fails after it took a payment, the payer is credited once and never asked for a second one',
      ),
    ],
  },
  {
    id: '20',
    threat: 'the node is down',
    answer: '500, never a 400; the same payload succeeds when the node is back',
    shownBy: [here],
  },
  {
    id: '21',
    threat: 'the facilitator’s key has no gas',
    answer: '500 pending, the operator is warned before and after; settled once the key has gas',
    shownBy: [
      shown(
        `${payments}/top-up.test.ts`,
        'attack 21: a key without gas is reported to the operator, and payments resume by themselves',
      ),
      shown(`${payments}/local-facilitator.test.ts`, 'about a key whose gas runs out, in time'),
    ],
  },
  {
    id: '22',
    threat: 'a dozen payers at once with one facilitator key',
    answer: 'every funded payment is settled',
    shownBy: [
      shown(
        `${payments}/top-up.test.ts`,
        'attack 22: twenty payers at once over one key; the thirteen with funds are credited',
      ),
    ],
  },
  {
    id: '23',
    threat: 'the fee payer as the authority of the transfer',
    answer: '400',
    shownBy: [shown(`${payments}/svm-fee-payer-attacks.test.ts`, '23: the fee payer as the authority of the transfer')],
  },
  {
    id: '24',
    threat: 'a transfer of SOL, or the creation of an account',
    answer: '400',
    shownBy: [
      shown(
        `${payments}/svm-fee-payer-attacks.test.ts`,
        '24: a transfer of the fee payer’s SOL',
        '24: a token account whose rent the fee payer pays',
      ),
    ],
  },
  {
    id: '25',
    threat: 'a fee beyond the limits',
    answer: '400, nothing paid',
    shownBy: [
      shown(
        `${payments}/svm-fee-payer-attacks.test.ts`,
        '25: a price of 5,000,000 for 1,400,000 units',
        '25: one unit more than is paid for',
      ),
    ],
  },
  {
    id: '26',
    threat: 'a program that names our fee payer',
    answer: '400',
    shownBy: [
      shown(
        `${payments}/svm-fee-payer-attacks.test.ts`,
        '26: a memo that names the fee payer',
        '26: a write of memory by Lighthouse that the fee payer pays for',
      ),
    ],
  },
  {
    id: '27',
    threat: 'a third signer, a missing signature, a lookup table or an old blockhash',
    answer: '400',
    shownBy: [
      shown(`${payments}/svm-fee-payer-attacks.test.ts`, '27: a third signer', '27: an address lookup table'),
      shown(`${payments}/svm-attacks.test.ts`, '27: no signature of the payer'),
      shown(`${payments}/svm-settling.test.ts`, '27, X9: a blockhash that the chain has forgotten is expired'),
    ],
  },
  {
    id: '28',
    threat: 'a payee without an account for the token',
    answer: 'reported to the operator; the same payment succeeds once the account is open',
    shownBy: [
      shown(
        `${payments}/svm-failures.test.ts`,
        '28: a payee without a token account is reported to the operator, and does not make a payment bad',
      ),
    ],
  },
  {
    id: '29',
    threat: 'version 1, invalid base64, a list, garbage, missing members',
    answer: '400, never 500',
    shownBy: [here],
  },
  {
    id: '30',
    threat: 'a sign-in used twice',
    answer: '401',
    shownBy: [
      shown('access/identity/identify.test.ts', 'A1: 100 uses of one header at once are one success'),
      shown('service/wallet-rules.test.ts', 'A1 a sign-in works once'),
    ],
  },
  {
    id: '31',
    threat: 'a sign-in for another chain',
    answer: '401',
    shownBy: [shown('access/identity/identify.test.ts', 'A6: a test network is refused')],
  },
  {
    id: '32',
    threat: 'a sign-in from a clock that is two seconds ahead',
    answer: 'accepted',
    shownBy: [shown('access/identity/identify.test.ts', 'is taken with as far ahead as may be')],
  },
  {
    id: '33',
    threat: 'a sign-in with a malformed nonce or address',
    answer: '400 or 401, never 500',
    shownBy: [shown('access/identity/identify.test.ts', 'whatever a sign-in header says, the answer is 400 or 401')],
  },
  {
    id: '34',
    threat: 'credit for a wallet that did not pay, or the records of another wallet',
    answer: 'only the payer is credited; 403 for records of another wallet',
    shownBy: [
      shown(
        `${payments}/body-wallet.test.ts`,
        'the verified payer is credited, whatever wallet the body of the request names',
      ),
      shown('service/wallet-rules.test.ts', '§5 wallet records are the wallet’s own'),
    ],
  },
  {
    id: '35',
    threat: 'more than twenty failures in thirty seconds',
    answer: '429 for that address for thirty seconds, and for no other',
    shownBy: [here],
  },
]
