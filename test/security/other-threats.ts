import { shown, type Threat } from './threat.ts'

/** Threats to sign-ins and keys (A), and to the service and its customers (S). */
export const otherThreats: readonly Threat[] = [
  {
    id: 'A1',
    threat: 'an intercepted sign-in that is reused while it is valid',
    answer: 'it works once; every later use is 401, at every process',
    shownBy: [
      shown(
        'access/identity/identify.test.ts',
        'A1: 100 uses of one header at once are one success',
        'A1: a used nonce is refused by every process, for as long as its message is valid',
      ),
    ],
  },
  {
    id: 'A2',
    threat: 'a sign-in signed for another site, port or scheme',
    answer: '401',
    shownBy: [
      shown(
        'access/identity/identify.test.ts',
        'A2 another site: DOMAIN_MISMATCH',
        'A2 a site before ours: DOMAIN_MISMATCH',
        'A2 another port of our host: DOMAIN_MISMATCH',
      ),
      shown('service/wallet-rules.test.ts', 'A2 for another site: 401'),
    ],
  },
  {
    id: 'A3',
    threat: 'a header with arbitrary contents, valid or malformed',
    answer: '400 or 401, never 500',
    shownBy: [shown('access/identity/identify.test.ts', 'whatever a sign-in header says, the answer is 400 or 401')],
  },
  {
    id: 'A4',
    threat: 'an unsigned address or time that differs from the signed one',
    answer: '401: only the signed values count',
    shownBy: [
      shown(
        'access/identity/identify.test.ts',
        'A4 another timestamp: TIMESTAMP_MISMATCH',
        'A4: another address beside the message is refused',
      ),
    ],
  },
  {
    id: 'A5',
    threat: 'a sign-in that is too old, from the future, or never expires',
    answer: '401; valid for five minutes, with a minute of clock skew',
    shownBy: [
      shown(
        'access/identity/identify.test.ts',
        'A5 older than five minutes and the skew: EXPIRED',
        'A5 from the future: FUTURE_TIMESTAMP',
        'A5 not yet: NOT_BEFORE',
      ),
    ],
  },
  {
    id: 'A6',
    threat: 'a sign-in for another chain, or for one chain under the name of another',
    answer: '401',
    shownBy: [
      shown(
        'access/identity/identify.test.ts',
        'A6: a test network is refused',
        'A6: an EVM signature under a Solana chain id is refused',
      ),
    ],
  },
  {
    id: 'A7',
    threat: 'a second valid signature derived from a known one, and public keys that verify any signature',
    answer: 'the signature counts for no wallet',
    shownBy: [
      shown('host/signatures/evm-signature.test.ts', 'A7: …'),
      shown(
        'access/identity/signatures.test.ts',
        'A7: an s beyond the order is refused',
        'A7: a second spelling of a key is refused',
        'A7: a key …',
      ),
    ],
  },
  {
    id: 'A8',
    threat: 'using up another wallet’s nonce',
    answer: 'a nonce counts only for the wallet that signed it',
    shownBy: [
      shown(
        'access/identity/identify.test.ts',
        'A1: a nonce is used once per wallet, so no wallet can use up another wallet’s nonce',
      ),
    ],
  },
  {
    id: 'A9',
    threat: 'a copy of the database, or a leaked key',
    answer: 'the database contains no key; a revoked key stops working within a second at every process',
    shownBy: [
      shown(
        'access/identity/api-keys.test.ts',
        'A9: its secret is in no file of the store, and not in what lists show',
        'A9: a copy of the database is useless under another server secret',
        'A9: ends within a second when another process revokes it',
      ),
    ],
  },
  {
    id: 'A10',
    threat: 'guessing the operator’s token',
    answer: 'no key is created, and the guesser is blocked',
    shownBy: [shown('service/admin.test.ts', 'a wrong token makes nothing, and guessing is blocked')],
  },
  {
    id: 'A11',
    threat:
      'a leaked ADMIN key with a small budget: spending the budget twice, extending the key’s life, locking the owner out',
    answer:
      'it can change and delete only itself, cannot raise its limits, change its period or expire later, and new keys get part of its remaining budget',
    shownBy: [
      shown(
        'service/accounts/budget-rules.test.ts',
        'and no change of its period lets it spend the same budget again',
        'one without an end gives itself one, and cannot take it back',
        'ends an ADMIN key without a budget: 403, and nothing changes',
        'what it gives is taken from its own, so that many keys spend no more than one',
      ),
    ],
  },
  {
    id: 'A12',
    threat: 'an operator’s command that reaches another program at the address of a killed service',
    answer: 'that program gets neither the token nor the command, and its answer is ignored',
    shownBy: [
      shown('cli/data-folder.test.ts', 'A12: another program at the address of a service that was killed'),
      shown(
        'service/admin.test.ts',
        'a command with the token can tell the service from another program, without sending the token',
      ),
    ],
  },
  {
    id: 'A13',
    threat: 'a flood of sign-ins by new wallets from a blocked address, to keep the processor busy with signatures',
    answer: '429, and no signature is verified; only a wallet with an account can still sign in from there',
    shownBy: [
      shown(
        'access/identity/identify.test.ts',
        'A13: of an unknown wallet at a blocked address, no signature is verified and no nonce used up',
      ),
      shown(
        'service/wallet-rules.test.ts',
        'A13: wallets that never paid count by address, so that new wallets do not escape the block',
      ),
    ],
  },
  {
    id: 'S1',
    threat: 'more simultaneous calls than the credit covers',
    answer: 'only as many run as the credit covers',
    shownBy: [
      shown('service/chat-charges.test.ts', 'of a hundred calls at once with credit for ten, ten are answered'),
    ],
  },
  {
    id: 'S2',
    threat: 'disconnecting from a stream early to avoid paying',
    answer: 'the engine continues unread; the call is charged by its usage, or by what it generated within 30 s',
    shownBy: [
      shown(
        'service/chat-left.test.ts',
        'a stream whose reader leaves continues unread, and is charged by the engine’s usage',
        'is aborted 30 s after the reader left, and what it made is counted',
      ),
    ],
  },
  {
    id: 'S3',
    threat: 'making a model generate output other than text, or begin cheaply and end expensively',
    answer: 'counted and charged like text',
    shownBy: [
      shown(
        'service/chat-evasion.test.ts',
        'whatever an engine calls its output, a caller who leaves pays for it',
        'a cheap beginning makes nothing after it cheap',
      ),
    ],
  },
  {
    id: 'S4',
    threat: 'an engine that reports more usage than was held',
    answer: 'the customer pays no more than the hold; the rest is written off',
    shownBy: [shown('service/chat-charges.test.ts', 'S4, G10: an engine that uses more than the hold')],
  },
  {
    id: 'S5',
    threat: 'many keys of one account, to exceed its limit',
    answer: 'they share one count',
    shownBy: [shown('access/limits/limit-rules.test.ts', 'S5: keys of one account share its count')],
  },
  {
    id: 'S6',
    threat: 'a burst that is faster than the counter',
    answer: 'exactly as many requests as the limit allows',
    shownBy: [shown('access/limits/windows.test.ts', 'S6: 500 at once at a limit of 50 are exactly 50')],
  },
  {
    id: 'S7',
    threat: 'another account’s job, or a leaked download link',
    answer: 'the same 400 as for a job that does not exist; the link expires after a day, or when the file is deleted',
    shownBy: [
      shown(
        'service/video.test.ts',
        'S7, V7: another account’s job does not exist',
        '§2.7 a download link expires after 24 hours',
        '§2.7 a download address: JSON status only, then the file in ranges, then revoked',
      ),
    ],
  },
  {
    id: 'S8',
    threat: 'another account’s Idempotency-Key',
    answer: 'it has no effect outside that account',
    shownBy: [
      shown(
        'service/http/idempotency/key-rules.test.ts',
        'is given by every key of the account, and to no other account',
      ),
    ],
  },
  {
    id: 'S9',
    threat: 'JSON with a repeated member, or a member such as __proto__',
    answer: 'refused or dropped; no input makes the parser throw',
    shownBy: [
      shown(
        'contract/safe-json.test.ts',
        'no text throws',
        'one name said again is always found',
        'a member named __proto__ is dropped, however it is spelled',
      ),
    ],
  },
  {
    id: 'S10',
    threat: 'a client that reads nothing and keeps its connection open',
    answer: 'treated as a caller who disconnected, after a few minutes',
    shownBy: [shown('service/bodies.test.ts', 'S10, G7: a reader who stalls')],
  },
  {
    id: 'S11',
    threat: 'another account’s receipt',
    answer: 'the same 404 as for a receipt that does not exist',
    shownBy: [shown('service/receipts.test.ts', 'somebody else gets none, and learns nothing')],
  },
  {
    id: 'S12',
    threat: 'thousands of wallets, which cost nothing to create, that each call the API for free',
    answer: 'they share the limits of their address; a wallet that has paid has its own',
    shownBy: [
      shown(
        'service/limits-rules.test.ts',
        'S12 wallets that cost nothing to create share one limit, which a wallet with an account does not',
      ),
    ],
  },
]
