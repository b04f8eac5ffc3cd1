import { shown, type Threat } from './threat.ts'

/** What threatens sign-ins and keys (A), the service and its customers (S), and whoever pays with the wallet (W). */
export const otherThreats: readonly Threat[] = [
  {
    id: 'A1',
    threat: 'a sign-in that was overheard, used again while it is valid',
    answer: 'one success; every later use is 401, at every process',
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
    threat: 'a sign-in that was signed for another site, port or scheme',
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
    threat: 'a header that says anything at all, well or badly made',
    answer: '400 or 401, never 500',
    shownBy: [shown('access/identity/identify.test.ts', 'whatever a sign-in header says, the answer is 400 or 401')],
  },
  {
    id: 'A4',
    threat: 'another address or time beside the message than in it',
    answer: '401: what was signed counts',
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
    threat: 'a sign-in that is old, from the future, or never ends',
    answer: '401; five minutes and a minute of skew',
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
    threat: 'a sign-in for another chain, or of one chain under the name of another',
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
    threat: 'a second valid signature made from one that was seen, and keys that everything verifies under',
    answer: 'nobody’s signature',
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
    threat: 'somebody uses up another wallet’s nonce',
    answer: 'a nonce counts for the wallet that signed it',
    shownBy: [
      shown('access/identity/identify.test.ts', 'A1: a nonce serves once a wallet, so nobody can use up another one’s'),
    ],
  },
  {
    id: 'A9',
    threat: 'a copy of the database, or a key that leaked',
    answer: 'no key is in it; a revoked one ends within a second at every process',
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
    threat: 'guessing the token of whoever may make keys',
    answer: 'nothing is made, and the guesser is blocked',
    shownBy: [shown('service/admin.test.ts', 'a wrong token makes nothing, and guessing is blocked')],
  },
  {
    id: 'A11',
    threat: 'a leaked ADMIN key with a small budget: spending it twice, living longer, locking the owner out',
    answer:
      'it changes and deletes only itself, keeps its limits, its period and its end, and creates keys out of what it has left',
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
    threat: 'more calls at once than the credit pays for',
    answer: 'as many as it pays for',
    shownBy: [
      shown('service/chat-charges.test.ts', 'of a hundred calls at once with credit for ten, ten are answered'),
    ],
  },
  {
    id: 'S2',
    threat: 'leaving a stream before its end, so as not to pay',
    answer: 'the engine goes on unread, and is charged by its own word or by what it made within 30 s',
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
    threat: 'making a model say much that is not text, or a cheap beginning before a dear end',
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
    threat: 'an engine that reports more use than was held',
    answer: 'the customer pays no more than the hold; the rest is the service’s loss, and booked',
    shownBy: [shown('service/chat-charges.test.ts', 'S4, G10: an engine that uses more than the hold')],
  },
  {
    id: 'S5',
    threat: 'many keys of one account, to get more than its limit',
    answer: 'they share one count',
    shownBy: [shown('access/limits/limit-rules.test.ts', 'S5: keys of one account share its count')],
  },
  {
    id: 'S6',
    threat: 'a burst that is faster than the counter',
    answer: 'exactly the limit passes',
    shownBy: [shown('access/limits/windows.test.ts', 'S6: 500 at once at a limit of 50 are exactly 50')],
  },
  {
    id: 'S7',
    threat: 'somebody else’s job, or an address that was handed out for it',
    answer: 'it does not exist; the address ends after a day, or when the file is deleted',
    shownBy: [
      shown(
        'service/video.test.ts',
        'S7, V7: somebody else’s job does not exist',
        '§2.7 a download address ends after 24 hours',
        '§2.7 a download address: JSON status only, then the file in ranges, then revoked',
      ),
    ],
  },
  {
    id: 'S8',
    threat: 'another account’s Idempotency-Key',
    answer: 'means nothing there',
    shownBy: [
      shown(
        'service/http/idempotency/key-rules.test.ts',
        'is given by every key of the account, and to no other account',
      ),
    ],
  },
  {
    id: 'S9',
    threat: 'JSON with a member twice, or called like a part of every object',
    answer: 'refused or dropped; no text makes it throw',
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
    threat: 'a reader who takes nothing and keeps the line',
    answer: 'is taken for one who has left, after some minutes',
    shownBy: [shown('service/bodies.test.ts', 'S10, G7: a reader who stalls')],
  },
  {
    id: 'S11',
    threat: 'somebody else’s receipt',
    answer: 'it does not exist',
    shownBy: [shown('service/receipts.test.ts', 'somebody else gets none, and learns nothing')],
  },
  {
    id: 'W1',
    threat: 'a text that asks the assistant for money',
    answer: 'no tool call lifts a cap; what is from outside is framed as such, and cannot end its frame',
    shownBy: [
      shown('wallet/decide.test.ts', 'an approval lifts no cap'),
      shown('toolkit/values/untrusted.test.ts', 'no text closes its own frame'),
    ],
  },
  {
    id: 'W2',
    threat: 'a consent or an approval that a model gives by itself',
    answer: 'a person’s alone counts',
    shownBy: [
      shown('agent/paid-call-person.test.ts', 'a consent that did not come from a person is not sent'),
      shown('mcp/listing.test.ts', 'its words are plain, and no argument decides for a person'),
    ],
  },
  {
    id: 'W3',
    threat: 'a service that goes on asking after it was paid',
    answer: 'one payment a minute, and not beyond the day and the total',
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
    answer: 'nothing that was signed goes there',
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
    threat: 'a service that has a sign-in for another site signed',
    answer: 'the text is the wallet’s own, for the service that was set',
    shownBy: [
      shown('wallet/keys.test.ts', 'a sign-in is the wallet’s own text for the configured service, fresh each time'),
    ],
  },
  {
    id: 'W6',
    threat: 'answers lost on purpose, and a wallet killed while it pays',
    answer: 'the same bytes again, and no second signature',
    shownBy: [
      shown('agent/paid-call.test.ts', 'a lost answer to a payment: the same bytes again, one signature, one credit'),
      shown('agent/killed-process.test.ts', 'killed while paying: the same call goes on with the same signed payment'),
    ],
  },
  {
    id: 'W7',
    threat: 'several processes on one wallet',
    answer: 'one budget',
    shownBy: [shown('wallet/processes.test.ts', 'eight processes share one budget')],
  },
  {
    id: 'W8',
    threat: 'files: one that is not for sending, a name that leads elsewhere',
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
    answer: 'it is in none',
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
    threat: 'a receipt that is forged, of another call, or of another amount than the answer’s',
    answer: 'kept and told with the answer, never believed',
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
    threat: 'a service that says the credit is low whatever is paid, where the wallet refills it',
    answer: 'refilled once, within the caps, and then not before a person has looked',
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
    threat: 'a page of a browser, or a program without the token, that reaches the tools over HTTP',
    answer:
      'Host, Origin and token are looked at before anything of the body is read; the token is told by its file alone',
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
    threat: 'an old copy of the wallet’s folder in its place, or a journal that was removed',
    answer: 'nothing is signed until the owner says so, because its caps would count from too little',
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
    threat: 'a clock that is set ahead, so that a payment is good for a day or the cap of a day begins anew',
    answer: 'nothing is paid while it differs from the service’s or the chain’s by more than 10 minutes',
    shownBy: [shown('wallet/clock.test.ts', 'a clock that is 25 hours ahead of the service')],
  },
]
