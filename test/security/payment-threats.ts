import { shown, type Threat } from './threat.ts'

const payments = 'payments'
const here = shown(`${payments}/payment-threats.test.ts`)

/** Threats to top-ups (X). */
export const paymentThreats: readonly Threat[] = [
  {
    id: 'X1',
    threat: 'the same payment many times, in sequence and at once, at two processes',
    answer: 'one credit; every duplicate gets the same bytes, or is told to retry',
    shownBy: [
      shown(
        'faults/twins/twins.test.ts',
        'on evm, however a facilitator fails, every payment is credited once to its payer, and its twins get one answer',
        'on solana, however a facilitator fails, every payment is credited once to its payer, and its twins get one answer',
      ),
      shown(
        `${payments}/top-up.test.ts`,
        'X1, attacks 1 and 4: ten duplicates at once get ten identical answers and make one transfer',
      ),
    ],
  },
  {
    id: 'X2',
    threat: 'the same payment in a different encoding',
    answer: 'the same payment: its id is computed from the decoded values only',
    shownBy: [
      shown(
        `${payments}/payment-attacks.test.ts`,
        'the same payment in every other spelling is the same payment: one credit, one answer',
      ),
      shown(
        `${payments}/payment-header.test.ts`,
        'only what was signed makes the key: in any spelling, and again after storing',
        'another nonce or payer makes another key and another id',
      ),
    ],
  },
  {
    id: 'X3',
    threat: 'a Solana payment with a forged signature, or a release of the x402 packages that accepts one',
    answer: '400 invalid_signature; only releases without this flaw are bundled',
    shownBy: [
      here,
      shown(
        `${payments}/svm-attacks.test.ts`,
        '27: a bit of the signature turned',
        '27: the signature of somebody else over the same message',
      ),
    ],
  },
  {
    id: 'X4',
    threat: 'a facilitator that reports success although nothing, too little or another payee was paid',
    answer: 'only the chain credits',
    shownBy: [
      shown(
        `${payments}/remote-facilitator.test.ts`,
        'success with the hash of a transaction that does not exist credits nothing; the real transfer later does',
        'success with the hash of a transfer of the payer to another payee credits nothing; the real transfer later does',
        'success with the hash of a transfer of the payer to us, of a lower amount credits nothing; the real transfer later does',
      ),
      shown(`${payments}/top-up-crashes.test.ts`, 'X4: a facilitator that lies is not believed'),
    ],
  },
  {
    id: 'X5',
    threat: 'a settlement whose outcome is unknown',
    answer: '500 pending: the same payload must be sent again; never 402, never "nonce used"',
    shownBy: [
      shown(
        `${payments}/remote-facilitator.test.ts`,
        'however a facilitator fails after it took a payment, the payer is credited once and never asked for a second one',
      ),
      shown(
        `${payments}/top-up-crashes.test.ts`,
        'a nonce that the facilitator saw used, and our node not yet, rejects nothing',
      ),
    ],
  },
  {
    id: 'X6',
    threat: 'a settlement that was never sent',
    answer: 'pending until it has expired by both clocks, then 400 expired',
    shownBy: [
      shown(
        `${payments}/top-up-crashes.test.ts`,
        'expires after validBefore by both clocks, and is then answered as expired',
      ),
    ],
  },
  {
    id: 'X7',
    threat: 'another amount, payee, token, network, scheme or version',
    answer: '400 with the reason; only the terms that the service offered count',
    shownBy: [
      shown(
        `${payments}/payment-attacks.test.ts`,
        '10: another payee accepted',
        '11: signed for another payee',
        '10: a rail that is not offered',
        '29: the flat payload of version 1',
      ),
      shown(
        `${payments}/x402-attacks.test.ts`,
        '10: another payee, token, network or scheme in the client’s accepted option …',
      ),
    ],
  },
  {
    id: 'X8',
    threat: 'an amount that JavaScript’s BigInt accepts but that is not a decimal number',
    answer: '400 amount_not_decimal',
    shownBy: [
      shown(
        `${payments}/payment-attacks.test.ts`,
        '13: an empty amount',
        '13: a hexadecimal amount',
        '13: an amount with spaces',
        '13: an amount as a JSON number',
      ),
      shown(`${payments}/payment-header.test.ts`, 'garbage of any kind is our own 400, never anything else'),
    ],
  },
  {
    id: 'X9',
    threat: 'clocks that differ by a day, or by less than a minute',
    answer: '400 expired or validity_too_long; less than a minute is accepted',
    shownBy: [here],
  },
  {
    id: 'X10',
    threat: 'another party submits the authorization',
    answer: '200: its payer is credited with the amount that arrived, even after it has expired',
    shownBy: [
      shown(
        `${payments}/top-up.test.ts`,
        'X10, attack 18: a payment that another party submitted is credited once',
        'it is credited even where the payer comes after it has expired',
        'what has arrived is what counts: another amount with the same nonce is credited as that amount',
      ),
    ],
  },
  {
    id: 'X11',
    threat: 'a chain that drops its newest blocks',
    answer: 'credited once enough blocks follow, and not before',
    shownBy: [
      shown(
        `${payments}/confirmations.test.ts`,
        'a transfer in a dropped block is not credited for that block, and is submitted again',
        'the completer counts too: one block short is not enough',
      ),
    ],
  },
  {
    id: 'X12',
    threat: 'a body or a member that names another wallet',
    answer: 'only the verified payer is credited',
    shownBy: [here],
  },
  {
    id: 'X13',
    threat: 'payment headers sent twice, under one name or two, and two credentials of one kind',
    answer: 'one payment if the bytes are the same, else 400',
    shownBy: [
      here,
      shown(
        'access/identity/identify.test.ts',
        'two headers is refused',
        'the older name is taken, both with one value too, and with two values neither',
      ),
    ],
  },
  {
    id: 'X14',
    threat: 'headers that are too long or too deeply nested, or that repeat a member',
    answer: '431 or 400, and nothing is stored',
    shownBy: [here],
  },
  {
    id: 'X15',
    threat: 'thousands of bad signatures, or a wallet’s contract that is called to check one',
    answer:
      'no request to the node; an address is blocked after 21 checks; contracts are off by default, and limited in gas',
    shownBy: [
      here,
      shown(
        `${payments}/contract-wallets.test.ts`,
        'a wallet that burns what gas it gets: 400, nothing moved, no gas spent',
        'neither a wallet’s signature nor its owner’s is taken, and its code is not called',
      ),
    ],
  },
  {
    id: 'X16',
    threat: 'payments that are meant to waste the service’s gas',
    answer: 'refused before they are sent; hourly fees are capped',
    shownBy: [
      shown(
        `${payments}/contract-wallets.test.ts`,
        'a wallet that would burn our gas in the transfer: 400, nothing moved, no gas spent',
        'one that turns against us after it was checked costs no gas either',
      ),
      shown(
        `${payments}/local-facilitator.test.ts`,
        'above the cap a payment is refused before it is sent, may be retried later, and the operator is warned',
      ),
    ],
  },
  {
    id: 'X17',
    threat: 'a shared cache between service and caller',
    answer: 'no answer may be stored',
    shownBy: [here],
  },
  {
    id: 'X18',
    threat: 'a service, or an attacker on the way to it, that offers other terms',
    answer: 'the agent’s wallet pays only the payee, token, network and amount that it knows',
    shownBy: [
      shown(
        'wallet/decide.test.ts',
        'no offer makes the wallet pay more than the order, a cap, another payee or another token',
      ),
    ],
  },
  {
    id: 'X19',
    threat: 'balances looked up by address',
    answer: '401 or 403',
    shownBy: [shown('service/wallet-rules.test.ts', '§5 wallet records are the wallet’s own')],
  },
  {
    id: 'X20',
    threat: 'failures in another caller’s name, to get that caller blocked',
    answer: 'they count against the address that sends them, not against an identified caller',
    shownBy: [
      shown(
        'service/limits-rules.test.ts',
        'X20 failures without an identity block the address, and no identified caller',
      ),
    ],
  },
]
