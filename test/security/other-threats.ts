import { shown, type Threat } from './threat.ts'

/** What threatens sign-ins and keys (A), the service and its customers (S), and whoever pays with the wallet (W). */
export const otherThreats: readonly Threat[] = [
  {
    id: 'A1',
    threat: 'an intercepted sign-in that is reused while it is valid',
    answer: 'it works once; every later use is 401, at every process',
    shownBy: [
      shown(
        'access/identity/identify.test.ts',
        'A1: 100 uses of one header at once are one success',
        'A1: a nonce is used up for another process too, and as long as its message could serve',
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
      shown('host/evm-signature.test.ts', 'A7: …'),
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
      shown('access/identity/identify.test.ts', 'A1: a nonce serves once a wallet, so nobody can use up another one’s'),
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
        'A9: a copy of the database is worth nothing under another server secret',
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
      'it can change and delete only itself, cannot raise its limits or change its period or end, and new keys get part of its remaining budget',
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
    id: 'S1',
    threat: 'more simultaneous calls than the credit covers',
    answer: 'only as many run as the credit covers',
    shownBy: [
      shown('service/chat-charges.test.ts', 'of a hundred calls at once with credit for ten, ten are answered'),
    ],
  },
  {
    id: 'S2',
    threat: 'leaving a stream early to avoid paying',
    answer: 'the engine continues unread; the call is charged by its usage, or by what it generated within 30 s',
    shownBy: [
      shown(
        'service/chat-left.test.ts',
        'a stream whose reader leaves goes on unread, and is charged by the engine’s word',
        'is aborted 30 s after the reader left, and what it made is counted',
      ),
    ],
  },
  {
    id: 'S3',
    threat: 'making a model generate much that is not text, or a cheap start before an expensive end',
    answer: 'counted and charged like text',
    shownBy: [
      shown(
        'service/chat-evasion.test.ts',
        'whatever an engine calls what it generated, who leaves has had it and pays for it',
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
        '§2.7 a download address ends after 24 hours',
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
    answer: 'treated as a caller who left, after some minutes',
    shownBy: [shown('service/bodies.test.ts', 'S10, G7: a reader who stalls')],
  },
  {
    id: 'S11',
    threat: 'another account’s receipt',
    answer: 'the same 404 as for a receipt that does not exist',
    shownBy: [shown('service/receipts.test.ts', 'somebody else gets none, and learns nothing')],
  },
  {
    id: 'W1',
    threat: 'text that tells the assistant to spend money',
    answer: 'no tool call lifts a cap; untrusted text is fenced, and cannot close its fence',
    shownBy: [
      shown('wallet/decide.test.ts', 'an approval lifts no cap'),
      shown('toolkit/values/untrusted.test.ts', 'no text closes its own frame'),
    ],
  },
  {
    id: 'W2',
    threat: 'a consent or an approval that a model gives by itself',
    answer: 'only the user’s decision counts',
    shownBy: [
      shown('agent/paid-call-person.test.ts', 'a consent that did not come from a person is not sent'),
      shown('mcp/listing.test.ts', 'its words are plain, and no argument decides for a person'),
    ],
  },
  {
    id: 'W3',
    threat: 'a service that keeps asking for money after it was paid',
    answer: 'one payment a minute, within the caps of the day and in total',
    shownBy: [
      shown(
        'wallet/pay.test.ts',
        'a service that asks for ever gets one payment a minute, and not beyond the day',
        'a service that takes the money and always says no gets the total at most',
      ),
    ],
  },
  {
    id: 'W4',
    threat: 'a redirect to another host, or plain HTTP to another machine',
    answer: 'nothing signed is sent there',
    shownBy: [
      shown('agent/paid-call.test.ts', 'a redirect to another host carries neither sign-in nor payment there'),
      shown(
        'client/client.test.ts',
        'plain http to another machine, and an address with a password, are refused before anything is sent',
      ),
    ],
  },
  {
    id: 'W5',
    threat: 'a service that wants a sign-in for another site',
    answer: 'the wallet writes the text itself, for the configured service',
    shownBy: [
      shown('wallet/keys.test.ts', 'a sign-in is the wallet’s own text for the configured service, fresh each time'),
    ],
  },
  {
    id: 'W6',
    threat: 'answers that are dropped on purpose, and a wallet that is killed while it pays',
    answer: 'the same bytes are sent again; there is no second signature',
    shownBy: [
      shown('agent/paid-call.test.ts', 'a lost answer to a payment: the same bytes again, one signature, one credit'),
      shown('agent/killed-process.test.ts', 'killed while paying: the same call goes on with the same signed payment'),
    ],
  },
  {
    id: 'W7',
    threat: 'several processes on one wallet',
    answer: 'they share one budget',
    shownBy: [shown('wallet/processes.test.ts', 'eight processes share one budget')],
  },
  {
    id: 'W8',
    threat: 'files that must not be sent, and file names that lead outside the folder',
    answer: 'neither read nor written',
    shownBy: [
      shown(
        'agent/files.test.ts',
        'a picture through a link is refused',
        'the folder of keys is not read, even inside an allowed one',
        'a name of a file is ours, whatever the model is called',
      ),
      shown(
        'agent/secret-files.test.ts',
        '.env is not read in an output folder that is the project',
        '.farebox/service/secret is not read in an output folder that is the project',
        'data/chain/keys.json is not read in an output folder that is the project',
        'a hard link to .farebox/agent/wallet.json is not read',
        'a folder that is swapped for a link to secrets between the check and the opening is not read',
        'a text that is saved as "../../wallet.json" replaces no file that is there',
      ),
      shown('client/download.test.ts', 'what is no video is not kept, and a file that is there is never replaced'),
    ],
  },
  {
    id: 'W9',
    threat: 'the wallet’s key or passphrase in a log, an error, a record or an answer',
    answer: 'they appear in none',
    shownBy: [
      shown('wallet/keys.test.ts', 'no print of a wallet, its errors or its records holds the key or a passphrase'),
      shown(
        'agent/mcp-command.test.ts',
        'with a wallet and a named payee it pays for a chat; the key stands nowhere in what it says',
      ),
    ],
  },
  {
    id: 'W10',
    threat: 'a receipt that is forged, belongs to another call, or has another amount than the answer',
    answer: 'kept and reported with the answer, never trusted',
    shownBy: [
      shown(
        'agent/receipts.test.ts',
        'a changed amount',
        'a key of somebody else',
        'one of another call',
        'one of more than its answer says',
      ),
      shown('wallet/receipts.test.ts', 'is of no receipt: another algorithm', 'is flagged: more than was allowed'),
    ],
  },
  {
    id: 'W11',
    threat: 'a service that always reports low credit to a wallet that refills',
    answer: 'one refill, within the caps; no more until the owner has looked',
    shownBy: [
      shown(
        'agent/refill.test.ts',
        'is refilled once, and then not before a person has looked',
        'and neither where it grants a little of it',
        'gets no more than the day allows where it shows each refill once',
      ),
    ],
  },
  {
    id: 'W12',
    threat: 'a browser page, or a program without the token, that calls the tools over HTTP',
    answer: 'Host, Origin and token are checked before the body is read; the token is only in its file',
    shownBy: [
      shown(
        'mcp/http.test.ts',
        'no token',
        'a wrong one',
        'a name that a stranger points here',
        'the page of a stranger',
        'a page without an address',
      ),
      shown(
        'agent/mcp-http-command.test.ts',
        'it tells its address and where its token lies; who has read it is served, until it is stopped',
        'it does not start: an emptied token lets nobody in',
        'it does not start: a token that others can read',
      ),
    ],
  },
  {
    id: 'W13',
    threat: 'an old copy of the wallet’s folder, or a removed journal',
    answer: 'nothing is signed until the owner accepts the journal, because its caps would allow too much',
    shownBy: [
      shown(
        'wallet/journal-of-key.test.ts',
        'an old copy of the folder resets no cap: restored again and again, it signs nothing more',
        'a copy of any moment of a payment, restored after it, signs no second one',
      ),
      shown('wallet/processes.test.ts', 'eight processes share one budget'),
    ],
  },
  {
    id: 'W14',
    threat: 'a clock that is set ahead, to make a payment valid for a day or to restart the daily cap',
    answer: 'nothing is paid while it differs from the service’s or the chain’s by more than 10 minutes',
    shownBy: [shown('wallet/clock.test.ts', 'a clock that is 25 hours ahead of the service')],
  },
]
